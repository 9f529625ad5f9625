"""A simulated process is a real one: its clock, its chance and its memory are its own, as after a real kill."""

from __future__ import annotations

import msgspec
import pytest
from processes import dated, promised, stamped

from labkit.bench.campaign import run as bench
from labkit.bench.job import spec_of
from labkit.bench.launch import DEFAULT_MODE
from labkit.bench.trial import open_sites
from labkit.scenario import Scenario
from labkit.sim import explore
from labkit.sim.lives import Simulation, first_life
from labkit.sim.simulate import simulate
from labkit.taps import Tap


def scenario_of(workflow, engine="snapshot", policy="bare", **options):
    return Scenario(workflow=workflow, inputs={}, engine=engine, policy=policy, **options)


def facts(evidence):
    """All that is known about a run, but for the times at which the provider was called."""
    outside = [msgspec.structs.replace(entry, at="") for entry in evidence.outside]
    return evidence.run and evidence.run.outcome(), evidence.effects, evidence.approvals, outside


def test_time_and_chance_are_others_in_each_process_and_the_same_when_it_is_lived_again():
    simulation = Simulation(scenario_of(stamped))
    first = first_life(simulation)
    dead = [index for index, tap in enumerate(first.taps) if str(tap) == "stamp/commit:before#1"]
    second, again = (simulation.live(first.images[first.image_of[dead[0]]], keep_images=True) for _ in range(2))
    assert first.evidence.run.data.seen[0] == "2026-01-05T09:00:00+00:00"
    assert second.evidence.run.data.seen[0] == "2026-01-05T10:00:00+00:00"
    assert first.evidence.run.data.seen[1] != second.evidence.run.data.seen[1]
    assert facts(second.evidence) == facts(again.evidence)
    third = simulation.live(second.images[second.image_of[-2]], keep_images=False)
    assert third.evidence.run.data.seen[0] == "2026-01-05T11:00:00+00:00"


@pytest.mark.parametrize("schedule", [["stamp/call:after#1"], ["run/begin:after#1", "stamp/call:executed#1"]])
def test_a_benched_process_has_the_clock_and_the_chance_of_a_simulated_one(engine, schedule, tmp_path):
    scenario = scenario_of(stamped, engine)
    with open_sites(DEFAULT_MODE, spec_of(stamped), tmp_path) as [site]:
        trial = site.trial(scenario, "t", [Tap.parse(text) for text in schedule])
    assert trial.evidence is not None, trial.lives[-1].output
    assert facts(trial.evidence) == facts(simulate(scenario, schedule).evidence)
    times = {entry.request["at"] for entry in trial.evidence.outside}
    assert len(times) == (2 if engine == "snapshot" else 1)  # the others recorded what the first process saw


def test_a_recovered_run_is_held_against_a_run_without_a_crash_that_saw_the_same_time_and_chance(engine):
    report = explore(dated, engine=engine, crashes=2)
    assert report.verdict == "valid", report


def test_time_in_a_request_is_refused_by_the_ledger_of_an_engine_that_forgets_it():
    assert explore(stamped, engine="snapshot").violations == {"every recovery ends": 9}
    for engine in ("event-sourced", "hybrid"):
        assert explore(stamped, engine=engine).verdict == "valid"


def test_the_bench_says_of_moving_time_what_exploring_says(engine):
    for workflow in (dated, stamped):
        found = bench(engines=[engine], policies=["ledger"], workflow=workflow)
        simulated = explore(workflow, engine=engine)
        assert len(found.errors) == sum(simulated.violations.values())
        assert {cell.window: cell.invariants for cell in found.cells if cell.invariants} == {}


def test_what_was_approved_is_what_is_done_also_where_the_question_does_not_say_it(engine):
    report = explore(promised, engine=engine, drift=True)
    if engine == "snapshot":  # after the yes the step asks its model again
        assert set(report.violations) == {"what was approved is what is done"}
        (violation,) = report.counterexample.violations
        assert 'bank.pay {"amount":100} was to be done when' in violation.text
        assert 'bank.pay {"amount":900} was done' in violation.text
        assert "the question 'shall I pay?' does not name amount" in violation.text
    else:
        assert report.verdict == "valid", report
    assert explore(promised, engine=engine).verdict == "valid"
