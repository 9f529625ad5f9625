"""A call goes wrong and the process lives: what each policy, and each kind of `except`, makes of it."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from workflows import chain, think, workflow

from labkit.check.fault_theory import fault_rule
from labkit.effects.policies import POLICIES
from labkit.engines import ENGINES
from labkit.errors import EffectRejected, EffectUnknown, InvalidInput, ProviderAway
from labkit.model import CAPABILITIES, Done
from labkit.provider.faults import CALL_FAULTS, UNCLEAR
from labkit.sim import Report, explore
from labkit.sim.simulate import replay

PAY = chain([["think"], ["bank.pay"], ["post.send"]])
DUPLICATE, LOST, UNTRACKED = "no duplicate effect", "no lost effect", "no untracked effect"


def paying(pay: Any) -> Any:
    """A workflow whose only effect is made by the step `pay`, and which thinks afterwards."""

    def after(ctx, state):
        state.log.append(ctx.activity(think, "the end"))

    return workflow(pay, after)


def found(report: Report) -> dict[str, set[str]]:
    """By fault, the invariants that it broke at any effect, alone or with a crash."""
    return {
        name: {rule for c in report.call_faults if c.fault == name for rule in c.invariants} for name in CALL_FAULTS
    }


def alone(report: Report) -> dict[str, list[str]]:
    """By fault, what it did to the first effect with no crash."""
    return {cell.fault: cell.alone for cell in reversed(report.call_faults)}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("policy", "provider"), list(product(POLICIES, CAPABILITIES)))
def test_every_policy_and_provider_meets_every_fault_as_theory_says(engine, policy, provider):
    report = explore(PAY, engine=engine, policy=policy, provider=provider, call_faults="all")
    assert len(report.call_faults) == 2 * len(CALL_FAULTS)
    assert [cell for cell in report.call_faults if cell.unexpected] == []
    assert all(cell.expected == fault_rule(cell.fault, policy, provider) for cell in report.call_faults)
    for cell in report.call_faults:
        broken = (
            {violation.invariant for violation in replay(cell.counterexample, PAY).violations}
            if cell.counterexample
            else set()
        )
        assert (
            broken == {each.invariant for each in cell.counterexample.violations}
            if cell.counterexample
            else not cell.invariants
        )


def test_a_time_out_pays_twice_without_a_key_and_no_process_has_died():
    report = explore(PAY, policy="bare", call_faults=["timeout_after"])
    cell = report.call_faults[0]
    assert (cell.alone, cell.counterexample.schedule) == (["duplicated"], [])
    assert str(cell.counterexample).startswith("hybrid, bare, as-declared: timeout_after at call 1 of bank.pay -> ")
    assert report.verdict == "invalid" and "time-out after: no duplicate effect (" in str(report)
    assert explore(PAY, policy="keyed", provider="dedup", call_faults="timeout_after").call_faults[0].alone == []


def test_without_being_asked_nothing_changes():
    assert explore(PAY).call_faults == []
    for name in ([], ()):
        with pytest.raises(InvalidInput, match="names no fault"):
            explore(PAY, call_faults=name)
    with pytest.raises(InvalidInput, match="did you mean timeout_after"):
        explore(PAY, call_faults=["timeout_aftr"])


@pytest.mark.parametrize("kind", [Exception, BaseException], ids=["except Exception", "except:"])
@pytest.mark.parametrize("policy", ["bare", "keyed"])
def test_swallowing_whatever_comes_loses_what_was_not_done_and_knows_nothing_of_what_was(engine, policy, kind):
    def pay(ctx, state):
        try:
            state.extra = ctx.effect("bank", "pay", {"amount": 5}).id
        except kind:
            state.log.append("went on")
        return "after"

    report = explore(paying(pay), engine=engine, policy=policy, provider="dedup", call_faults="all")
    by = alone(report)
    assert by["timeout_before"] == by["away"] == ["lost"]
    assert by["timeout_after"] == by["reply_lost"] == ["untracked"]
    assert by["refused"] == []  # the provider had said no, and the author knew
    assert report.verdict == "invalid"
    assert all(not cell.expected for cell in report.call_faults if cell.fault in (*UNCLEAR, "away", "refused"))


def test_a_bare_except_catches_even_the_wait_for_a_person_and_every_recovery_has_to_end(engine):
    def pay(ctx, state):
        try:
            ctx.effect("bank", "pay", {"amount": 5})
        except:  # noqa: E722 - what is judged
            state.log.append("went on")
        return "after"

    report = explore(paying(pay), engine=engine, policy="ledger", provider="neither", call_faults=UNCLEAR)
    assert all(cell.alone == ["every recovery ends"] for cell in report.call_faults)

    def careful(ctx, state):
        try:
            ctx.effect("bank", "pay", {"amount": 5})
        except Exception:
            state.log.append("went on")
        return "after"

    report = explore(paying(careful), engine=engine, policy="ledger", provider="neither", call_faults=UNCLEAR)
    assert all(cell.alone == ["ambiguous"] and not cell.invariants for cell in report.call_faults)


def retrying(ctx, state):
    """Call again when the answer was unclear, up to three times."""
    for _ in range(3):
        try:
            state.extra = ctx.effect("bank", "pay", {"amount": 5}).status
            return "after"
        except EffectUnknown:
            continue
    return Done("failed", "no answer")


retrying.__name__ = "pay"


@pytest.mark.parametrize("policy", ["bare", "keyed"])
def test_calling_again_in_a_loop_pays_twice_because_the_second_call_has_another_key(engine, policy):
    report = explore(paying(retrying), engine=engine, policy=policy, provider="dedup", call_faults=UNCLEAR)
    by = alone(report)
    assert by["timeout_before"] == []
    assert by["timeout_after"] == by["reply_lost"] == ["duplicated", "untracked"]


def test_calling_again_in_a_loop_does_no_harm_where_the_ledger_has_settled_it(engine):
    for policy, provider in product(["ledger", "outbox"], ["dedup", "lookup"]):
        report = explore(paying(retrying), engine=engine, policy=policy, provider=provider, call_faults=UNCLEAR)
        assert report.verdict == "valid", str(report)


@pytest.mark.parametrize("error", [EffectRejected, ProviderAway])
@pytest.mark.parametrize("policy", ["ledger", "bare"])
def test_going_another_way_after_a_definite_no_is_right(policy, error):
    def pay(ctx, state):
        try:
            state.extra = ctx.effect("bank", "pay", {"amount": 5}).status
        except error:
            return "transfer"
        return "after"

    def transfer(ctx, state):
        state.extra = ctx.effect("post", "transfer", {"amount": 5}).status
        return "after"

    flow = paying(pay)
    flow.step(transfer)
    name = "refused" if error is EffectRejected else "away"
    report = explore(flow, engine="event-sourced", policy=policy, provider="dedup", call_faults=name)
    assert report.call_faults[0].alone == [] and not report.call_faults[0].expected
    if policy == "ledger":
        assert report.call_faults[0].invariants == {}


def test_going_another_way_after_an_unclear_answer_pays_on_both(engine):
    def pay(ctx, state):
        try:
            state.extra = ctx.effect("bank", "pay", {"amount": 5}).status
        except EffectUnknown:
            state.extra = ctx.effect("post", "transfer", {"amount": 5}).status
        return "after"

    by = alone(explore(paying(pay), engine=engine, policy="keyed", provider="dedup", call_faults=UNCLEAR))
    assert by == {"timeout_before": ["lost"], "timeout_after": ["untracked"], "reply_lost": ["untracked"]}


def test_a_snapshot_that_begins_again_forgets_the_no_that_it_has_acted_on():
    def pay(ctx, state):
        try:
            state.extra = ctx.effect("bank", "pay", {"amount": 5}).status
        except EffectRejected:
            state.extra = ctx.effect("post", "transfer", {"amount": 5}).status
        return "after"

    broken = {
        name: found(explore(paying(pay), engine=name, policy="keyed", provider="dedup", call_faults="refused"))[
            "refused"
        ]
        for name in ENGINES
    }
    assert broken["snapshot"] and not broken["event-sourced"] - {UNTRACKED} and not broken["hybrid"] - {UNTRACKED}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_fault_belongs_to_its_effect_among_others_in_its_step_and_after_a_crash_too(engine, policy):
    several = chain([["bank.pay", "bank.pay", "post.send"], ["desk.open"]])
    report = explore(several, engine=engine, policy=policy, call_faults="all")
    assert [(c.fault, c.effect, c.alone, c.expected) for c in report.call_faults if c.unexpected] == []
    refused = [cell for cell in report.call_faults if cell.fault == "refused"]
    assert policy in ("bare", "keyed") or not any(cell.invariants for cell in refused)
