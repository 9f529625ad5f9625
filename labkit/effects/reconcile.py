"""What to do about an effect that may or may not have happened: ask, repeat safely, or wait for a person."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from labkit.effects import ledger
from labkit.effects.ledger import Entry
from labkit.errors import EffectRejected, EffectUnknown, InvalidInput, ProviderAway
from labkit.model import TERMINAL, Receipt
from labkit.provider.protocol import World
from labkit.store import runs
from labkit.store.protocol import Store, Tx
from labkit.suspend import Suspend

if TYPE_CHECKING:
    from labkit.effects.policies import Effect

RESOLUTIONS = ("confirmed", "not-done", "rejected")


def reconcile(fx: Effect, entry: Entry, attempt: Callable[[Effect, Entry], Entry]) -> Entry:
    """Settle an ambiguous entry as far as the provider allows.

    A provider that dedups is simply asked again with the same key; one that can be looked up is asked by key; with
    any other the run waits for a person (raises Suspend).
    """
    capability = fx.world.capability(entry.target)
    if capability == "dedup" and entry.attempts < entry.max_attempts:
        return attempt(fx, entry)
    if capability != "lookup":
        raise wait_for_person(entry, f"{entry.target} cannot say whether it happened")
    try:
        receipt = fx.world.lookup(entry.target, entry.effect_key, f"{fx.name}/lookup")
    except EffectUnknown as unknown:
        raise wait_for_person(entry, unknown.what) from unknown
    except ProviderAway as away:
        raise still_in_doubt(entry, away) from away
    if receipt is None:
        with fx.store.transaction(f"{fx.name}/cleared") as tx:
            runs.guard(tx, fx.run)
            return ledger.cleared(tx, entry)
    with fx.store.transaction(f"{fx.name}/confirm") as tx:
        fx.settle(tx, receipt)
        return ledger.confirmed(tx, entry, receipt)


def still_in_doubt(entry: Entry, away: ProviderAway) -> EffectUnknown:
    """What a step gets when nobody is there to settle an effect that an earlier attempt may have had done."""
    return EffectUnknown(
        f"effect {entry.effect_key} is in doubt since an earlier attempt, and {away.what}",
        safe="it was not tried again",
        next="resume the run when the provider is back",
    )


def wait_for_person(entry: Entry, why: str) -> Suspend:
    """The suspension that leaves `entry` ambiguous and tells a person what to do about it."""
    reason = f"effect {entry.effect_key} is ambiguous: {why}; reconcile: {entry.reconcile}"
    return Suspend("waiting_for_person", reason, lambda tx: mark_ambiguous(tx, entry, why))


def mark_ambiguous(tx: Tx, entry: Entry, why: str) -> None:
    """Write that nobody knows about `entry`, whatever it stood at; an entry that was never tried stays planned."""
    if entry.attempts:
        ledger.ambiguous(tx, entry, why)


def resolve(store: Store, tenant: str, effect_key: str, verdict: str, receipt_id: str = "") -> Entry:
    """A person's word about an ambiguous effect: `confirmed` (with a receipt), `not-done` or `rejected`.

    The run may go on. Raises InvalidInput for an unknown effect, verdict or missing receipt; nothing is then written.
    """
    if verdict not in RESOLUTIONS or (verdict == "confirmed") != bool(receipt_id):
        raise InvalidInput(
            f"verdict {verdict!r} with receipt {receipt_id!r}: expected confirmed with a receipt, not-done or rejected",
            safe="nothing was written",
            next="labkit resolve KEY --verdict confirmed --receipt ID",
        )
    with store.transaction("run/resolve") as tx:
        entry = ledger.find(tx, effect_key)
        if entry is None or entry.tenant_id != tenant or entry.status not in _resolvable(tx, entry):
            state = entry.status if entry and entry.tenant_id == tenant else "unknown"
            raise InvalidInput(f"effect {effect_key} is {state}, expected ambiguous", safe="nothing was written")
        runs.reopen(tx, tenant, entry.run_id)
        if verdict == "confirmed":
            return ledger.confirmed(tx, entry, Receipt(id=receipt_id))
        if verdict == "rejected":
            return ledger.rejected(tx, entry, "policy_refused", "by a person")
        return ledger.cleared(tx, entry, attempts=0)  # a person's word is worth a new budget


def _resolvable(tx: Tx, entry: Entry) -> tuple[str, ...]:
    closed = runs.header(tx, entry.tenant_id, entry.run_id).status in TERMINAL
    return ("ambiguous", "executing") if closed else ("ambiguous",)  # nobody is left who could say more


def compensate(store: Store, world: World, tenant: str, effect_key: str) -> Entry:
    """Undo a confirmed effect by its provider's own compensation; raise InvalidInput or EffectRejected."""
    entry = ledger.find(store, effect_key)
    if entry is None or entry.tenant_id != tenant or entry.status != "confirmed":
        raise InvalidInput(f"effect {effect_key} is not confirmed: nothing to compensate", safe="nothing was sent")
    try:
        receipt = world.compensate(entry.target, entry.receipt_id, f"{entry.effect}/compensate")
    except EffectRejected as refused:
        hint = f"a person has to do it: {entry.compensate}"
        raise EffectRejected(refused.reason, refused.what, safe=refused.safe, next=hint) from refused
    with store.transaction(f"{entry.effect}/compensated") as tx:
        return ledger.compensated(tx, entry, receipt)
