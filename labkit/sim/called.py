"""What a life is held against when the provider is told to misbehave: the fault-free run, or the run with the fault."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from msgspec.structs import replace

from labkit.check.alone import repeated_without_crash
from labkit.check.evidence import gather
from labkit.check.faulted import judge_alone, judge_crashed
from labkit.check.invariants import Judged, Violation
from labkit.check.windows import acknowledged
from labkit.scenario import Scenario
from labkit.sim.lives import Life, Simulation, first_life
from labkit.sim.oracle import Oracle
from labkit.values import Values


class Reference(NamedTuple):
    """A run without a crash, and the oracle for other answers."""

    life: Life
    oracle: Oracle

    def judge(self, judged: Judged, values: Values) -> list[Violation]:
        """What is broken, held against this run."""
        commits = Counter(acknowledged(self.life.taps))
        return self.oracle.judge(judged._replace(reference=self.life.evidence, commits=commits), values)


class Called:
    """Judges the lives of a scenario with faults; `own` is its life without a crash, and `broken` what that one broke.

    A run with the fault that is right by itself is as good an end as the fault-free one. Raises LabError when the
    workflow fails without any fault.
    """

    def __init__(self, scenario: Scenario, simulation: Simulation) -> None:
        plain = replace(scenario, faults=())
        calm = Simulation(plain)
        usual = first_life(calm)
        self.own = _life(simulation)
        self.usual = usual
        alone = Reference(usual, Oracle(plain, usual.log.returned, calm, judge_alone))
        self.broken = alone.judge(Judged(self.own.evidence, usual.evidence), Values().then(self.own.log))
        if self.own.error:
            self.broken.append(Violation("every recovery ends", self.own.error))
        self._references = [Reference(usual, Oracle(plain, usual.log.returned, calm, judge_crashed))]
        if not self.broken:
            met = Oracle(scenario, self.own.log.returned, simulation, judge_crashed)
            self._references.append(Reference(self.own, met))

    def judge(self, judged: Judged, values: Values) -> list[Violation]:
        """What a life after a crash broke, held against the reference that it is nearest to."""
        found = [reference.judge(judged, values) for reference in self._references]
        return min(found, key=len)


class Held(NamedTuple):
    """What the lives of a scenario are held against: its life without a crash, the judge, and what that life broke."""

    life: Life
    judge: Oracle | Called
    broken: list[Violation]


def held_against(scenario: Scenario, simulation: Simulation) -> Held:
    """What to hold lives of `scenario` against; raise LabError when it fails by itself."""
    if scenario.faults:
        called = Called(scenario, simulation)
        return Held(called.own, called, called.broken)
    life = first_life(simulation)
    return Held(life, Oracle(scenario, life.log.returned, simulation), repeated_without_crash(life.evidence))


def _life(simulation: Simulation) -> Life:
    life = simulation.live(simulation.begin, keep_images=True)
    run = life.evidence.run
    return life._replace(evidence=gather(simulation.runner, simulation.scenario.run_id, run, reread=True))
