"""What theory expects: a rule for every policy and provider, and what follows from the order of a step's calls."""

from __future__ import annotations

from functools import reduce
from itertools import product

import pytest
from workflows import chain, loop

from labkit.check.follow import Opened, Position, Standing
from labkit.check.script import Call, Script, Visit
from labkit.check.theory import AMBIGUOUS, CLEAN, IF_TRIED, REPEATS, RULES, Expected, Outlook, Theory
from labkit.check.windows import WINDOWS
from labkit.effects.policies import POLICIES
from labkit.model import CAPABILITIES
from labkit.scenario import Scenario
from labkit.sim import explore
from labkit.sim.script import script
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
    assert Theory(Script([]), journals=True, policy="my own policy").expected(Outlook()) is None
    assert Theory(None, journals=True, policy="bare").expected(Outlook()) is None


def written(*visits: str) -> Script:
    """A script in short: `think bank.dedup ask until` are an activity, an effect, an approval and a timer."""
    kinds = {"think": ("activity", "think"), "ask": ("approval", "boss"), "fail": ("activity", "broken", True)}
    kinds["sleep"] = ("timer", "2026-01-05T18:00:00+00:00")
    calls = [
        [Call(*kinds.get(word, ("effect", word, False, word.partition(".")[2]))) for word in text.split()]
        for text in visits
    ]
    return Script([Visit(f"s{number}", made) for number, made in enumerate(calls)])


def after(theory: Theory, *lives: str) -> Expected | None:
    """What theory expects when each life dies at the last of its taps, `#1` and phases `before, after` spelled out."""
    outlook = Outlook()
    for life in lives:
        crashes = theory.crashes([Tap.parse(text) for text in life.split()], outlook.position)
        outlook = theory.after(outlook, crashes[-1].standing)
    return theory.expected(outlook)


CALLED = "{0}/call:before {0}/call:executed"


@pytest.mark.parametrize(("journals", "again"), [(False, 2), (True, 0)])
def test_what_a_step_has_called_before_an_effect_is_paid_again_only_where_nothing_is_kept(journals, again):
    theory = Theory(written("think think bank.dedup"), journals=journals, policy="keyed")
    records = "s0/record:before s0/record:after " * 2 if journals else ""
    found = after(theory, records + CALLED.format("s0"))
    assert found == Expected(False, False, True, again)


@pytest.mark.parametrize(("policy", "twice"), [("bare", True), ("keyed", True), ("ledger", False)])
def test_an_effect_before_the_one_at_hand_is_met_again_where_nothing_is_kept(policy, twice):
    taps = "s0/intent:before s0/intent:after s0/attempt:after " if policy == "ledger" else ""
    taps += CALLED.format("s0") + " s0/call:after "
    snapshot = Theory(written("bank.lookup post.dedup"), journals=False, policy=policy)
    done = "s0/confirm:after s0/2/intent:before" if policy == "ledger" else "s0/2/call:before"
    assert after(snapshot, taps + done) == Expected(twice, False, policy != "ledger", 0)
    if policy != "ledger":
        journal = Theory(written("bank.lookup post.dedup"), journals=True, policy=policy)
        done = "s0/record:before s0/record:after s0/2/call:before"
        assert after(journal, taps + done) == Expected(False, False, False, 0)


def test_the_first_effect_that_nobody_knows_about_stops_the_run():
    theory = Theory(written("think mail.neither think bill.lookup"), journals=False, policy="ledger")
    intent = "s0/intent:before s0/intent:after "
    assert after(theory, intent + "s0/attempt:before") == Expected(False, False, False, 1)
    assert after(theory, intent + "s0/attempt:after") == Expected(False, True, False, 1)
    later = "run/claim:before run/claim:after s0/wait:before"
    assert after(theory, intent + "s0/attempt:after", later) == Expected(False, True, False, 2)
    confirmed = "s0/confirm:after s0/2/intent:after s0/2/attempt:after s0/2/call:executed"
    assert after(theory, intent + "s0/attempt:after " + confirmed) == Expected(False, False, False, 2)


def test_a_step_that_waits_is_entered_again_without_any_crash():
    theory = Theory(written("think bank.neither ask think"), journals=False, policy="bare")
    assert theory.expected(Outlook()) == Expected(True, False, False, 1)
    assert after(theory, CALLED.format("s0") + " s0/wait:before") == Expected(True, False, True, 2)
    assert after(theory, CALLED.format("s0") + " s0/wait:before s0/wait:after") == Expected(True, False, True, 1)
    journal = Theory(written("think bank.neither ask think"), journals=True, policy="bare")
    assert journal.expected(Outlook()) == Expected(False, False, False, 0)


def test_a_timer_that_has_run_out_when_the_next_process_starts_waits_no_more():
    theory = Theory(written("think sleep think"), journals=False, policy="bare")
    assert theory.expected(Outlook()) == Expected(False, False, False, 1)
    late = Position(time="2026-01-05T17:30:00+00:00")
    assert theory.expected(Outlook(late)) == Expected(False, False, False, 0)


def test_a_failure_that_is_caught_is_kept_with_the_write_that_follows():
    theory = Theory(written("fail think"), journals=True, policy="bare")
    assert after(theory, "s0/record:before") == Expected(False, False, False, 2)
    assert after(theory, "s0/record:before s0/record:after") == Expected(False, False, False, 0)
    asks = Theory(written("fail ask"), journals=True, policy="bare")
    assert after(asks, "s0/record:before s0/record:after s0/wait:before") == Expected(False, False, False, 0)


def test_of_a_run_that_leaves_its_way_theory_says_nothing():
    theory = Theory(written("think", "think"), journals=True, policy="bare")
    assert after(theory, "s0/record:before") is not None
    assert after(theory, "s1/record:before") is None
    assert after(theory, "s0/2/call:before") is None
    assert after(theory, "s0/record:before s0/record:after s0/commit:after s1/commit:after s2/commit:before") is None


def test_the_script_is_what_a_run_calls(policy):
    found = script(
        Scenario(workflow=chain([["think", "fail", "bank.pay"], ["ask", "desk.open"]]), inputs={}, policy=policy)
    )
    assert found is not None
    visits = [(visit.step, [call.kind for call in visit.calls]) for visit in found.visits if visit.calls]
    assert visits == [("s0", ["activity", "activity", "effect"]), ("s1", ["approval", "effect"])]
    assert [call.capability for visit in found.visits for call in visit.calls] == ["", "", "dedup", "", "lookup"]
    assert found.visits[0].calls[1].failed


SHAPES = {
    "an activity, then an effect": chain([["think", "bank.pay"]]),
    "two targets in a step": chain([["bank.pay", "post.send"]]),
    "an effect, then a question": chain([["bank.pay", "ask", "think"]]),
    "a failure that is caught": chain([["fail", "post.send", "fail", "ask"]]),
    "a loop": loop(3, "think", "bank.pay", "desk.open"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_theory_is_right_about_every_crash_of_steps_with_several_calls(shape, engine, policy):
    for provider in ("as-declared", *CAPABILITIES):
        report = explore(SHAPES[shape], engine=engine, policy=policy, provider=provider)
        assert report.unexpected == 0, (provider, report.disagreements)
        assert not any(cell.untold for cell in report.cells)


def test_two_processes_that_die_are_each_counted():
    outlooks = [
        Standing(Position(), made=2, reached=2, opened=(Opened(0, "neither", "W3", True, True),)),
        Standing(Position(), made=1, reached=1),
    ]
    theory = Theory(written("bank.neither think think think"), journals=False, policy="bare")
    assert theory.expected(reduce(theory.after, outlooks, Outlook())) == Expected(True, False, True, 3)
