"""A run that does not reach its end is not valid: timers pass, approvals are answered, and what is missing is said."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from command import answer, labkit
from rich.console import Console

from labkit.bench.campaign import run as bench
from labkit.check.invariants import Violation
from labkit.lab.compare import compare
from labkit.matrix import matrix, render
from labkit.model import Budgets, Done, Workflow
from labkit.scenario import MOST_WAITS, Scenario
from labkit.sim import explore
from labkit.sim.lives import Simulation, first_life
from tests.shapes import flow
from tests.workflows import Notes, chain, workflow


def later(when: str, seconds: float) -> str:
    return (datetime.fromisoformat(when) + timedelta(seconds=seconds)).isoformat()


def sleeper() -> Workflow[Notes]:
    """Sleeps three seconds, then pays."""

    def note(ctx: Any, state: Notes) -> Any:
        state.extra = later(ctx.now(), 3)
        return "sleep"

    def sleep(ctx: Any, state: Notes) -> Any:
        ctx.sleep_until(state.extra)
        return "pay"

    def pay(ctx: Any, state: Notes) -> Any:
        state.log.append(ctx.effect("bank", "pay", {}).id)

    return workflow(note, sleep, pay)


def restless() -> Workflow[Notes]:
    """Asks the time anew whenever it wakes up, so that a snapshot engine never lets it sleep enough."""

    def sleep(ctx: Any, state: Notes) -> Any:
        ctx.sleep_until(later(ctx.now(), 3))
        return "pay"

    def pay(ctx: Any, state: Notes) -> Any:
        state.log.append(ctx.effect("bank", "pay", {}).id)

    return workflow(sleep, pay)


def endless() -> Workflow[Notes]:
    """Never returns its last step."""

    def again(ctx: Any, state: Notes) -> Any:
        return "again"

    return workflow(again, budgets=Budgets(steps_remaining=5))


def test_a_timer_passes_and_what_comes_after_it_is_crashed_around(engine):
    report = explore(sleeper(), engine=engine, policy="bare")
    assert (report.verdict, report.missing) == ("invalid", [])
    assert report.violations["no duplicate effect"] == 3  # W3 and both taps in W4 of the payment behind the timer
    assert {cell.window for cell in report.cells} == {"W1", "W2", "W3", "W4", "W5", "between"}
    assert explore(sleeper(), engine=engine, policy="ledger", provider="dedup").verdict == "valid"


@pytest.mark.parametrize("calls", [["sleep"], ["sleep", "bank.pay"], ["ask"], ["ask", "sleep", "think", "sleep"]])
def test_a_run_that_waits_is_taken_to_its_end(calls, engine):
    life = first_life(Simulation(Scenario(workflow=chain([calls, ["bank.pay"]]), inputs={}, engine=engine)))
    assert life.evidence.status == "completed"
    report = explore(chain([calls, ["bank.pay"]]), engine=engine, provider="dedup", crashes=2)
    assert (report.verdict, report.missing) == ("valid", [])


def test_a_wait_that_nothing_ends_is_unknown_and_named_with_its_place():
    report = explore(restless(), engine="snapshot")
    assert (report.verdict, report.ok, len(report.missing)) == ("unknown", False, 1)
    assert "waiting_for_timer in step sleep: until 20" in report.missing[0]
    assert report.missing[0] in report.reasons() and report.missing[0] in str(report)
    life = first_life(Simulation(Scenario(workflow=restless(), inputs={}, engine="snapshot")))
    assert [str(tap) for tap in life.taps].count(f"sleep/wait:after#{MOST_WAITS}") == 1
    assert explore(restless(), engine="hybrid").verdict == "valid"  # its journal keeps the time that was asked for


def test_a_limit_that_ends_a_run_is_named():
    report = explore(endless())
    assert (report.verdict, report.ok) == ("unknown", False)
    assert "budget_spent" in report.missing[0]


def test_a_run_that_ends_failed_by_itself_has_reached_its_end():
    report = explore(chain([["bank.pay"]], closing=Done("failed", "no stock")), provider="dedup")
    assert (report.verdict, report.missing) == ("valid", [])


def test_no_cell_of_a_combination_that_was_not_reached_is_ok():
    report = matrix(restless(), engines=("snapshot", "hybrid"), policies=("ledger",), providers=("dedup",))
    assert {(cell.engine, cell.verdict) for cell in report.cells} == {("snapshot", "unknown"), ("hybrid", "valid")}
    console = Console(width=200)
    with console.capture() as shown:
        console.print(render(report))
    row = next(line for line in shown.get().splitlines() if line.strip().startswith("snapshot"))
    assert "ok" not in row and "~" in row
    assert "snapshot, ledger, dedup: the run is waiting_for_timer in step sleep" in shown.get()
    assert not report.ok


@pytest.mark.parametrize(
    ("found", "verdict", "ok"),
    [
        ({"missing": ["the end"]}, "unknown", False),
        ({"questions": ["twice?"]}, "unknown", False),
        ({"without_crash": [Violation("no duplicate effect", "pay was executed 2 times")]}, "invalid", False),
        ({"ambiguous": 1}, "unknown", True),
        ({"violations": {"no lost effect": 2}, "missing": ["the end"]}, "invalid", False),
        ({}, "valid", True),
    ],
)
def test_a_verdict_that_is_not_valid_says_each_reason(found, verdict, ok):
    report = explore(chain([["bank.pay"]]), provider="dedup")
    for name, value in found.items():
        setattr(report, name, value)
    assert (report.verdict, report.ok) == (verdict, ok)
    assert len(report.reasons()) == len(found)
    assert all(reason in str(report) for reason in report.reasons())


def test_a_wait_that_nothing_ends_leaves_no_ok_in_the_bench():
    report = bench(
        engines=["snapshot", "hybrid"], policies=["ledger"], workflow=flow.restless, windows=["W1", "between"]
    )
    assert not report.ok and {each.engine for each in report.open} == {"snapshot"}
    assert "waiting_for_timer in step doze" in report.open[0].reason
    assert {(cell.engine, cell.verdict) for cell in report.cells} == {("snapshot", "unknown"), ("hybrid", "valid")}


def far() -> Workflow[Notes]:
    """Waits for a time that the machine's clock does not reach, then pays."""

    def sleep(ctx: Any, state: Notes) -> Any:
        ctx.sleep_until("2222-01-01T00:00:00+00:00")
        return "pay"

    def pay(ctx: Any, state: Notes) -> Any:
        state.log.append(ctx.effect("bank", "pay", {}).id)

    return workflow(sleep, pay)


def test_by_the_clock_of_the_machine_a_run_that_waits_is_unknown_and_said_to_be():
    found = compare(far(), at="sleep/wait:after", real=False)
    for row in found.rows:
        assert (row.status, row.verdict, row.broken) == ("waiting_for_timer", "unknown", [])
        assert "waiting_for_timer in step sleep: until 2222" in row.missing[0]
        assert f"{row.engine}: {row.missing[0]}" in " ".join(str(found).split())
    assert explore(far(), provider="dedup").verdict == "valid"


def test_a_recovery_that_never_wakes_up_leaves_the_verdict_open():
    def pay(ctx: Any, state: Notes) -> Any:
        hours = datetime.fromisoformat(ctx.now()).hour - 9  # 0 in the first simulated process, 1 in the next
        ctx.sleep_until(later(ctx.now(), hours))
        state.log.append(ctx.effect("bank", "pay", {}).id)

    report = explore(workflow(pay), engine="snapshot", provider="dedup")
    assert (report.verdict, report.ok, report.violations) == ("unknown", False, {})
    assert all(reason.startswith("after a crash the run is waiting_for_timer in step pay") for reason in report.missing)


def test_labkit_run_says_what_was_not_reached():
    told = answer(labkit("run", "tests.shapes.flow:three_seconds", "--json"))
    assert "waiting_for_timer in step sleep" in told["missing"][0]
    shown = " ".join(labkit("run", "tests.shapes.flow:three_seconds").stdout.split())
    assert "unknown: the run is waiting_for_timer in step sleep" in shown
    assert "kept until its time has come" in shown


def test_the_bench_blames_no_crash_for_what_a_run_does_without_one():
    ways = {"workflow": flow.effect_approval, "windows": ["W5", "W3"]}
    report = bench(engines=["snapshot"], policies=["bare"], **ways)
    simulated = explore(flow.effect_approval, engine="snapshot", policy="bare")
    assert report.cells == [cell for cell in simulated.cells if cell.window in ("W3", "W5")]
    assert [(each.wrong, each.reason) for each in report.open] == [(True, simulated.wrong()[0])]
    assert not report.ok
