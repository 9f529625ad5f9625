"""Every schedule of up to three crashes, on the real SQLite store.

A schedule is an ordered list of taps: the first process dies at the first, its successor at the second, and so on;
the last successor runs to its end. Lives that start from the same image are the same life, so each image is lived
once and every schedule that leads to it shares the result.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from labkit.arguments import checked
from labkit.check.alone import explained
from labkit.check.cells import MOST_TOLD, CellTable, Observed
from labkit.check.invariants import NO_STEPS, Violation
from labkit.check.theory import Crashed, Outlook
from labkit.check.verdict import missing, unreached
from labkit.errors import InvalidInput
from labkit.model import Workflow
from labkit.own_engines import engine_name
from labkit.provider.faults import Fault
from labkit.scenario import AS_DECLARED, Scenario, inputs_for
from labkit.sim.calls import Wanted, sweep, wanted
from labkit.sim.counterexample import Counterexample
from labkit.sim.judging import Judge, committed
from labkit.sim.lives import Image, Life
from labkit.sim.report import Report
from labkit.sim.script import theory_of

MAX_CRASHES = 3
MOST_MISSING = 20  # places that a report names
Progress = Callable[[int], None]


class Branch(NamedTuple):
    """All schedules that lead to one life, each with what theory makes of it, and what was acknowledged or untracked
    at their crashes."""

    schedules: list[tuple[tuple[Crashed, ...], Outlook]]
    acknowledged: Counter[str] = NO_STEPS
    untracked: frozenset[str] = frozenset()


@checked
def explore(
    workflow: Workflow[Any],
    *,
    engine: str | type[Any] = "hybrid",
    policy: str = "ledger",
    provider: str = AS_DECLARED,
    crashes: int = 1,
    drift: bool = False,
    faults: tuple[Fault, ...] = (),
    call_faults: Wanted = None,
    progress: Progress | None = None,
    **inputs: Any,
) -> Report:
    """Explore every schedule of one to `crashes` crashes of a workflow begun with `inputs`, or with its example.

    With `call_faults`, `all` or names of `CALL_FAULTS`, each of them is tried besides at each effect call of the run
    without a crash, alone and with every single crash.

    Raises InvalidInput for names, inputs or a number of crashes (1 to 3) that do not exist.
    """
    scenario = Scenario(
        workflow=workflow,
        inputs=inputs_for(workflow, inputs),
        engine=engine_name(engine),
        policy=policy,
        provider=provider,
        drift=drift,
        faults=faults,
    )
    asked = wanted(call_faults)
    explorer = Explorer(scenario, crashes, progress)
    report = explorer.report()
    begun = time.perf_counter()
    report.call_faults = sweep(scenario, explorer.reference.evidence, asked, progress)
    report.seconds += time.perf_counter() - begun
    found = [report.counterexample, *(cell.counterexample for cell in report.call_faults)]
    report.counterexample = min(filter(None, found), key=lambda each: len(each.schedule), default=None)
    return report


class Explorer(Judge):
    """Walks the tree of schedules of one scenario, depth first."""

    def __init__(self, scenario: Scenario, crashes: int, progress: Progress | None = None) -> None:
        if crashes not in range(1, MAX_CRASHES + 1):
            raise InvalidInput(f"crashes={crashes}: expected 1, 2 or 3", safe="nothing was run")
        super().__init__(scenario)
        self.crashes, self._progress = crashes, progress
        self.table = CellTable(scenario.engine, scenario.policy, scenario.provider)
        self.schedules, self.recoveries, self.ambiguous = 0, 0, 0
        self.unreached: dict[str, None] = {}
        self.violations: Counter[str] = Counter()
        self._lived: dict[bytes, Life] = {}
        self._broken: tuple[tuple[Crashed, ...], list[Violation]] | None = None
        self.theory = theory_of(scenario)

    def report(self) -> Report:
        """Explore everything and report."""
        begun = time.perf_counter()
        self._explore(self.reference, Branch([((), Outlook())]))
        scenario = self.scenario
        found = Report(
            workflow=scenario.workflow.name,
            engine=scenario.engine,
            policy=scenario.policy,
            provider=scenario.provider,
            crashes=self.crashes,
            schedules=self.schedules,
            recoveries=self.recoveries,
            seconds=time.perf_counter() - begun,
            cells=[],
            unexpected=self.table.unexpected,
            disagreements=self.table.disagreements,
            violations=dict(self.violations),
            ambiguous=self.ambiguous,
            counterexample=self._counterexample(),
            missing=[*missing(self.reference.evidence, self.reference.taps), *self.unreached][:MOST_MISSING],
            questions=list(self.questions)[:MOST_TOLD],
            without_crash=explained(self.by_itself, self.reference.evidence),
            leaks=self.simulation.leaks.told(),
            fixed=[*self.simulation.leaks.told(varied=False), *self.simulation.memory.unknown],
        )
        found.cells = self.table.finish(found.wrong(), found.unsettled())
        return found

    def _explore(self, life: Life, branch: Branch) -> None:
        depth, after_all = len(branch.schedules[0][0]) + 1, self.theory.after
        begun = branch.schedules[0][1].position  # all these schedules left the same rows
        for image_index, crashes in _by_image(life, self.theory.crashes(life.taps, begun)).items():
            image = life.images[image_index]
            after = Branch(
                [
                    ((*schedule, crash), after_all(outlook, crash.standing))
                    for schedule, outlook in branch.schedules
                    for crash in crashes
                ],
                branch.acknowledged + committed(life, image_index),
                branch.untracked | image.untracked,
            )
            successor = self._live(image, last=depth == self.crashes)
            self._note_unreached(successor)
            self._count(after, *self.judge(successor, image, after.acknowledged, after.untracked))
            if depth < self.crashes and successor.taps:
                self._explore(successor, after)

    def _live(self, image: Image, *, last: bool) -> Life:
        """The life that begins at `image`. Lives of the last depth, by far the most, are remembered by their image."""
        if not last:
            self.recoveries += 1
            return self.simulation.live(image, keep_images=True)
        key = image.identity()
        if key not in self._lived:
            self._lived[key] = self.simulation.live(image, keep_images=False)
            self.recoveries += 1
        return self._lived[key]

    def _count(self, branch: Branch, violations: list[Violation], observed: Observed) -> None:
        count = len(branch.schedules)
        self.schedules += count
        self.ambiguous += count * observed.ambiguous
        for name in dict.fromkeys(violation.invariant for violation in violations):
            self.violations[name] += count
        for crashes, outlook in branch.schedules:
            expected = self.theory.expected(outlook)
            self.table.add(crashes[0].window, observed, expected, violations, tuple(str(c.tap) for c in crashes))
        schedule = branch.schedules[0][0]
        if violations and (self._broken is None or len(schedule) < len(self._broken[0])):
            self._broken = schedule, violations
        if self._progress:
            self._progress(count)

    def _note_unreached(self, life: Life) -> None:
        """Remember where a life waits for its time, unless the run without a crash does so, too."""
        run, reference = life.evidence.run, self.reference.evidence
        if run and run.status == "waiting_for_timer" != reference.status:
            self.unreached |= dict.fromkeys(f"after a crash {reason}" for reason in unreached(run))

    def _counterexample(self) -> Counterexample | None:
        if self.by_itself:
            return Counterexample.of(self.scenario, [], explained(self.by_itself, self.reference.evidence))
        if self._broken is None:
            return None
        crashes, violations = self._broken
        return Counterexample.of(self.scenario, [str(crash.tap) for crash in crashes], violations)


def _by_image(life: Life, crashes: list[Crashed]) -> dict[int, list[Crashed]]:
    """The crashes of a life, grouped by the image that each leaves."""
    found: dict[int, list[Crashed]] = {}
    for crash, index in zip(crashes, life.image_of, strict=True):
        found.setdefault(index, []).append(crash)
    return found
