"""Theory against made-up workflows: right about every crash on the lab's engines, and it notices broken parts."""

from __future__ import annotations

from itertools import islice

import pytest
from generated import Shape, made_up, shapes
from hypothesis import example, given, settings
from hypothesis import strategies as st

from labkit.effects.policies import POLICIES
from labkit.engines import ENGINES
from labkit.errors import LabError
from labkit.scenario import PROVIDERS
from labkit.sim import Report, explore
from tests.mutants import MUTANTS, Mutant

ABOUT = ("approvals", "effects", "engines", "outbox", "recovery", "runners")
ways = st.tuples(st.sampled_from(list(ENGINES)), st.sampled_from(list(POLICIES)), st.sampled_from(PROVIDERS))
FAILED_TWICE = Shape((("fail", "fail", "sleep"), ("random", "think"), ("post.send",)), back=2)


def explored(shape: Shape, engine: str, policy: str, provider: str, crashes: int = 1) -> Report:
    """Every schedule of a shape; the shape is told when a test fails."""
    print(
        f"explore({shape}.workflow(), engine={engine!r}, policy={policy!r}, provider={provider!r}, crashes={crashes})"
    )
    return explore(shape.workflow(), engine=engine, policy=policy, provider=provider, crashes=crashes)


def agrees(report: Report) -> None:
    """Theory expected every schedule of this report."""
    assert report.unexpected == 0, report.disagreements
    assert not any(cell.untold for cell in report.cells)


@given(shape=shapes(), way=ways)
@example(FAILED_TWICE, ("event-sourced", "keyed", "dedup"))
@example(Shape((("think", "bank.pay"),)), ("snapshot", "ledger", "as-declared"))
@example(Shape((("bank.pay", "post.send"),)), ("snapshot", "ledger", "as-declared"))
@example(Shape((("bank.pay", "nap", "think", "ask"), ("sleep", "post.send")), back=0), ("snapshot", "bare", "neither"))
@settings(max_examples=200)
def test_theory_is_right_about_one_crash_of_any_workflow(shape, way):
    agrees(explored(shape, *way))


@given(shape=shapes(steps=2, calls=3), way=ways)
@example(Shape((("think", "post.send"),)), ("event-sourced", "outbox", "neither"))
@settings(max_examples=20)
def test_theory_is_right_about_two_crashes_of_any_small_workflow(shape, way):
    agrees(explored(shape, *way, crashes=2))


@given(shape=shapes(steps=1, calls=2), way=ways)
@settings(max_examples=3)
def test_theory_is_right_about_three_crashes_of_one_step(shape, way):
    agrees(explored(shape, *way, crashes=3))


BROKEN = [each for each in MUTANTS if each.install.__module__.rpartition(".")[2] in ABOUT and not each.scenario.faults]


@pytest.mark.parametrize("mutant", [each for each in BROKEN if each.workers == 1], ids=str)
def test_a_broken_engine_policy_or_runner_is_noticed_on_made_up_workflows(mutant, monkeypatch):
    mutant.install(monkeypatch)
    small = {"steps": 2, "calls": 3} if mutant.crashes > 1 else {}
    assert any(noticed(mutant, shape) for shape in islice(made_up(17, **small), 30))


def noticed(mutant: Mutant, shape: Shape) -> bool:
    """Whether exploring a shape shows that something is broken."""
    ways = mutant.scenario
    try:
        report = explored(shape, ways.engine, ways.policy, ways.provider, mutant.crashes)
    except LabError:  # it fails without any crash
        return True
    return report.unexpected > 0 or mutant.breaks in report.violations
