"""The central table is complete, agrees with theory, and notices when it does not."""

from __future__ import annotations

from itertools import product
from typing import Any

import msgspec
import pytest
from rich.console import Console

from labkit.cases.refund import refund
from labkit.check import theory
from labkit.check.cells import COUNTS
from labkit.check.theory import REPEATS, RULES
from labkit.check.windows import WINDOWS
from labkit.effects import policies
from labkit.effects.policies import POLICIES
from labkit.engines import ENGINES
from labkit.errors import InvalidInput
from labkit.matrix import MatrixReport, matrix, render
from labkit.model import CAPABILITIES
from labkit.sim import explore
from tests.workflows import chain

COMBINATIONS = list(product(ENGINES, POLICIES, CAPABILITIES))
CELL = {
    **dict.fromkeys(("engine", "policy", "provider", "window", "verdict"), str),
    **dict.fromkeys(("schedules", *COUNTS), int),
    "expected": dict,
}
REPORT = {"workflow": str, "crashes": int, "schedules": int, "seconds": float, "cells": list, "unexpected": int}


@pytest.fixture(scope="module")
def report() -> MatrixReport:
    """The whole table of the reference workflow, crash during recovery included."""
    return matrix(refund, crashes=2)


def test_theory_and_observation_agree_on_all_36_combinations(report):
    assert (report.unexpected, report.disagreements) == (0, [])
    for cell in report.cells:
        assert cell.expected == {name: getattr(cell, name) for name in COUNTS}
        assert cell.lost == 0


def test_every_combination_has_a_cell_for_every_window_and_every_schedule_is_in_one(report):
    assert len(COMBINATIONS) == 36
    places = [(cell.engine, cell.policy, cell.provider, cell.window) for cell in report.cells]
    assert places == [(*combination, window) for combination in COMBINATIONS for window in WINDOWS]
    assert sum(cell.schedules for cell in report.cells) == report.schedules
    assert all(cell.schedules > 0 for cell in report.cells)


def test_a_verdict_says_what_was_counted(report):
    for cell in report.cells:
        expected = "invalid" if cell.invariants else "unknown" if cell.ambiguous else "valid"
        assert cell.verdict == expected
        assert bool(cell.duplicated) == ("no duplicate effect" in cell.invariants)
        assert bool(cell.untracked) == ("no untracked effect" in cell.invariants)
    broken = {(cell.engine, cell.policy, cell.provider) for cell in report.cells if cell.invariants}
    assert {(found.engine, found.policy, found.provider) for found in report.counterexamples} == broken


@pytest.mark.parametrize("combination", [("snapshot", "bare", "dedup"), ("hybrid", "outbox", "neither")], ids="-".join)
def test_another_process_explores_the_same_as_this_one(report, combination):
    engine, policy, provider = combination
    here = explore(refund, engine=engine, policy=policy, provider=provider, crashes=2, **refund.example)
    assert here.cells == [cell for cell in report.cells if (cell.engine, cell.policy, cell.provider) == combination]


def test_the_json_has_the_promised_shape(report):
    found = msgspec.json.decode(msgspec.json.encode(report))
    assert {name: type(found[name]) for name in REPORT} == REPORT
    for cell in found["cells"]:
        assert {name: type(cell[name]) for name in CELL} == CELL
        assert cell["window"] in ("W1", "W2", "W3", "W4", "W5", "between")
        assert cell["expected"].keys() == set(COUNTS)


def one(**names: Any) -> MatrixReport:
    chosen = {"engines": ("snapshot",), "policies": ("ledger",), "providers": ("dedup",), **names}
    return matrix(refund, **chosen)


def test_a_wrong_theory_is_noticed_and_shown(monkeypatch):
    monkeypatch.setitem(RULES, ("ledger", "dedup"), {**theory.RULES["ledger", "dedup"], "W3": REPEATS})
    report = one()
    assert report.unexpected == 3  # W3 of each of the three effects
    for found in report.disagreements:
        assert (found["window"], found["differs"]) == ("W3", ["duplicated"])
        assert found["schedule"][0].endswith("/call:executed#1")
    assert all(cell.verdict == "valid" for cell in report.cells)
    console = Console(width=200)
    with console.capture() as shown:
        console.print(render(report))
    assert "3 unexpected" in shown.get()
    assert "ok!" in shown.get()  # observed ok, theory expected otherwise


def test_an_overcautious_recovery_breaks_no_invariant_and_is_noticed_all_the_same(monkeypatch):
    sound = policies.decide
    monkeypatch.setattr(
        policies, "decide", lambda found: "stop" if found.effect_status == "executing" else sound(found)
    )
    report = one()
    assert report.counterexamples == []
    assert report.unexpected > 0
    assert {name for found in report.disagreements for name in found["differs"]} == {"ambiguous"}


def test_a_workflow_that_no_other_process_can_import_is_explored_in_this_one():
    seen: list[tuple[int, int]] = []
    small = chain([["think"], ["post.send"]])
    report = matrix(
        small, engines=("hybrid", "snapshot"), policies=("ledger",), crashes=2, progress=lambda *at: seen.append(at)
    )
    assert report.unexpected == 0
    assert seen == [(done, 6) for done in range(1, 7)]


def test_names_are_taken_once_and_in_the_order_asked():
    report = one(providers=("as-declared", "neither", "as-declared"))
    places = [(cell.provider, cell.window) for cell in report.cells]
    assert places == list(product(("as-declared", "neither"), WINDOWS))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"engines": ("vapour",)}, "no engine 'vapour': expected one of snapshot, event-sourced, hybrid"),
        ({"policies": ("hope",)}, "no policy 'hope': expected one of bare, keyed, ledger, outbox"),
        ({"providers": ("magic",)}, "no provider 'magic': expected one of dedup, lookup, neither, as-declared"),
        ({"crashes": 4}, "crashes=4: expected 1, 2 or 3"),
        ({"inputs": {"case": 0}}, "there is no case"),
    ],
    ids=lambda value: "" if isinstance(value, str) else next(iter(value)),
)
def test_what_does_not_exist_is_refused_before_anything_is_explored(names, message):
    with pytest.raises(InvalidInput, match=message):
        one(**names)
