"""Crash windows: each tap of a run is in the window that the definition of W1 to W5 puts it in."""

from __future__ import annotations

import pytest
from workflows import Rig, chain, dying, loop

from labkit.cases.refund import refund
from labkit.check.windows import MEANING, Place, places, windows
from labkit.effects.policies import POLICIES
from labkit.engines import ENGINES
from labkit.errors import InvalidInput
from labkit.lab.foresee import choose_tap
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


def placed(rig: Rig) -> list[tuple[Tap, Place]]:
    """The taps that one undisturbed process passes, each with its place."""
    with dying(None) as taps:
        rig.drive()
    return list(zip(taps, places(taps), strict=True))


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


def test_two_effects_of_one_step_each_have_their_windows(engine, policy):
    taps, second = [], []
    for tap, place in placed(Rig(chain([["bank.pay", "post.send", "think"]]), engine, policy)):
        assert place.effect in ("s0", "s0/2", "")
        assert not tap.effect or tap.effect == place.effect
        own = tap.effect or (place.effect if tap.operation in ("record", "commit") else "")
        (taps if own == "s0" else second if own == "s0/2" else []).append(f"{tap.operation}:{tap.phase} {place.window}")
    by_hand = BY_HAND[policy, "snapshot" if engine == "snapshot" else "journal"].split(", ")
    for found in (taps, second):
        in_common = [text for text in by_hand if text.split(":")[0] not in ("record", "commit")]
        assert [text for text in found if text.split(":")[0] not in ("record", "commit")] == [
            "attempt:before W2" if text.startswith("attempt:before") else text for text in in_common
        ]
    assert "s0/2/call" in {tap.label for tap, _ in placed(Rig(chain([["bank.pay", "post.send"]]), engine, policy))}


def test_an_effect_of_a_step_is_named_in_the_tap_that_is_chosen(engine, policy):
    taps = [tap for tap, _ in placed(Rig(chain([["bank.pay", "post.send"], ["desk.open"]]), engine, policy))]
    for effect in ("s0", "s0/2", "s1"):
        assert str(choose_tap(taps, "W3", effect)) == f"{effect}/call:executed#1"
        assert choose_tap(taps, "W4", effect).effect == effect
    assert choose_tap(taps, "W3") == choose_tap(taps, "W3", "s0")
    with pytest.raises(InvalidInput, match=r"(?s)an effect 's1/2'.*effects ahead: s0, s0/2, s1"):
        choose_tap(taps, "W3", "s1/2")


def test_a_loop_makes_an_effect_once_a_visit(engine, policy):
    found = placed(Rig(loop(3, "bank.pay"), engine, policy))
    calls = [(place.visit, place.window) for tap, place in found if str(tap).startswith("s0/call:executed")]
    assert calls == [(1, "W3"), (2, "W3"), (3, "W3")]
    for visit in (1, 2, 3):
        windows_of = dict.fromkeys(place.window for _, place in found if (place.effect, place.visit) == ("s0", visit))
        assert list(windows_of)[-4:] == ["W2", "W3", "W4", "W5"]
    assert str(choose_tap([tap for tap, _ in found], "W2", "s0")) == "s0/call:before#1"


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
