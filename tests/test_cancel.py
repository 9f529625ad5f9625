"""Cancelling closes a run for good, wherever its process died, and no owner it had can write any more."""

from __future__ import annotations

import pytest
from workflows import ALWAYS_REFUSED, Rig, chain, taps_of, workflow

from labkit.errors import StaleWrite, UnknownRun
from labkit.taps import listening

PLAN = [["think", "think", "bank.pay"], ["ask"], ["desk.close", "sleep"]]


@pytest.mark.parametrize("policy", ["bare", "ledger", "outbox"])
def test_a_run_can_be_cancelled_wherever_its_process_died(engine, policy):
    for at in taps_of(lambda: Rig(chain(PLAN), engine, policy)):
        rig = Rig(chain(PLAN), engine, policy)
        rig.crash(at)
        try:
            before = rig.process().read("r")
        except UnknownRun:
            continue
        outside = rig.twin.entries()
        if before.status == "completed":
            with pytest.raises(StaleWrite, match="status completed"):
                rig.process().cancel("r", "too late")
            continue
        cancelled = rig.process().cancel("r", "no longer wanted")
        assert (cancelled.status, cancelled.reason, cancelled.next_transition) == (
            "cancelled",
            "no longer wanted",
            None,
        )
        assert cancelled.data == before.data and cancelled.completed_steps == before.completed_steps
        assert rig.process().read("r").outcome() == rig.drive().outcome() == cancelled.outcome(), at
        assert rig.twin.entries() == outside, at


def test_an_owner_whose_run_was_cancelled_can_write_no_more(engine):
    rig = Rig(chain([["think"], ["bank.pay"]]), engine)
    cancelled: list[str] = []

    def cancel(label: str, phase: str) -> None:
        if (label, phase) == ("s0/commit", "after") and not cancelled:
            cancelled.append("")
            cancelled.append(rig.process("supervisor").cancel("r", "stop").status)

    with listening(cancel), pytest.raises(StaleWrite, match="status cancelled"):
        rig.drive()
    assert cancelled == ["", "cancelled"]
    assert rig.outside("effect") == 0
    assert rig.process().read("r").status == "cancelled"


def pay(ctx, state):
    """An effect that is refused after the step, when the outbox delivers it."""
    ctx.effect("bank", "refused", {})
    return "then"


def then(ctx, state):
    """A step that changes the state before its first call."""
    state.log.append("never reached")
    ctx.now()


def test_reading_a_run_that_was_closed_between_two_steps_ends_there(engine):
    rig = Rig(workflow(pay, then), engine, "outbox", faults=ALWAYS_REFUSED)
    run = rig.drive()
    assert (run.status, run.completed_steps, run.data.log) == ("failed", ["pay"], [])
    assert rig.process().read("r").outcome() == run.outcome()
