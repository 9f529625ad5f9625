"""Crash windows: each tap of a run is in the window that the definition of W1 to W5 puts it in."""

from __future__ import annotations

import pytest
from workflows import Rig, chain, dying

from labkit.cases.refund import refund
from labkit.check.windows import MEANING, windows
from labkit.effects.policies import POLICIES
from labkit.engines import ENGINES
from labkit.model import CAPABILITIES
from labkit.provider.faults import Fault
from labkit.taps import Tap

# The taps of one effect, in order, each with its window, written down by hand from the definitions.
CALL = "call:before W2, call:executed W3, call:after W4"
SIMPLE = {
    "snapshot": f"{CALL}, commit:before W4, commit:after W5",
    "journal": f"{CALL}, record:before W4, record:after W5, commit:before W5, commit:after W5",
}
ATTEMPT = f"attempt:before W2, attempt:after W2, {CALL}, confirm:before W4, confirm:after W5"
INTENT = "intent:before W1, intent:after W2"
LEDGER = f"{INTENT}, {ATTEMPT}, commit:before W5, commit:after W5"
BY_HAND = {
    ("bare", "snapshot"): SIMPLE["snapshot"],
    ("bare", "journal"): SIMPLE["journal"],
    ("keyed", "snapshot"): SIMPLE["snapshot"],
    ("keyed", "journal"): SIMPLE["journal"],
    ("ledger", "snapshot"): LEDGER,
    ("ledger", "journal"): LEDGER,
    ("outbox", "snapshot"): f"commit:before W1, commit:after W2, {ATTEMPT}",
    ("outbox", "journal"): f"{INTENT}, commit:before W2, commit:after W2, {ATTEMPT}",
}


def passed(rig: Rig) -> list[tuple[Tap, str]]:
    """The taps that one undisturbed process passes, each with its window."""
    with dying(None) as taps:
        rig.drive()
    return list(zip(taps, windows(taps), strict=True))


@pytest.mark.parametrize("provider", CAPABILITIES)
@pytest.mark.parametrize("step", ["execute_refund", "send_mail", "close_ticket"])
def test_the_taps_of_an_effect_are_in_the_windows_written_down_by_hand(engine, policy, step, provider):
    rig = Rig(refund, engine, policy, provider)
    rig.inputs = {"case": 17}
    found = [f"{tap.operation}:{tap.phase} {window}" for tap, window in passed(rig) if tap.step == step]
    assert found == BY_HAND[policy, "snapshot" if engine == "snapshot" else "journal"].split(", ")


def test_outside_of_effects_only_the_write_that_leads_into_one_has_a_window(engine, policy):
    rig = Rig(refund, engine, policy)
    rig.inputs = {"case": 17}
    effects = ("execute_refund", "send_mail", "close_ticket")
    outside = {str(tap): window for tap, window in passed(rig) if tap.step not in effects}
    assert outside.pop("manager_approval/commit:after#1") == "W1"
    assert set(outside.values()) == {"between"}
    assert len(outside) > 10


def test_two_effects_of_one_step_each_have_their_windows():
    found = [
        f"{tap.operation}:{tap.phase} {window}" for tap, window in passed(Rig(chain([["bank.pay"] * 2]), "snapshot"))
    ]
    one = f"{INTENT}, {ATTEMPT}".split(", ")
    assert found[4:-2] == [*one, "intent:before W5", *one[1:]]


def test_a_call_without_a_clear_answer_leaves_the_effect_in_W3():
    rig = Rig(chain([["bank.pay"]]), faults=[Fault("bank", "pay", 1, "fail_after")])
    found = {str(tap): window for tap, window in passed(rig)}
    assert found["s0/doubt:after#1"] == "W3"
    assert found["s0/confirm:after#1"] == "W5"


def test_every_window_is_met_by_every_policy_on_every_engine():
    for engine in ENGINES:
        for policy in POLICIES:
            rig = Rig(refund, engine, policy)
            rig.inputs = {"case": 17}
            assert {window for _, window in passed(rig)} == set(MEANING)
