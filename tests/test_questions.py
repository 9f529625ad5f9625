"""Two equal effects under two keys are a question; what a run repeats without any crash is not blamed on one."""

from __future__ import annotations

from typing import Any

from test_identity import PROTECTED
from workflows import Rig, workflow

from labkit.errors import EffectUnknown
from labkit.sim import explore
from labkit.sim.counterexample import Counterexample
from labkit.sim.simulate import replay
from labkit.timeline import Timeline


def equal_twice(ctx: Any, state: Any) -> Any:
    """The same request in two steps, under two keys."""
    ctx.effect("bank", "pay", {"order": 1})
    state.log.append("paid")
    return "equal_twice" if len(state.log) < 2 else None


def test_two_equal_requests_under_two_keys_are_a_question_everywhere(engine, policy):
    report = explore(workflow(equal_twice), engine=engine, policy=policy)
    assert not report.ok and report.verdict != "valid"
    [question] = report.questions
    for text in ("bank.pay", "order 1", "run-1/0.equal_twice", "run-1/1.equal_twice", "once_per"):
        assert text in question
    assert question in str(report)
    if policy in PROTECTED:
        assert report.verdict == "unknown"
        assert {cell.verdict for cell in report.cells} == {"unknown"}


def declared_once(ctx: Any, state: Any) -> Any:
    """The same request twice; only the first says what makes it one effect."""
    ctx.effect("bank", "pay", {"order": 1}, once_per=("order",))
    ctx.effect("bank", "pay", {"order": 1})


def test_an_effect_that_declares_nothing_beside_one_that_does_is_a_question_too(engine):
    [question] = explore(workflow(declared_once), engine=engine).questions
    assert "bank.pay with order 1 happened 2 times" in question


def test_the_timeline_shows_a_question_at_the_second_effect_and_in_words(engine):
    rig = Rig(workflow(equal_twice), engine)
    run = rig.drive()
    shown = Timeline.of(run, [], rig.effects(), rig.twin.entries(), engine=engine, policy="ledger")
    assert [each.mark for each in shown.findings] == ["question"]
    assert "TWICE?" in str(shown)
    assert "TWICE?" in shown._repr_html_() and "bank.pay with order 1 happened 2 times" in shown.svg()


def paying_then_asking(ctx: Any, state: Any) -> Any:
    """A step that a snapshot engine runs again from its top once its question is answered."""
    ctx.effect("bank", "pay", {"order": 1})
    ctx.approval("boss", "may the next step run?")


def test_what_an_approval_alone_repeats_is_said_to_be_so_and_replayed_with_an_empty_schedule(tmp_path):
    flow = workflow(paying_then_asking)
    report = explore(flow, engine="snapshot", policy="bare")
    [broken] = report.without_crash
    assert broken.invariant == "no duplicate effect"
    assert broken.text == (
        "run-1/0.paying_then_asking was executed 2 times: after approval run-1.0.paying_then_asking alone, "
        "its step runs again from its top"
    )
    found = report.counterexample
    assert found is not None and found.schedule == [] and "no crash needed" in str(found)
    again = replay(Counterexample.load(found.save(tmp_path / "found.json")), flow)
    assert [each.invariant for each in again.violations] == ["no duplicate effect"]
    for engine, policy in (("snapshot", "ledger"), ("hybrid", "bare")):
        assert explore(flow, engine=engine, policy=policy).without_crash == []


def replanning(ctx: Any, state: Any) -> Any:
    """An agent that meets a time-out and plans the same payment again."""
    try:
        ctx.effect("bank", "pay", {"order": 1})
    except EffectUnknown:
        state.log.append("planned again")
        return "replanning"
    return None


def test_what_only_a_time_out_leads_to_is_a_question_too():
    report = explore(workflow(replanning), policy="keyed", call_faults=("timeout_after",))
    assert report.questions == [] and report.verdict != "valid"
    assert any("bank.pay with order 1 happened 2 times" in reason for reason in report.reasons()), str(report)
