"""What a campaign says: rates with honest intervals, tables that can be read, one name for one plan."""

from __future__ import annotations

import io
from itertools import product

import msgspec
import pytest
from rich.console import Console

from labkit.cases.desk import EFFECTS
from labkit.errors import InvalidInput
from labkit.measure import plan as plans
from labkit.measure.durable import queue_of
from labkit.measure.plan import POLICIES, Plan, plan_of
from labkit.measure.render import cost_table, in_words, render
from labkit.measure.report import Done, StackReport, cell_of, percentile_95, report_of, wilson
from labkit.measure.trial import BESIDES, NO_KILL, WINDOWS, Cell, Result
from labkit.stacks import find

CELL = Cell(stack="bare", policy="bare", window="W3", effect="send_mail")
TWICE = Result(kind="judged", status="completed", duplicated=["send_mail"], paid=2, seconds=0.2, size=100)
ONCE = Result(kind="judged", status="completed", seconds=0.1, size=300)


@pytest.mark.parametrize(
    ("count", "trials", "low", "high"),
    [  # the first four as Newcombe gives them, Statistics in Medicine 17 (1998), 857-872, table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (40, 40, 0.9124, 1.0),
        (0, 0, 0.0, 1.0),
    ],
)
def test_a_rate_lies_in_wilsons_interval(count, trials, low, high):
    found = wilson(count, trials)
    assert (found.count, round(found.low, 4), round(found.high, 4)) == (count, low, high)


def test_the_95th_percentile_is_that_of_the_sorted_values():
    assert percentile_95([float(value) for value in range(101)]) == 95.0
    assert percentile_95([1.0, 2.0]) == pytest.approx(1.95)
    assert (percentile_95([3.0]), percentile_95([])) == (3.0, None)


def test_what_could_not_be_judged_counts_in_no_rate():
    broken = [Result(kind="error", detail="no zygote"), Result(kind="not reached")]
    found = cell_of(CELL, [TWICE, ONCE, ONCE, *broken])
    assert (found.trials, found.errors, found.not_reached, found.example) == (3, 1, 1, "no zygote")
    assert (found.duplicated, found.lost.count, found.paid_again.count) == (wilson(1, 3), 0, 1)
    assert (found.activities_paid, found.bytes, found.seconds_median) == (2, 300, 0.1)
    assert not report(plan_of(["bare"]), [ONCE, *broken]).ok and report(plan_of(["bare"]), [ONCE]).ok


def test_what_happened_to_another_effect_is_counted_apart_from_the_cells_own():
    others = Result(kind="judged", status="completed", duplicated=["execute_refund"], lost=["close_ticket"])
    both = msgspec.structs.replace(TWICE, duplicated=["execute_refund", "send_mail"])
    found = cell_of(CELL, [others, both, ONCE])
    assert (found.duplicated.count, found.other_duplicated.count) == (1, 2)
    assert (found.lost.count, found.other_lost.count) == (0, 1)
    assert in_words(found) == "other missing 1/3, twice 1/3, other twice 2/3"
    closing = cell_of(msgspec.structs.replace(CELL, effect="close_ticket"), [others])
    assert (closing.lost.count, closing.other_lost.count, closing.duplicated.count) == (1, 0, 0)


def test_each_stack_and_policy_has_one_cell_without_a_kill_that_counts_every_effect():
    plan = plan_of(["bare", "dbos"])
    unharmed = [cell for cell in plan.cells() if cell.situation == NO_KILL]
    assert sorted((cell.stack, cell.policy) for cell in unharmed) == sorted(product(plan.stacks, POLICIES))
    assert {(cell.window, cell.effect) for cell in unharmed} == {("", "")}
    for effect in EFFECTS:
        found = cell_of(unharmed[0], [msgspec.structs.replace(ONCE, duplicated=[effect], lost=[effect])])
        assert (found.duplicated.count, found.lost.count) == (1, 1)
        assert not found.other_duplicated.count and not found.other_lost.count


def test_the_time_to_start_without_a_kill_stands_beside_the_time_to_recover():
    plan = plan_of(["bare"], ["bare"], 1)
    slow = msgspec.structs.replace(ONCE, seconds=0.3)
    found = {cell: Done([ONCE if cell.situation == NO_KILL else slow], "w") for cell in plan.cells()}
    table = cost_table(report_of(plan, found, {}, {}, before=0, seconds=1.0).cells)
    said, start, recovery = (list(table.columns[number].cells)[1] for number in (1, 2, 4))
    assert (said, start, recovery) == ("once", "100", "300")


def report(plan: Plan, results: list[Result], **changes: object) -> StackReport:
    """A report in which every cell of the plan has these results."""
    found = {cell: Done(results, "worker-1") for cell in plan.cells()}
    told = report_of(plan, found, {}, {"postgres": "LABKIT_DSN"}, before=7, seconds=1.5)
    return msgspec.structs.replace(told, **changes)


@pytest.mark.parametrize("width", [80, 120])
def test_the_tables_can_be_read_on_a_narrow_terminal(width):
    plan = plan_of(["bare"], repeat=2)
    name = "langgraph-functional"
    long = msgspec.structs.replace(plan, stacks=(name,), versions={name: {"x": "9"}})
    every = {"duplicated": list(EFFECTS), "lost": list(EFFECTS), "wrong": True, "open": ["key"]}
    worst = msgspec.structs.replace(TWICE, status="failed", detail="why", **every)
    text = io.StringIO()
    Console(file=text, width=width).print(render(report(long, [worst, ONCE], not_run={"temporal": "no server"})))
    lines = text.getvalue().splitlines()
    assert max(map(len, lines)) <= width and "…" not in text.getvalue()
    words = " ".join(text.getvalue().split())
    for said in (*WINDOWS, *EFFECTS, *POLICIES, "missing", "twice", "other", "wrong", "person", NO_KILL, name, "x 9"):
        assert said in words
    for said in ("seed 1", "2 a cell", "cores", "python 3.", "postgres from LABKIT_DSN", "7 of them measured earlier"):
        assert said in words
    assert "not run: temporal: no server" in words and "worker-1 66" in words


def test_the_same_plan_is_the_same_campaign_and_another_is_another():
    plan = plan_of(["bare", "bare-saved"], ["ledger", "bare"], 3, 5)
    assert plan.id == plan_of(["bare", "bare-saved", "bare"], ["ledger", "bare"], 3, 5).id
    changes = ({}, {"seed": 2}, {"repeat": 2}, {"mode": "plain"}, {"policies": ["bare"]})
    assert len({plan_of(["bare"], **change).id for change in changes}) == len(changes)
    assert plan.cells() == plan_of(["bare", "bare-saved"], ["ledger", "bare"], 1, 5).cells()
    assert plan.cells() != plan_of(["bare", "bare-saved"], ["ledger", "bare"], 3, 6).cells()
    assert len(set(plan.cells())) == len(plan.cells()) == 2 * 2 * (1 + len(EFFECTS) * len(WINDOWS) + len(BESIDES))


def test_other_cells_are_another_campaign_since_results_are_filed_by_a_cells_number(monkeypatch):
    before = plan_of(["bare"]).id
    monkeypatch.setattr(plans, "BESIDES", tuple(reversed(BESIDES)))
    assert plan_of(["bare"]).id != before


def test_what_was_measured_of_a_stack_does_not_depend_on_the_others():
    assert plan_of(["bare", "bare-saved"]).parts()[1].id == plan_of(["bare-saved"]).parts()[0].id


def test_another_version_is_another_campaign_in_another_queue(monkeypatch):
    before, queue = plan_of(["dbos"]), queue_of("dbos")
    monkeypatch.setattr(find, "version", lambda name: "99.0")
    assert plan_of(["dbos"]).id != before.id and queue_of("dbos") != queue
    assert plan_of(["dbos"]).versions["dbos"]["dbos"] == "99.0" and "dbos 99.0" in queue_of("dbos")


@pytest.mark.parametrize(
    "asked", [{"stacks": []}, {"policies": ["outbox"]}, {"repeat": 0}, {"stacks": ["oracle"]}, {"mode": "thread"}]
)
def test_a_plan_that_means_nothing_is_refused(asked):
    with pytest.raises(InvalidInput):
        plan_of(**{"stacks": ["bare"], **asked})
