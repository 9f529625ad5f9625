"""The same crashes for real: a process is killed at each tap of a schedule, in a folder of its own, and one resumes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from labkit.check.verdict import unsettled
from labkit.errors import LabError
from labkit.lab.facade import Lab
from labkit.scenario import Scenario
from labkit.scratch import scratch_folder
from labkit.sim.judging import told_without_log
from labkit.sim.lives import Life
from labkit.values import ValueLog
from labkit.widgets.rehearsal import Death, Rehearsal, Told, lost_steps
from labkit.widgets.scene import Scene


class Fate(NamedTuple):
    """What followed real kills, and how each killed process ended: (process id, exit status; negative: the signal)."""

    told: Told
    ended: list[tuple[int, int | None]]


def kill_all(scene: Scene, deaths: Mapping[str, Sequence[Death]], say: Callable[[str], None]) -> dict[str, Any]:
    """Do so on each engine of a scene; plain data of what followed, by engine, as `Scene.outcome` gives it."""
    fates = {}
    for engine, each in deaths.items():
        fate = kill_for_real(scene.rehearsals[engine], each, say)
        fates[engine] = {**scene.outcome(fate.told), "ended": fate.ended}
    return {"engines": fates, "pool": scene.pool.values}


def kill_for_real(rehearsal: Rehearsal, deaths: Sequence[Death], say: Callable[[str], None]) -> Fate:
    """SIGKILL one process at each of these taps, then resume in this one; `say` is told what is being done.

    Everything happens in a temporary folder, with a provider process of its own; nothing of it stays. Raises
    LabError when a process does not come to its tap.
    """
    scenario = rehearsal.scenario
    with (
        scratch_folder() as folder,
        _lab(Path(folder) / "lab.db", scenario) as lab,
    ):
        ended = []
        for process, at in deaths:
            tap = str(process.life.taps[at])
            say(f"{scenario.engine}: killing a process at {tap}")
            killed = lab.kill(scenario.workflow, at=tap, run_id=scenario.run_id, **scenario.inputs)
            ended.append((killed.pid, killed.exit_status))
        say(f"{scenario.engine}: resuming")
        return Fate(_resume(lab, rehearsal, deaths), ended)


def _lab(path: Path, scenario: Scenario) -> Lab:
    return Lab(
        path,
        engine=scenario.engine,
        policy=scenario.policy,
        provider=scenario.provider,
        drift=scenario.drift,
        faults=scenario.faults,
    )


def _resume(lab: Lab, rehearsal: Rehearsal, deaths: Sequence[Death]) -> Told:
    scenario, error = rehearsal.scenario, ""
    try:
        if lab.find(scenario.run_id):
            lab.resume(scenario.run_id, approve=True)
        else:
            lab.start(scenario.workflow, run_id=scenario.run_id, approve=True, **scenario.inputs)
    except LabError as failure:
        error = f"{type(failure).__name__}: {failure.what}"
    known = lab.evidence(scenario.run_id)
    violations, _ = rehearsal.judged(Life([], [], [], known, error, ValueLog()), deaths)
    told, untold = told_without_log(rehearsal, violations)
    lost = lost_steps(known, rehearsal.reference.evidence)
    return Told(lab.timeline(scenario.run_id), told, lost, error, [*unsettled(known), *untold])
