"""What an author may do in a step, and what is said when it goes wrong."""

from __future__ import annotations

import time
from typing import Any

import pytest

from labkit.clock import ManualClock
from labkit.errors import InvalidInput, StepFailed
from labkit.model import State, Target, Workflow
from labkit.provider.twin import Twin
from labkit.scenario import Scenario, drive
from labkit.sim import explore
from labkit.store.sqlite import SqliteStore
from labkit.taps import listening


class Count(State):
    """How often."""

    n: int = 0
    x: float = 0.0


def flow(step: Any) -> Workflow[Count]:
    """A workflow of one step, with a provider that recognises repeats."""
    made = Workflow("own", version="1", state=Count, begin=Count, targets={"bank": Target(capability="dedup")})
    made.step(step)
    return made


def run_once(made: Workflow[Count], engine: str) -> Any:
    """Run a workflow in memory; return the run and the store."""
    scenario = Scenario(workflow=made, inputs={}, engine=engine)
    store = SqliteStore()
    runner = scenario.runner(store, Twin(made.targets), ManualClock())
    return drive(runner, scenario.run_id, {}), runner


def test_a_loop_that_pays_each_time_it_should_is_valid_on_every_engine(engine):
    def pay(ctx: Any, state: Count) -> Any:
        state.n += 1
        ctx.effect("bank", "pay", {"n": state.n})
        return pay if state.n < 3 else None

    report = explore(flow(pay), engine=engine, crashes=2)
    assert report.ok, report.counterexample
    assert report.unexpected == 0


def test_a_draw_is_safe_in_a_request_once_it_is_durable(engine):
    def draw(ctx: Any, state: Count) -> Any:
        state.x = ctx.random() + ctx.random()
        return pay

    def pay(ctx: Any, state: Count) -> Any:
        ctx.effect("bank", "pay", {"x": state.x})
        return None

    def draw_and_pay(ctx: Any, state: Count) -> Any:
        draw(ctx, state)
        return pay(ctx, state)

    in_two_steps = flow(draw)
    in_two_steps.step(pay)
    assert explore(in_two_steps, engine=engine).ok
    at_once = explore(flow(draw_and_pay), engine=engine)
    assert at_once.ok is (engine != "snapshot"), at_once  # which draws again, under the key of what it drew before


def test_a_workflow_that_sleeps_past_the_end_of_the_experiment_is_no_violation(engine):
    def sleep(ctx: Any, state: Count) -> Any:
        ctx.sleep_until("2099-01-01T00:00:00+00:00")
        return None

    assert explore(flow(sleep), engine=engine).ok


def test_an_invariant_that_theory_does_not_foresee_is_unexpected():
    def meddle(ctx: Any, state: Count) -> Any:
        ctx.effect("bank", "pay", {"n": time.time()})
        return None

    report = explore(flow(meddle), engine="snapshot", policy="ledger")
    assert not report.ok
    assert report.unexpected > 0


def test_a_step_that_swallows_a_wait_is_refused_and_nothing_of_it_is_committed(engine):
    def swallow(ctx: Any, state: Count) -> Any:
        try:
            ctx.approval("boss", "may I?")
        except BaseException:
            state.n = 99
        return None

    made = flow(swallow)
    scenario = Scenario(workflow=made, inputs={}, engine=engine)
    runner = scenario.runner(SqliteStore(), Twin(made.targets), ManualClock())
    with pytest.raises(StepFailed, match="caught the wait of run run-1 and went on: waiting_for_approval"):
        drive(runner, scenario.run_id, {})
    found = runner.read(scenario.run_id)
    assert (found.status, found.completed_steps, found.data.n) == ("running", [], 0)


def test_a_step_that_fails_is_named_with_the_line_of_its_author(engine):
    def divide(ctx: Any, state: Count) -> Any:
        return 1 // state.n

    with pytest.raises(StepFailed, match=r"step divide of run run-1 failed: ZeroDivisionError.*test_authoring.py:\d+"):
        run_once(flow(divide), engine)


def test_a_step_that_exits_is_a_failed_step(engine):
    def leave(ctx: Any, state: Count) -> Any:
        raise SystemExit(3)

    with pytest.raises(StepFailed, match="step leave of run run-1 failed: SystemExit: 3"):
        run_once(flow(leave), engine)


def test_an_interruption_right_after_a_commit_stays_an_interruption():
    def interrupt(label: str, phase: str) -> None:
        if (label, phase) == ("run/claim", "after"):
            raise KeyboardInterrupt

    store = SqliteStore()
    store.install("CREATE TABLE IF NOT EXISTS t (x)")
    with pytest.raises(KeyboardInterrupt), store.transaction("run/begin") as tx:
        tx.execute("COMMIT")  # as if the commit had just taken effect when the interruption came
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt), listening(interrupt), store.transaction("run/claim") as tx:
        tx.execute("INSERT INTO t VALUES (1)")
    assert store.rows("SELECT count(*) FROM t") == [(1,)]


async def later(ctx: Any, state: Any) -> Any:
    """A coroutine."""


def bit_by_bit(ctx: Any, state: Any) -> Any:
    """A generator."""
    yield


def forgetful(ctx: Any) -> Any:
    """A step without a state."""


@pytest.mark.parametrize(
    "step", [later, bit_by_bit, forgetful, 42], ids=["coroutine", "generator", "arguments", "number"]
)
def test_what_cannot_be_a_step_is_refused_when_it_is_registered(step):
    with pytest.raises(InvalidInput, match="workflow own: "):
        flow(step)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": ""}, "its name is ''"),
        ({"state": dict}, "expected a class derived from labkit.model.State"),
        ({"targets": {"bank": Target(capability="exactly-once")}}, "bank: 'exactly-once'"),
    ],
    ids=["name", "state", "capability"],
)
def test_a_workflow_that_cannot_work_is_refused_when_it_is_made(change, told):
    given = {"name": "own", "version": "1", "state": Count, "begin": Count, **change}
    with pytest.raises(InvalidInput, match=told):
        Workflow(given.pop("name"), **given)
