"""Broken ways to perform an effect."""

from __future__ import annotations

import itertools

from msgspec.structs import replace
from pytest import MonkeyPatch

from labkit.effects import ledger, policies
from labkit.effects.ledger import Entry
from labkit.effects.policies import POLICIES, Effect, Ledger
from labkit.errors import EffectUnknown
from labkit.model import Order, Receipt
from labkit.provider.faults import Fault
from labkit.store import runs
from tests.mutants import mutant


@mutant("no duplicate effect", provider="dedup")
def key_of_its_own_for_each_attempt(patch: MonkeyPatch) -> None:
    """A fresh idempotency key is made inside the retry loop instead of once for the logical effect."""
    attempts, sound = itertools.count(1), policies.call

    def call(fx: Effect, order: Order) -> Receipt:
        return sound(fx, replace(order, key=f"{order.key}/{next(attempts)}"))

    patch.setattr(policies, "call", call)


class FreshIntent(Ledger):
    """Begins every effect with a clean slate."""

    def perform(self, fx: Effect) -> Receipt:
        """Drop the old row, then do as the ledger does."""
        with fx.store.transaction(f"{fx.step}/intent") as tx:
            tx.execute("DELETE FROM effects WHERE effect_key=?", fx.order.key)
        return super().perform(fx)


@mutant("no duplicate effect", provider="neither")
def ledger_skipped_on_recovery(patch: MonkeyPatch) -> None:
    """The intent is written by an upsert: the new process overwrites the row that it should have read."""
    patch.setitem(POLICIES, "ledger", FreshIntent)


def begin_attempt(fx: Effect, entry: Entry) -> Entry:
    """The sound first half of an attempt."""
    with fx.store.transaction(f"{fx.step}/attempt") as tx:
        runs.guard(tx, fx.run)
        return ledger.executing(tx, entry)


class IntentAfterwards(Ledger):
    """Calls first, and writes everything down when the answer is there."""

    def perform(self, fx: Effect) -> Receipt:
        """Call, then plan, execute and confirm in one transaction."""
        entry = ledger.new_entry(fx.run, fx.step, fx.order, fx.target)
        receipt = policies.call(fx, entry.order())
        with fx.store.transaction(f"{fx.step}/confirm") as tx:
            ledger.plan(tx, entry)
            ledger.confirmed(tx, ledger.executing(tx, entry), receipt)
            fx.settle(tx, receipt)
        return receipt


@mutant("no untracked effect", engine="event-sourced")
def intent_written_after_the_call(patch: MonkeyPatch) -> None:
    """An audit log instead of a write-ahead log: it tells what was done, never what may have been done."""
    patch.setitem(POLICIES, "ledger", IntentAfterwards)


@mutant("no lost effect")
def result_recorded_before_the_call(patch: MonkeyPatch) -> None:
    """The effect is marked as done when it is handed to the client library, not when the provider has answered."""

    def attempt(fx: Effect, entry: Entry) -> Entry:
        entry = begin_attempt(fx, entry)
        with fx.store.transaction(f"{fx.step}/confirm") as tx:
            fx.settle(tx, Receipt(id="accepted"))
            entry = ledger.confirmed(tx, entry, Receipt(id="accepted"))
        policies.call(fx, entry.order())
        return entry

    patch.setattr(policies, "attempt", attempt)


@mutant("no lost effect")
def result_and_confirmation_in_two_transactions(patch: MonkeyPatch) -> None:
    """The journal and the effect ledger are two repositories that each commit for themselves."""

    def attempt(fx: Effect, entry: Entry) -> Entry:
        entry = begin_attempt(fx, entry)
        receipt = policies.call(fx, entry.order())
        with fx.store.transaction(f"{fx.step}/record") as tx:
            fx.settle(tx, receipt)
        with fx.store.transaction(f"{fx.step}/confirm") as tx:
            return ledger.confirmed(tx, entry, receipt)

    patch.setattr(policies, "attempt", attempt)


@mutant("no lost effect", provider="lookup", faults=(Fault("mail", "send", 1, "fail_before"),))
def a_timeout_counts_as_success(patch: MonkeyPatch) -> None:
    """`except Timeout: pass` around the call: an unclear answer is taken for a good one."""
    sound = policies.call

    def call(fx: Effect, order: Order) -> Receipt:
        try:
            return sound(fx, order)
        except EffectUnknown:
            return Receipt(id="assumed")

    patch.setattr(policies, "call", call)
