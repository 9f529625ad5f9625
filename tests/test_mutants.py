"""Every deliberately broken part is caught, named, and its counterexample breaks the same again."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from labkit.check.invariants import INVARIANTS, Violation
from labkit.sim.explore import Explorer
from labkit.sim.interleave import STALE, interleave, play
from labkit.sim.simulate import simulate
from tests.mutants import MUTANTS, Mutant

BY_CRASHES = [mutant for mutant in MUTANTS if mutant.workers == 1]
BY_TWO_WORKERS = [mutant for mutant in MUTANTS if mutant.workers == 2]


def names(violations: Iterable[Violation]) -> set[str]:
    return {violation.invariant for violation in violations}


def play_two(mutant: Mutant):
    scenario = mutant.scenario
    return interleave(
        scenario.workflow, engine=scenario.engine, policy=scenario.policy, provider=scenario.provider, **scenario.inputs
    )


@pytest.mark.parametrize("mutant", BY_CRASHES, ids=str)
def test_a_mutant_is_caught_by_crashes_and_its_counterexample_breaks_the_same_again(mutant, monkeypatch):
    sound = Explorer(mutant.scenario, mutant.crashes).report()
    assert sound.ok, f"without the mutant: {sound}\n{sound.counterexample}"
    mutant.install(monkeypatch)
    report = Explorer(mutant.scenario, mutant.crashes).report()
    assert not report.ok
    assert mutant.breaks in report.violations, str(report)
    found = report.counterexample
    assert found is not None
    assert mutant.breaks in names(found.violations), str(found)
    assert len(found.schedule) == mutant.crashes
    story = simulate(mutant.scenario, found.schedule)
    assert names(story.violations) == names(found.violations)


@pytest.mark.parametrize("name", ["model_asked_in_the_step_that_asks_the_person"])
def test_what_only_one_invariant_catches_breaks_no_other(name, monkeypatch):
    mutant = next(each for each in MUTANTS if each.name == name)
    mutant.install(monkeypatch)
    assert set(Explorer(mutant.scenario, mutant.crashes).report().violations) == {mutant.breaks}


@pytest.mark.parametrize("mutant", BY_TWO_WORKERS, ids=str)
def test_a_mutant_is_caught_by_two_workers_and_the_interleaving_breaks_the_same_again(mutant, monkeypatch):
    sound = play_two(mutant)
    assert sound.ok, f"without the mutant: {sound.broken[0]}"
    mutant.install(monkeypatch)
    report = play_two(mutant)
    assert not report.ok
    found = next(played for played in report.broken if mutant.breaks in names(played.violations))
    again, _ = play(mutant.scenario, found.first, found.second)
    assert again is not None
    assert names(again.violations) == names(found.violations)


def test_every_invariant_has_a_mutant_that_breaks_it_and_every_mutant_a_story():
    assert {mutant.breaks for mutant in MUTANTS} == {*INVARIANTS, STALE}
    assert all(mutant.install.__doc__ for mutant in MUTANTS)
