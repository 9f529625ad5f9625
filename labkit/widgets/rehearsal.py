"""One scenario, lived once without a crash and again from each tap: what the next process does, how it is judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from labkit.check.cells import Observed
from labkit.check.evidence import Evidence, step_of
from labkit.check.invariants import Violation
from labkit.check.verdict import unsettled, verdict
from labkit.check.windows import acknowledged, windows
from labkit.model import Run
from labkit.scenario import Scenario
from labkit.sim.explore import Judge
from labkit.sim.lives import Image, Life
from labkit.taps import listening
from labkit.timeline import Timeline
from labkit.timeline.trace import Passed, ProcessTrace


class Process(NamedTuple):
    """One simulated process that ran to its end: its life, and when it passed each tap.

    Here time is how much has happened outside: simulated clocks stand still.
    """

    life: Life
    passed: list[Passed]


Death = tuple[Process, int]  # a process, and the index of the tap at which it dies


class Told(NamedTuple):
    """What followed some crashes: all processes as a timeline, and the verdict on the last.

    `lost` are the steps whose effect the provider never executed although the run is completed; `error` is what
    ended the last process, empty when nothing did; `missing` says where the run stopped short of its
    end, and which effects may be one.
    """

    timeline: Timeline
    violations: list[Violation]
    lost: list[str]
    error: str = ""
    missing: Sequence[str] = ()

    @property
    def verdict(self) -> str:
        """`invalid`, `unknown` (see `missing`) or `valid`."""
        return verdict(self.violations, self.missing)


class Rehearsal(Judge):
    """Lives a scenario again after a crash or two. Raises InvalidInput or LabError for one that does not work."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self._times: list[str] = []
        with listening(self._hear):  # once more: to judge, it was lived more than once
            self.simulation.live(self.simulation.begin, keep_images=False)
        self.first = self._process(self.reference)

    def undisturbed(self) -> Told:
        """The run without any crash."""
        return self._tell([self._trace(self.first, 1)], self.reference, list(self.broken))

    def image(self, death: Death) -> int:
        """The number of what survives this death; deaths with the same number have the same successor."""
        process, at = death
        return process.life.image_of[at]

    def live(self, death: Death, *, keep_images: bool = False) -> Process:
        """The process that follows a death; with `keep_images` it can die, too."""
        with listening(self._hear):
            life = self.simulation.live(self._survivors(death), keep_images=keep_images)
        return self._process(life)

    def after(self, deaths: Sequence[Death]) -> Told:
        """What the last process does after these deaths, in order, and how all of it is judged."""
        last = self.live(deaths[-1])
        violations, _ = self.judged(last.life, deaths)
        traces = [self._trace(process, number, at) for number, (process, at) in enumerate(deaths, 1)]
        return self._tell([*traces, self._trace(last, len(traces) + 1)], last.life, violations)

    def judged(self, life: Life, deaths: Sequence[Death]) -> tuple[list[Violation], Observed]:
        """What a life after these deaths broke, and what was observed, by the rules of `labkit.sim.explore`."""
        images = [self._survivors(death) for death in deaths]
        kept = Counter(step for process, at in deaths for step in acknowledged(process.life.taps[: at + 1]))
        untracked = frozenset[str]().union(*(image.untracked for image in images))
        violations, observed = self.judge(life, images[-1], kept, untracked)
        return [*violations, *self.anyway()], observed

    def _hear(self, label: str, phase: str) -> None:
        self._times.append(moment(len(self.simulation.world.entries())))

    def _process(self, life: Life) -> Process:
        passed = [Passed(tap, at) for tap, at in zip(life.taps, self._times, strict=True)]
        self._times = []
        return Process(life, passed)

    def _survivors(self, death: Death) -> Image:
        process, _ = death
        return process.life.images[self.image(death)]

    def _trace(self, process: Process, number: int, died: int | None = None) -> ProcessTrace:
        life, passed = process
        trace = ProcessTrace(number=number, pid=0, passed=passed, status=life.evidence.status)
        if died is not None:
            trace.passed, trace.status = passed[: died + 1], "killed"
            trace.killed_at, trace.window = str(life.taps[died]), windows(life.taps)[died]
        return trace

    def _tell(self, traces: list[ProcessTrace], life: Life, violations: list[Violation]) -> Told:
        known, names = life.evidence, self.scenario
        run = known.run or replace(self._begun, status="unreadable", reason=known.unreadable)
        outside = [replace(entry, at=moment(entry.seq - 0.5)) for entry in known.outside]
        timeline = Timeline.of(run, traces, known.effects, outside, engine=names.engine, policy=names.policy)
        return Told(timeline, violations, lost_steps(known, self.reference.evidence), life.error, unsettled(known))

    @property
    def _begun(self) -> Run[Any]:
        assert self.reference.evidence.run is not None, "a life without an error has a run"
        return self.reference.evidence.run


def moment(happened: float) -> str:
    """The time at which this many things have happened outside, as text that sorts; halves lie between."""
    return f"{happened:012.1f}"


def lost_steps(known: Evidence, reference: Evidence) -> list[str]:
    """The steps of a completed run whose effect was executed in the reference run and not in this one."""
    if known.status != "completed":
        return []
    done = known.executed()
    return [step_of(subject) for subject in reference.executed() if not done[subject]]
