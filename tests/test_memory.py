"""What a process remembers dies with it, simulated or killed; the user's own process keeps what it had."""

from __future__ import annotations

from typing import ClassVar

import processes
import pytest
from processes import believing, looking, remembering
from test_processes import facts, scenario_of
from workflows import workflow

from labkit.bench.campaign import run as bench
from labkit.bench.job import spec_of
from labkit.bench.launch import DEFAULT_MODE
from labkit.bench.trial import open_sites
from labkit.engines.snapshot import SnapshotEngine
from labkit.errors import StepFailed
from labkit.lab.facade import Lab
from labkit.sim import explore
from labkit.sim.interleave import interleave
from labkit.sim.lives import Simulation, first_life
from labkit.sim.simulate import simulate
from labkit.taps import Tap

PLACES = 9  # in which `processes.look` counts


def test_a_step_that_needs_what_a_dead_process_remembered_fails_as_it_does_for_real():
    report = explore(remembering, engine="snapshot", policy="ledger")
    assert set(report.violations) == {"every recovery ends"}
    assert "KeyError" in str(report.counterexample)
    found = bench(engines=["snapshot"], policies=["ledger"], workflow=remembering)
    assert len(found.errors) == sum(report.violations.values())
    assert all("KeyError" in error for error in found.errors)
    assert processes.prices == {}


def test_a_set_in_memory_neither_hides_a_second_effect_nor_fakes_a_lost_one():
    report = explore(believing, engine="snapshot", policy="bare")
    assert "no duplicate effect" in report.violations and "no lost effect" not in report.violations
    found = bench(engines=["snapshot"], policies=["bare"], workflow=believing)
    assert {cell.window: cell.invariants for cell in found.cells} == {
        cell.window: cell.invariants for cell in report.cells
    }


def at(life, tap):
    """What survives a crash of this life at `tap`."""
    return life.images[life.image_of[[str(each) for each in life.taps].index(tap)]]


def test_each_process_starts_with_the_memory_of_a_fresh_import_wherever_it_is_kept():
    simulation = Simulation(scenario_of(looking))
    first = first_life(simulation)
    assert first.evidence.run.data.seen == [1] * PLACES + [2] * PLACES
    second = simulation.live(at(first, "look_once/commit:after#1"), keep_images=False)
    assert second.evidence.run.data.seen == [1] * PLACES + [1] * PLACES
    with simulation.memory.process():
        assert processes.look() == [1] * PLACES
    assert (processes.total, processes.Desk.count, processes.Desk.seen, processes.desk.calls) == (0, 0, [], 0)
    assert not hasattr(processes.look, "calls") and processes.defaulted.__defaults__ == ([],)
    assert repr(processes.numbers) == "count(1)" and processes.once() == []


@pytest.mark.parametrize("tap", ["look_once/commit:after#1", "look_twice/call:executed#1"])
def test_a_killed_process_and_a_simulated_one_remember_the_same(tap, tmp_path):
    scenario = scenario_of(looking)
    with open_sites(DEFAULT_MODE, spec_of(looking), tmp_path) as [site]:
        trial = site.trial(scenario, "t", [Tap.parse(tap)])
    assert facts(trial.evidence) == facts(simulate(scenario, [tap]).evidence)
    simulation = Simulation(scenario)
    image = at(first_life(simulation), tap)
    assert facts(trial.evidence) == facts(simulation.live(image, keep_images=False).evidence)


def test_what_runs_remembered_before_is_not_what_a_simulated_process_finds():
    with Lab(":memory:", engine="snapshot", workflows=[remembering]) as lab:
        assert lab.start(remembering).status == "completed"
        had = dict(processes.prices)
        report = explore(remembering, engine="snapshot")
        now = dict(processes.prices)
        processes.prices.clear()
        assert "KeyError" in str(report.counterexample)
        assert had == now == {"it": 100}, "the user's own process keeps what its runs remembered"


def test_the_memory_of_a_simulated_kill_dies_and_the_lab_that_resumes_starts_without():
    with Lab(":memory:", engine="snapshot") as lab:
        killed = lab.kill(remembering, at="learn/commit:after#1", real=False)
        assert processes.prices == {}
        with pytest.raises(StepFailed, match="KeyError"):
            lab.resume(killed.run_id)


def test_two_workers_do_not_share_a_memory():
    report = interleave(believing, engine="snapshot", policy="bare")
    assert any("no duplicate effect" in [v.invariant for v in played.violations] for played in report.broken)
    assert not any("no lost effect" in [v.invariant for v in played.violations] for played in report.broken)
    assert processes.paid == set()


def test_the_functions_of_a_notebook_remember_no_longer_than_a_process_and_other_names_stay():
    notebook = {"__name__": "__main__", "workflow": workflow, "other": [1]}
    exec(NOTEBOOK, notebook)
    report = explore(notebook["flow"], engine="snapshot")
    assert "KeyError" in str(report.counterexample)
    assert notebook["known"] == {} and notebook["other"] == [1]
    notebook["known"]["it"] = 5  # a cell of the user's: from now on a process starts with it
    assert explore(notebook["flow"], engine="snapshot").verdict == "valid"
    assert notebook["known"] == {"it": 5}


class Remembering(SnapshotEngine):
    """An engine that keeps its snapshots in memory, for all of its kind, and hands them out from there."""

    name = "remembering"
    kept: ClassVar[dict[str, bytes]] = {}

    def load(self, run_id):
        """What was loaded before is quicker."""
        run, tail = super().load(run_id)
        self.kept.setdefault(run_id, self.codec.encode(run))
        return self.codec.decode(self.kept[run_id]), tail


def test_what_an_engine_of_ones_own_remembers_dies_as_well():
    assert explore(believing, engine=Remembering, policy="ledger", provider="dedup").verdict == "valid"
    assert Remembering.kept == {}


NOTEBOOK = """
known = {}

def first(ctx, state):
    known["it"] = 1
    return "second"

def second(ctx, state):
    ctx.effect("bank", "pay", {"amount": 5 if known["it"] else 0})

flow = workflow(first, second)
"""
