"""What theory expects: a rule for every policy and provider, and agreement with what really happens after one crash."""

from __future__ import annotations

from itertools import product

import pytest
from workflows import Rig, chain, dying

from labkit.check.theory import AMBIGUOUS, CLEAN, IF_TRIED, REPEATS, RULES, Crashed, Expected, expect
from labkit.check.windows import WINDOWS, windows
from labkit.effects.policies import POLICIES
from labkit.model import CAPABILITIES
from labkit.taps import Tap

RECOGNISED = {("keyed", "dedup"), *product(("ledger", "outbox"), ("dedup", "lookup"))}  # a repeat does no harm
STOPS = {("ledger", "neither"), ("outbox", "neither")}  # nobody can know, so nobody guesses


@pytest.mark.parametrize(("policy", "provider"), list(product(POLICIES, CAPABILITIES)))
def test_every_policy_and_provider_has_the_rule_that_follows_from_its_protocol(policy, provider):
    rule = dict(RULES[policy, provider])
    assert list(rule) == list(WINDOWS)
    doubtful = CLEAN if (policy, provider) in RECOGNISED else AMBIGUOUS if (policy, provider) in STOPS else REPEATS
    assert {rule.pop("W3"), rule.pop("W4")} == {doubtful}  # executed, and not yet committed as done
    assert rule.pop("W2") == (IF_TRIED if (policy, provider) in STOPS else CLEAN)
    assert set(rule.values()) == {CLEAN}


def test_there_is_no_rule_for_anything_else():
    assert set(RULES) == set(product(POLICIES, CAPABILITIES))
    assert expect([], "hybrid", "my own policy", {}, {}) is None


PLAN = [["think", "think"], ["bank.pay"], ["think"]]


@pytest.mark.parametrize("provider", CAPABILITIES)
def test_theory_says_what_one_crash_at_any_tap_leads_to(engine, policy, provider):
    with dying(None) as taps:
        Rig(chain(PLAN), engine, policy, provider).drive()
    places = windows(taps)
    for tap, window in zip(taps, places, strict=True):
        rig = Rig(chain(PLAN), engine, policy, provider)
        rig.crash(str(tap))
        stuck = rig.drive().status == "waiting_for_person"
        thoughts = rig.outside("activity") - len({e.subject for e in rig.twin.entries() if e.kind == "activity"})
        tried = "s1/attempt:after#1" in map(str, taps[: taps.index(tap) + 1])
        expected = expect([Crashed(tap, window, tried)], engine, policy, {"s1": provider}, {"s0": 2, "s2": 1})
        assert expected is not None
        found = (rig.executed()["r/1.s1"] > 1, stuck, thoughts)
        assert found == (expected.duplicated, expected.ambiguous, expected.activities_repeated), (tap, window)


def crashed(text: str, window: str, tried: bool = True) -> Crashed:
    """A crash at a tap, written as text."""
    return Crashed(Tap.parse(text), window, tried)


def test_an_ambiguous_effect_stops_the_run_before_later_crashes_can_break_anything():
    mail, bill = crashed("mail/call:executed#1", "W3"), crashed("bill/call:executed#1", "W3")
    able = {"mail": "neither", "bill": "neither"}
    assert expect([mail, bill], "hybrid", "ledger", able, {}) == Expected(False, True, False, 0)
    assert expect([mail, bill], "hybrid", "bare", able, {}) == Expected(True, False, True, 0)
    able["mail"] = "lookup"
    assert expect([mail], "hybrid", "ledger", able, {}) == Expected(False, False, False, 0)
    assert expect([mail, bill], "hybrid", "ledger", able, {}) == Expected(False, True, False, 0)


def test_what_was_not_yet_tried_is_not_ambiguous():
    for tried in (False, True):
        crash = crashed("mail/call:before#1", "W2", tried)
        assert expect([crash], "snapshot", "ledger", {"mail": "neither"}, {}).ambiguous is tried


def test_a_snapshot_loses_a_whole_steps_activities_and_a_journal_one():
    record, commit = crashed("think/record:before#1", "between"), crashed("think/commit:before#1", "between")
    calls = {"think": 3}
    for engine, at_record, at_commit in (("snapshot", 0, 3), ("event-sourced", 1, 0), ("hybrid", 1, 0)):
        assert expect([record], engine, "ledger", {}, calls).activities_repeated == at_record
        assert expect([commit], engine, "ledger", {}, calls).activities_repeated == at_commit
    assert expect([commit, commit], "snapshot", "ledger", {}, calls).activities_repeated == 6
