"""Kill a process that works on a run, for real, at one tap; then say what is known."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

import msgspec

from labkit.bench.job import Job
from labkit.bench.launch import KILLED, last_words
from labkit.check.windows import windows
from labkit.effects import ledger
from labkit.errors import InvalidInput, LabError, UnknownRun
from labkit.lab.child import launch
from labkit.lab.foresee import choose_tap, foresee
from labkit.lab.machine import Machine
from labkit.lab.outside import ProcessOutside, world_name
from labkit.lab.view import Killed, RunView
from labkit.model import Workflow
from labkit.scenario import Scenario, drive
from labkit.scratch import scratch_folder
from labkit.sim.simulate import Dying
from labkit.taps import Crash, Tap, listening


def kill(
    machine: Machine,
    workflow: Workflow[Any],
    inputs: dict[str, Any],
    run_id: str,
    *,
    at: str,
    effect: str | None,
    real: bool,
) -> Killed:
    """Let a process start or resume the run and die at `at`. Raises InvalidInput, before anything is run, for a tap
    that the process would not pass, and for a real kill of a lab in memory, whose data would die with the process."""
    if real and not isinstance(machine.outside, ProcessOutside):
        raise InvalidInput(
            "a lab in memory cannot lose a process and keep its data",
            safe="nothing was run",
            next='name a file: --db lab.db; in Python: Lab("lab.db"), or kill(..., real=False) for a simulated crash',
        )
    scenario = _scenario(machine, workflow, inputs, run_id)
    seen = machine.outside.world(scenario).remembered() if scenario.faults else None
    taps = foresee(scenario, machine.image(), machine.outside.entries(workflow.name), seen)
    if not taps:
        raise _nothing_to_kill(machine, run_id)
    tap = choose_tap(taps, at, effect)
    window = windows(taps)[taps.index(tap)]
    pid, status = _really(machine, scenario, tap, window) if real else _simulated(machine, scenario, tap, window)
    died_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    return Killed(
        run_id=run_id,
        tap=str(tap),
        window=window,
        pid=pid,
        exit_status=status,
        died_at=died_at,
        run=_look(machine, run_id),
        effects=ledger.entries(machine.store, run_id),
        outside=[entry for entry in machine.outside.entries(workflow.name) if entry.subject.startswith(f"{run_id}/")],
    )


def _scenario(machine: Machine, workflow: Workflow[Any], inputs: dict[str, Any], run_id: str) -> Scenario:
    """The scenario of the next process: a run that is there keeps its engine and its policy."""
    new = machine.scenario(workflow, inputs, run_id)
    try:
        there = machine.scenario_of(machine.header(run_id))
    except UnknownRun:
        return new
    return msgspec.structs.replace(new, engine=there.engine, policy=there.policy)


def _nothing_to_kill(machine: Machine, run_id: str) -> InvalidInput:
    status = machine.header(run_id).status
    return InvalidInput(
        f"run {run_id} is {status}: a new process would do nothing, so there is nothing to kill",
        safe="nothing was run",
        next="kill another run: --case N or --run-id NAME; in Python: another input, or run_id=",
    )


def _really(machine: Machine, scenario: Scenario, tap: Tap, window: str) -> tuple[int, int]:
    machine.outside.world(scenario)
    with scratch_folder() as folder:
        job = Job.of(
            scenario,
            folder=folder,
            database=machine.path,
            number=1,
            url=machine.outside.url,
            world=world_name(scenario.workflow.name),
            tap=str(tap),
        )
        ended = launch(job, window)
    if ended.status != KILLED:
        raise LabError(
            f"process {ended.pid} was to die at {tap} and ended with status {ended.status}: {last_words(ended.output)}",
            safe=f"run {scenario.run_id} stands where that process left it",
            next="labkit history shows how far it came",
        )
    return ended.pid, ended.status


def _simulated(machine: Machine, scenario: Scenario, tap: Tap, window: str) -> tuple[int, None]:
    runner = scenario.runner(machine.store, machine.outside.world(scenario))
    try:
        recording = machine.recording(scenario.run_id, dies_at=str(tap), window=window)
        with scenario.memory().process(), recording, listening(Dying(tap)):
            drive(runner, scenario.run_id, scenario.inputs, again=scenario.again)
    except Crash:
        return os.getpid(), None
    raise LabError(f"the process did not pass {tap}", safe="the run went on to its end")


def _look(machine: Machine, run_id: str) -> RunView | None:
    try:
        return RunView(machine.reader(run_id).read(run_id), machine.header(run_id).engine)
    except UnknownRun:
        return None
