"""A simulated crash and a real SIGKILL at the same tap leave the same rows, for every tap of the reference workflow."""

from __future__ import annotations

from contextlib import closing, contextmanager

import msgspec
import pytest

from labkit.bench.job import spec_of
from labkit.bench.launch import DEFAULT_MODE
from labkit.bench.trial import open_sites
from labkit.cases.refund import refund
from labkit.clock import ManualClock
from labkit.provider.ledger_file import read_ledger
from labkit.scenario import Scenario, drive
from labkit.sim.lives import Simulation, first_life
from labkit.sim.simulate import Dying
from labkit.store.sqlite import SqliteStore
from labkit.taps import Crash, Tap, listening

COMBINATIONS = [
    ("snapshot", "ledger"),
    ("event-sourced", "ledger"),
    ("hybrid", "ledger"),
    ("hybrid", "outbox"),
    ("hybrid", "bare"),
]


def scenario_of(engine, policy):
    return Scenario(workflow=refund, inputs={"case": 17}, engine=engine, policy=policy)


@contextmanager
def real_site(folder):
    with open_sites(DEFAULT_MODE, spec_of(refund), folder) as [site]:
        yield site


def rows(store):
    """Every table, as sorted rows."""
    tables = [name for (name,) in store.rows("SELECT name FROM sqlite_schema WHERE type='table' ORDER BY name")]
    return {table: sorted(store.rows(f"SELECT * FROM {table}"), key=repr) for table in tables}


def timeless(entries):
    """The provider's entries without the time of its clock."""
    return [msgspec.structs.replace(entry, at="") for entry in entries]


def left_by_sigkill(site, scenario, number, tap):
    """Rows and entries after a real process was killed at `tap`."""
    name = f"tap-{number}"
    with site.world(scenario, name) as client:
        died = site.launcher.run(site.job(scenario, name, 1, tap))
        assert died.reached, f"{tap}: status {died.status}, {died.output}"
        entries, torn = read_ledger(client.info.ledger)
        assert torn == b""
    with closing(SqliteStore(site.root / name / "lab.db")) as store:
        return rows(store), timeless(entries)


def left_by_simulation(scenario, tap):
    """Rows and entries after a crash was raised at `tap`, and at every tap after it, in this process."""
    store, twin = SqliteStore(), scenario.twin()
    runner = scenario.runner(store, twin, ManualClock())
    with pytest.raises(Crash), listening(Dying(tap)):
        drive(runner, scenario.run_id, scenario.inputs)
    return rows(store), timeless(twin.entries())


@pytest.mark.parametrize(("engine", "policy"), COMBINATIONS)
def test_a_simulated_crash_leaves_the_rows_of_a_real_one_at_every_tap(engine, policy, tmp_path):
    scenario = scenario_of(engine, policy)
    simulation = Simulation(scenario)
    life = first_life(simulation)
    assert len(life.taps) > 40
    with real_site(tmp_path) as site:
        for number, (tap, image) in enumerate(zip(life.taps, life.image_of, strict=True)):
            real = left_by_sigkill(site, scenario, number, tap)
            assert real == left_by_simulation(scenario, tap), f"raised at {tap}"
            simulation.store.restore(life.images[image].database)
            simulation.world.restore(life.images[image].world)
            assert real == (rows(simulation.store), timeless(simulation.world.entries())), f"image at {tap}"


def test_a_real_run_without_a_crash_passes_the_taps_of_a_simulated_one(tmp_path):
    with real_site(tmp_path) as site:
        for engine, policy in COMBINATIONS:
            scenario = scenario_of(engine, policy)
            passed = site.trial(scenario, f"{engine}-{policy}", ()).lives[0].passed
            assert passed == first_life(Simulation(scenario)).taps


def test_a_crash_one_tap_later_is_noticed():
    scenario = scenario_of("hybrid", "ledger")
    call = [Tap("send_mail/call", phase) for phase in ("before", "executed")]
    assert left_by_simulation(scenario, call[0]) != left_by_simulation(scenario, call[1])
