"""An agent that plans again: its refund is done, the confirmation times out, it refunds once more under a new key."""

from __future__ import annotations

from typing import Any

from labkit.errors import ActivityFailed
from labkit.model import ActivityCall, Context, State, Target, Workflow


class Plan(State):
    """How often the agent has planned."""

    plans: int = 1


def confirm(call: ActivityCall, plan: int) -> None:
    """Ask whether the refund is there: the first time, nobody answers."""
    if plan == 1:
        raise TimeoutError("read timed out after 30 s")


def planning_again(once_per: tuple[str, ...] = ()) -> Workflow[Plan]:
    """The workflow; `once_per` names the request fields that make two refunds one for the customer."""
    targets = {"payments": Target(capability="dedup", once_per=once_per)}
    made = Workflow("agent", version="1", state=Plan, begin=Plan, targets=targets)

    @made.step
    def refund_order(ctx: Context, state: Plan) -> Any:
        """Refund, then ask for the confirmation; without one, plan again."""
        ctx.effect("payments", "refund", {"order": "AB-17", "amount": 40})
        try:
            ctx.activity(confirm, state.plans)
        except ActivityFailed:
            state.plans += 1
            return refund_order
        return None

    return made
