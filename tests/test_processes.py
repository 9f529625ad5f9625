"""A simulated process is a real one: its clock, its chance and its memory are its own, as after a real kill."""

from __future__ import annotations

import msgspec
import pytest
from processes import stamped

from labkit.bench.job import spec_of
from labkit.bench.launch import DEFAULT_MODE
from labkit.bench.trial import open_sites
from labkit.scenario import Scenario
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
