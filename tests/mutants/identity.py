"""A broken business identity: only the process that made the first effect recognises the second."""

from __future__ import annotations

from typing import Any

from pytest import MonkeyPatch

from labkit.effects import ledger
from labkit.effects.policies import POLICIES, Effect, Ledger
from labkit.errors import EffectRejected
from labkit.model import Receipt, State, Target, Workflow
from tests.mutants import mutant


class PlanState(State):
    """How often the agent has planned."""

    plans: int = 0


planner: Workflow[PlanState] = Workflow(
    "planner",
    version="1.0.0",
    state=PlanState,
    begin=PlanState,
    targets={"payments": Target(capability="dedup", once_per=("order",))},
)


@planner.step
def plan(ctx: Any, state: PlanState) -> Any:
    """Effect: pay; then plan the same payment again, as after an answer that the agent did not understand."""
    state.plans += 1
    ctx.effect("payments", "charge", {"order": "AB-1", "plan": state.plans})
    return plan if state.plans < 2 else None


class RemembersInMemory(Ledger):
    """Keeps a dict of what this process has paid."""

    def __init__(self) -> None:
        self.paid: dict[str, str] = {}

    def perform(self, fx: Effect) -> Receipt:
        """Refuse what the dict has under another key."""
        if self.paid.setdefault(fx.order.identity, fx.order.key or "") != fx.order.key:
            raise EffectRejected("repeats_effect", f"{fx.order.identity} was paid")
        return super().perform(fx)


@mutant("an effect happens once for its business identity", workflow=planner)
def what_was_paid_is_remembered_in_memory(patch: MonkeyPatch) -> None:
    """A global `already_paid` guards against paying twice: it works in every test, and dies with its process."""
    patch.setattr(ledger, "check_identity", lambda *found: None)
    patch.setitem(POLICIES, "ledger", RemembersInMemory)
