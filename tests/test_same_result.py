"""The same workflow, input and crash schedule end in the same state on every engine, with every effect done once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workflows import ALWAYS_REFUSED, Rig, chain, taps_of

from labkit.cases.refund import refund
from labkit.engines import ENGINES
from labkit.model import Budgets, Done

CALLS = st.sampled_from(["think", "bank.pay", "bank.pay", "desk.close", "ask", "sleep", "keep", "fail", "bank.refused"])
PLANS = st.lists(st.lists(CALLS, max_size=4), min_size=1, max_size=5)
CLOSINGS = st.sampled_from([None, None, Done("completed", "well"), Done("cancelled", "no need"), Done("failed", "no")])
STEPS = st.sampled_from([100, 100, 100, 1, 2, 3])
SCHEDULES = st.lists(st.floats(0, 1, exclude_max=True), max_size=3)


def after(rig: Rig, schedule: list[float]) -> dict[str, Any]:
    """The outcome after as many dying processes as `schedule` has numbers, and one that lives.

    Each number is the share of the taps of an undisturbed run after which the process dies. Some come to the end first.
    """
    length = len(taps_of(lambda: Rig(rig.workflow, rig.engine, rig.policy, rig.provider, rig.faults)))
    for share in schedule:
        rig.crash(int(share * length))
    outcome = rig.drive().outcome()
    assert rig.process().read("r").outcome() == outcome
    assert rig.process().resume("r").outcome() == outcome
    return outcome


@settings(max_examples=120)
@given(
    plan=PLANS,
    closing=CLOSINGS,
    steps=STEPS,
    schedule=SCHEDULES,
    policy=st.sampled_from(["keyed", "ledger", "outbox"]),
    provider=st.sampled_from(["dedup", None]),
)
def test_every_engine_recovers_to_the_same_state(plan, closing, steps, schedule, policy, provider):
    if policy == "keyed":
        provider = "dedup"  # nobody asks a provider that could only be asked
    budgets = Budgets(steps_remaining=steps)
    made = chain(plan, closing, budgets=budgets)
    undisturbed = Rig(made, "snapshot", policy, provider, ALWAYS_REFUSED)
    expected = undisturbed.drive().outcome()
    for engine in ENGINES:
        rig = Rig(made, engine, policy, provider, ALWAYS_REFUSED)
        assert after(rig, schedule) == expected, engine
        assert rig.executed() == undisturbed.executed(), engine
        known = [entry.subject for entry in rig.effects() if entry.status == "confirmed"]
        assert policy == "keyed" or sorted(rig.executed()) == sorted(known), engine


@pytest.mark.parametrize("schedule", [[], [0.5], [0.3, 0.6], [0.9, 0.2, 0.99]])
@pytest.mark.parametrize("policy", ["keyed", "ledger", "outbox"])
def test_the_reference_workflow_too(policy, schedule):
    outcomes = []
    for engine in ENGINES:
        rig = Rig(refund, engine, policy, "dedup")
        rig.inputs = {"case": 17}
        for share in schedule:
            rig.crash(int(share * 50))
        outcomes.append(rig.drive().outcome())
        assert list(rig.executed().values()) == [1, 1, 1]
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert outcomes[0]["status"] == "completed"
