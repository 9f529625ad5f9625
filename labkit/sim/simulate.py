"""One schedule, told as a story: each process lives until its crash, the last one to its end.

Here the crash is raised at the tap, and at every later tap, so that a dying process can commit nothing more. The
parity test proves that this leaves the same rows as a real SIGKILL and as the images of `labkit.sim.lives`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import msgspec

from labkit.cases import known_case
from labkit.check.evidence import Evidence, gather, untracked
from labkit.check.invariants import Judged, Violation
from labkit.check.windows import acknowledged, windows
from labkit.clock import ManualClock, next_clock
from labkit.coordination.approvals import of_run as approvals_of
from labkit.errors import InvalidInput
from labkit.model import Run, Workflow
from labkit.provider.twin import Image as TwinImage
from labkit.provider.twin import Twin
from labkit.runner import Runner
from labkit.scenario import Scenario, drive
from labkit.sim.called import held_against
from labkit.sim.counterexample import Counterexample
from labkit.sim.lives import Image, Simulation
from labkit.store.runs import status_of
from labkit.store.sqlite import SqliteStore
from labkit.taps import Crash, Tap, TapCounter, listening
from labkit.values import Values

MOST_SHRUNK = 6


class Process(msgspec.Struct, kw_only=True):
    """One process of a story: the taps that it passed, the tap at which it died (None: it ended), and its error."""

    taps: list[Tap]
    crashed: Tap | None
    window: str = ""
    error: str = ""


class Story(msgspec.Struct, kw_only=True):
    """What happened under one schedule, process by process, and how it was judged."""

    processes: list[Process]
    evidence: Evidence
    violations: list[Violation]


class Dying:
    """Listens to taps and dies at `tap`: raises Crash there and at every tap after it.

    `died()` is called at that moment, before a `finally` block of the dying process can do anything.
    """

    def __init__(self, tap: Tap | None, died: Callable[[], None] = lambda: None) -> None:
        self.tap, self.dead, self._died = tap, False, died
        self.taps: list[Tap] = []
        self._count = TapCounter()

    def __call__(self, label: str, phase: str) -> None:
        if not self.dead:
            self.taps.append(self._count(label, phase))
            self.dead = self.taps[-1] == self.tap
            if self.dead:
                self._died()
        if self.dead:
            raise Crash(str(self.tap))


def simulate(scenario: Scenario, schedule: Sequence[str]) -> Story:
    """Play `schedule` (taps as text, in order) and judge the end.

    Raises InvalidInput for something that is not a tap, or a tap that its process never reached.
    """
    crashes = [Tap.parse(text) for text in schedule]
    store, world = SqliteStore(), scenario.twin(ManualClock())
    simulation = Simulation(scenario)
    reference, judge, broken = held_against(scenario, simulation)
    processes, unknown, values = list[Process](), set[str](), Values()
    at_crash, died = "none", ""
    for number, crash in enumerate([*crashes, None], 1):
        clock = next_clock(died)
        runner = scenario.runner(store, world, clock, process=number)  # nothing in memory outlives a process
        begin = Image(store.image(), world.image(), at_crash, frozenset(), number - 1, died)
        with simulation.alive(number, clock):
            process, run = _live(runner, scenario, world, crash)
        processes.append(process)
        durable = {each.request_id for each in approvals_of(store, scenario.run_id)}
        values = values.then(runner.parts.log).of(durable)
        if crash:
            process.window = _window(simulation, begin, crash)
            unknown |= untracked(runner.parts, scenario.tenant, scenario.run_id)
            at_crash, died = status_of(store, scenario.tenant, scenario.run_id), clock.now().isoformat()
    with simulation.alive(number + 1, next_clock(clock.now().isoformat())):
        evidence = gather(runner, scenario.run_id, run, reread=True)
    judged = Judged(
        evidence=evidence,
        reference=reference.evidence,
        at_crash=at_crash,
        acknowledged=Counter(step for process in processes[:-1] for step in acknowledged(process.taps)),
        again=Counter(acknowledged(processes[-1].taps)),
        commits=Counter(acknowledged(reference.taps)),
        untracked=frozenset(unknown),
        since=len(begin.world.entries),
    )
    violations = judge.judge(judged, values) if crashes else broken
    if processes[-1].error and crashes:
        violations.append(Violation("every recovery ends", processes[-1].error))
    return Story(processes=processes, evidence=evidence, violations=violations)


def replay(counterexample: Counterexample, workflow: Workflow[Any] | None = None) -> Story:
    """Play a counterexample again, on `workflow` or on the case of the lab that it names.

    A file never decides which module is imported: a workflow of your own has to be given. Raises InvalidInput.
    """
    scenario = Scenario(
        workflow=workflow or known_case(counterexample.workflow),
        inputs=counterexample.inputs,
        engine=counterexample.engine,
        policy=counterexample.policy,
        provider=counterexample.provider,
        drift=counterexample.drift,
        faults=counterexample.faults,
    )
    return simulate(scenario, counterexample.schedule)


def shortest(counterexample: Counterexample, workflow: Workflow[Any] | None = None) -> list[str]:
    """A shortest part of a counterexample's schedule that breaks one of the same invariants.

    What exploring finds is as short as it can be; a schedule of one's own need not be. Of more than `MOST_SHRUNK`
    crashes, where the parts are too many to be played, the whole schedule is returned. Raises InvalidInput.
    """
    broken = {violation.invariant for violation in replay(counterexample, workflow).violations}
    if not broken or len(counterexample.schedule) > MOST_SHRUNK:
        return counterexample.schedule

    def breaks(part: list[str]) -> bool:
        try:
            story = replay(msgspec.structs.replace(counterexample, schedule=part), workflow)
        except InvalidInput:  # a process that no longer dies early does not reach the next crash
            return False
        return any(violation.invariant in broken for violation in story.violations)

    return shrink(counterexample.schedule, breaks)


def shrink(schedule: Sequence[str], breaks: Callable[[list[str]], bool]) -> list[str]:
    """A shortest part of `schedule`, in its order, for which `breaks` still holds; `schedule` itself has to break."""
    for length in range(1, len(schedule)):
        for part in combinations(schedule, length):
            if breaks(list(part)):
                return list(part)
    return list(schedule)


def _live(runner: Runner, scenario: Scenario, world: Twin, crash: Tap | None) -> tuple[Process, Run[Any] | None]:
    survived: list[TwinImage] = []
    dying, error, run = Dying(crash, lambda: survived.append(world.image())), "", None
    with listening(dying):
        try:
            run = drive(runner, scenario.run_id, scenario.inputs, again=scenario.again)
        except Crash:
            pass
        except Exception as failure:  # whatever ends a recovery is a finding
            error = f"{type(failure).__name__}: {failure}"
    if survived:  # an activity has no tap that could stop a `finally` block from calling it
        world.restore(survived[0])
    elif crash:
        passed = ", ".join(str(tap) for tap in dying.taps) or "no tap at all"
        raise InvalidInput(f"the process ended before it reached {crash}; it passed {passed}{error and '; ' + error}")
    return Process(taps=dying.taps, crashed=crash, error=error), run


def _window(simulation: Simulation, begin: Image, crash: Tap) -> str:
    """The window of `crash` in a process that begins at `begin`: it depends on what would have come next."""
    taps = simulation.live(begin, keep_images=False).taps
    return windows(taps)[taps.index(crash)] if crash in taps else "between"
