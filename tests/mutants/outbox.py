"""Broken outboxes: the intent and the state are not one, or nobody delivers after a crash."""

from __future__ import annotations

from collections.abc import Callable

from pytest import MonkeyPatch

from labkit.effects.ledger import Entry
from labkit.effects.policies import POLICIES, Effect, Outbox, call
from labkit.model import Receipt, Run
from labkit.store.protocol import Store, Tx
from tests.mutants import mutant


class QueueInMemory(Outbox):
    """Keeps what is to be delivered in a list."""

    def __init__(self) -> None:
        self.queue: list[Effect] = []

    def perform(self, fx: Effect) -> Receipt:
        """Let the step go on; the effect waits in memory."""
        self.queue.append(fx)
        return super().perform(fx._replace(stage=lambda write: None))

    def drain(self, fx_of: Callable[[Entry], Effect], store: Store, run: Run) -> None:
        """Call the provider after the commit."""
        while self.queue:
            fx = self.queue.pop(0)
            call(fx, fx.order)


@mutant("no lost effect", policy="outbox")
def state_committed_before_the_effect(patch: MonkeyPatch) -> None:
    """An after-commit hook of the web framework calls the provider: the state says done before anything was done."""
    patch.setitem(POLICIES, "outbox", QueueInMemory)


class PlansLater(Outbox):
    """Writes the state first, and what is to be delivered in a second transaction."""

    def __init__(self) -> None:
        self.plans: list[Callable[[Tx], None]] = []

    def perform(self, fx: Effect) -> Receipt:
        """Keep the plan for later."""
        return super().perform(fx._replace(stage=self.plans.append))

    def drain(self, fx_of: Callable[[Entry], Effect], store: Store, run: Run) -> None:
        """Write the plans, then deliver."""
        if self.plans:
            with store.transaction("run/plan") as tx:
                while self.plans:
                    self.plans.pop(0)(tx)
        super().drain(fx_of, store, run)


@mutant("every recovery ends", policy="outbox")
def plan_and_state_in_two_transactions(patch: MonkeyPatch) -> None:
    """The outbox is a table of another service: its row is written right after the state was committed.

    The lab's own outbox finds that a planned effect is missing and refuses to close the run: nothing is lost, but
    nothing goes on either.
    """
    patch.setitem(POLICIES, "outbox", PlansLater)


class DeliversItsOwn(Outbox):
    """Delivers only what this process has planned."""

    def __init__(self) -> None:
        self.planned: set[str | None] = set()

    def perform(self, fx: Effect) -> Receipt:
        """Remember the key."""
        self.planned.add(fx.order.key)
        return super().perform(fx)

    def drain(self, fx_of: Callable[[Entry], Effect], store: Store, run: Run) -> None:
        """Deliver after a commit of this process."""
        if self.planned:
            super().drain(fx_of, store, run)


@mutant("no lost effect", engine="snapshot", policy="outbox")
def outbox_not_drained_on_recovery(patch: MonkeyPatch) -> None:
    """The dispatcher is woken by the commit only; nobody looks into the table when a process starts."""
    patch.setitem(POLICIES, "outbox", DeliversItsOwn)
