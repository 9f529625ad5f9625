"""Four ways to perform an effect. Each rung of the ladder buys something; read them in this order.

bare    just call. A crash after the provider acted repeats the effect.
keyed   send the effect key. A provider that dedups recognises the repeat; others do not.
ledger  write the intent, call with the key, confirm. A new process asks `decide` what it may do.
outbox  write the intent together with the state; deliver it after the commit, as the ledger does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import msgspec

from labkit.effects import ledger
from labkit.effects.decision import Checkpoint, decide
from labkit.effects.key import effect_of
from labkit.effects.ledger import Entry
from labkit.effects.reconcile import reconcile, still_in_doubt, wait_for_person
from labkit.errors import EffectRejected, EffectUnknown, ProviderAway
from labkit.model import Order, Receipt, Run, Target
from labkit.provider.protocol import World
from labkit.store import runs
from labkit.store.protocol import Store, Tx

Record = Callable[[Tx, Receipt], None]


class Effect(NamedTuple):
    """One effect about to be performed.

    `record(tx, receipt)` makes the result durable as an event in the same transaction; it is None where the engine
    keeps no journal. `stage(write)` hands a write to the step's next durable transaction. `planned` are the entries
    that the step has handed to it so far; `may_change` are request fields that may differ from what was recorded.
    """

    store: Store
    world: World
    run: Run[Any]
    step: str
    order: Order
    target: Target
    record: Record | None
    stage: Callable[[Callable[[Tx], None]], None]
    planned: list[Entry]
    may_change: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What the taps of this effect begin with: its step, or `step/n` for the nth effect of one visit to it."""
        return effect_of(self.order.subject)

    def settle(self, tx: Tx, receipt: Receipt) -> None:
        """Record the result, where the engine records results; else only check that this owner may still write."""
        if self.record:
            self.record(tx, receipt)
        else:
            runs.guard(tx, self.run)


class Policy(Protocol):
    """How an effect is performed."""

    name: str
    tracks: bool  # does our own database know about an effect before it is tried?

    def perform(self, fx: Effect) -> Receipt:
        """Perform the effect, or find that it was performed; a refusal is a receipt with status `rejected`."""
        ...

    def drain(self, fx_of: Callable[[Entry], Effect], store: Store, run: Run[Any]) -> None:
        """Deliver what a commit has left in the outbox."""
        ...


class Bare:
    """Just call: no key, no record."""

    name = "bare"
    tracks = False

    def perform(self, fx: Effect) -> Receipt:
        """Call the provider; keep the receipt where the engine keeps results."""
        receipt = call(fx, self.order(fx.order))
        if fx.record:
            with fx.store.transaction(f"{fx.name}/record") as tx:
                fx.settle(tx, receipt)
        return receipt

    def order(self, order: Order) -> Order:
        """The order as this policy sends it: without a key."""
        return msgspec.structs.replace(order, key=None)

    def drain(self, fx_of: Callable[[Entry], Effect], store: Store, run: Run[Any]) -> None:
        """Nothing is ever left to deliver."""


class Keyed(Bare):
    """Send the effect key, and leave the rest to the provider."""

    name = "keyed"

    def order(self, order: Order) -> Order:
        """The order as this policy sends it: with its key."""
        return order


class Ledger:
    """Intent, call with key, confirm."""

    name = "ledger"
    tracks = True

    def perform(self, fx: Effect) -> Receipt:
        """Write the intent unless it is there, then deliver."""
        entry = ledger.find(fx.store, fx.order.key or "")
        if entry is None:
            entry = ledger.new_entry(fx.run, fx.step, fx.order, fx.target)
            with fx.store.transaction(f"{fx.name}/intent") as tx:
                runs.guard(tx, fx.run)
                ledger.plan(tx, entry)
            return deliver(fx, entry)
        ledger.check_request(entry, fx.order, fx.may_change)
        receipt = deliver(fx, entry)
        if fx.record and entry.status in ledger.SETTLED:  # by a person or another run: only record it
            with fx.store.transaction(f"{fx.name}/record") as tx:
                fx.settle(tx, receipt)
        return receipt

    def drain(self, fx_of: Callable[[Entry], Effect], store: Store, run: Run[Any]) -> None:
        """Nothing is ever left to deliver."""


class Outbox:
    """Intent together with the state; a dispatcher delivers after the commit."""

    name = "outbox"
    tracks = True

    def perform(self, fx: Effect) -> Receipt:
        """Plan the effect in the step's next durable transaction; the receipt only says `planned`."""
        known = ledger.find(fx.store, fx.order.key or "")
        if known is None:
            entry = ledger.new_entry(fx.run, fx.step, fx.order, fx.target)
            ledger.check_identity(fx.store, entry.identity, entry.effect_key, fx.planned)
            fx.planned.append(entry)
            fx.stage(lambda tx: ledger.plan(tx, entry))
        else:
            ledger.check_request(known, fx.order, fx.may_change)
        receipt = Receipt(id=fx.order.key or "", status="planned")
        if fx.record:
            with fx.store.transaction(f"{fx.name}/intent") as tx:
                fx.settle(tx, receipt)
        return receipt

    def drain(self, fx_of: Callable[[Entry], Effect], store: Store, run: Run[Any]) -> None:
        """Deliver what the last step planned; raise EffectRejected when it was refused, now or before a crash."""
        for key in run.pending_effects:
            entry = ledger.get(store, key)
            receipt = deliver(fx_of(entry), entry)
            if receipt.status == "rejected":
                raise EffectRejected(receipt.id, f"effect {entry.effect_key} was refused: {receipt.id}")


POLICIES: dict[str, type[Policy]] = {policy.name: policy for policy in (Bare, Keyed, Ledger, Outbox)}


def call(fx: Effect, order: Order) -> Receipt:
    """Call the provider; a refusal for good comes back as a receipt, so that every engine can record it."""
    try:
        return fx.world.call(order)
    except EffectRejected as refused:
        return Receipt(id=refused.reason, status="rejected")


def deliver(fx: Effect, entry: Entry) -> Receipt:
    """Bring a ledger entry to its end: decide, then execute, reconcile, advance or wait for a person."""
    while True:
        if entry.status in ("rejected", "compensated"):
            return Receipt(id=entry.rejection or "gone", status="rejected")
        action = decide(evidence(fx.run, entry))
        if action == "advance":
            return Receipt(id=entry.receipt_id)
        if action == "stop":
            raise wait_for_person(entry, entry.last_error or f"{entry.attempts} attempts made")
        entry = attempt(fx, entry) if action == "execute" else reconcile(fx, entry, attempt)


def evidence(run: Run[Any], entry: Entry) -> Checkpoint:
    """What `decide` needs to know about an entry of `run`."""
    return Checkpoint(
        status="running",
        effect_status=entry.status,
        effect_key=entry.effect_key,
        attempts=entry.attempts,
        max_attempts=entry.max_attempts,
        schema_version=run.checkpoint_schema,
        workflow_release=run.workflow_version,
        durability_mode="sync",
    )


def attempt(fx: Effect, entry: Entry) -> Entry:
    """Try once: mark as executing, call, write down what the provider said.

    When nobody was there to take the call, it was no attempt: an entry that was planned is planned again, and the step
    gets ProviderAway. Of an earlier attempt that says nothing: its entry is in doubt, and the step gets EffectUnknown.
    """
    before = entry
    with fx.store.transaction(f"{fx.name}/attempt") as tx:
        runs.guard(tx, fx.run)
        entry = ledger.executing(tx, entry)
    try:
        receipt = call(fx, entry.order())
    except EffectUnknown as unknown:
        with fx.store.transaction(f"{fx.name}/doubt") as tx:
            runs.guard(tx, fx.run)
            return ledger.ambiguous(tx, entry, unknown.what)
    except ProviderAway as away:
        if before.status == "planned":
            with fx.store.transaction(f"{fx.name}/cleared") as tx:
                runs.guard(tx, fx.run)
                ledger.cleared(tx, entry, attempts=before.attempts)
            raise
        with fx.store.transaction(f"{fx.name}/doubt") as tx:
            runs.guard(tx, fx.run)
            ledger.ambiguous(tx, msgspec.structs.replace(entry, attempts=before.attempts), away.what)
        raise still_in_doubt(entry, away) from away
    with fx.store.transaction(f"{fx.name}/confirm") as tx:
        fx.settle(tx, receipt)
        if receipt.status == "rejected":
            return ledger.rejected(tx, entry, receipt.id, "refused by the provider")
        return ledger.confirmed(tx, entry, receipt)
