"""Broken recovery decisions and reconciliations."""

from __future__ import annotations

from msgspec.structs import replace
from pytest import MonkeyPatch

from labkit.effects import ledger, policies
from labkit.effects.decision import Checkpoint
from labkit.effects.ledger import Entry
from labkit.effects.policies import Effect
from labkit.model import Receipt
from labkit.provider.faults import Fault
from labkit.provider.twin import Twin
from tests.mutants import mutant
from tests.mutants.order import order


def taken_for_planned(patch: MonkeyPatch, status: str) -> None:
    """Decide about effects in `status` as if they had only been planned."""
    sound = policies.decide

    def decide(checkpoint: Checkpoint) -> str:
        planned = replace(checkpoint, effect_status="planned")
        return sound(planned if checkpoint.effect_status == status else checkpoint)

    patch.setattr(policies, "decide", decide)


@mutant("no duplicate effect", provider="neither")
def executing_taken_for_planned(patch: MonkeyPatch) -> None:
    """Whatever is not marked as done is done again: an attempt that had begun is not told from one that had not."""
    taken_for_planned(patch, "executing")


@mutant("no duplicate effect", provider="lookup", faults=(Fault("payments", "refund", 1, "fail_after"),))
def ambiguous_taken_for_planned(patch: MonkeyPatch) -> None:
    """A general retry policy tries again after a timeout although the provider may have acted."""
    taken_for_planned(patch, "ambiguous")


@mutant("no duplicate effect", provider="lookup")
def repeated_instead_of_looked_up(patch: MonkeyPatch) -> None:
    """The provider could be asked by key; the recovery assumes that it dedups, and sends the effect again."""
    patch.setattr(policies, "reconcile", lambda fx, entry, attempt: attempt(fx, entry))


@mutant("no duplicate effect", workflow=order, provider="lookup", crashes=2)
def cleared_before_it_was_looked_up(patch: MonkeyPatch) -> None:
    """The recovery resets the row first and asks afterwards: right, unless the recovery itself is killed in between."""

    def reconcile(fx: Effect, entry: Entry, attempt: object) -> Entry:
        with fx.store.transaction(f"{fx.step}/cleared") as tx:
            entry = ledger.cleared(tx, entry)
        receipt = fx.world.lookup(entry.target, entry.effect_key, f"{fx.step}/lookup")
        if receipt is None:
            return entry
        with fx.store.transaction(f"{fx.step}/confirm") as tx:
            fx.settle(tx, receipt)
            return ledger.confirmed(tx, ledger.executing(tx, entry), receipt)

    patch.setattr(policies, "reconcile", reconcile)


@mutant("no duplicate effect", provider="lookup")
def looked_up_under_another_key(patch: MonkeyPatch) -> None:
    """The call sends the effect key, the status query asks by the number of the request: nothing is ever found."""
    sound = Twin.lookup

    def lookup(self: Twin, target: str, key: str, label: str) -> Receipt | None:
        return sound(self, target, f"request-{key}", label)

    patch.setattr(Twin, "lookup", lookup)
