"""The script of a scenario: what it calls when nothing disturbs it, found by running it once on a journal."""

from __future__ import annotations

import msgspec

from labkit.check.script import Script, script_of
from labkit.check.theory import Theory
from labkit.engines import EventSourcedEngine
from labkit.errors import LabError
from labkit.own_engines import engine_class
from labkit.scenario import Scenario
from labkit.sim.lives import Simulation, first_life


def theory_of(scenario: Scenario) -> Theory:
    """What theory expects of crashes of `scenario`; it has nothing to say about providers that misbehave."""
    return Theory(script(scenario), journals=engine_class(scenario.engine).journals, policy=scenario.policy)


def script(scenario: Scenario) -> Script | None:
    """What a run of `scenario` calls; None when its provider misbehaves, or it does not run on a journal."""
    if scenario.faults:
        return None
    simulation = Simulation(msgspec.structs.replace(scenario, engine=EventSourcedEngine.name))
    try:
        first_life(simulation)
        _, events = simulation.runner.parts.engine.load(scenario.run_id)
    except LabError:
        return None
    return script_of(events, simulation.world.capability)
