"""Judging one life after crashes."""

from __future__ import annotations

from collections import Counter

from labkit.check.cells import Observed
from labkit.check.invariants import Judged, Violation
from labkit.check.windows import acknowledged
from labkit.scenario import Scenario
from labkit.sim.called import held_against
from labkit.sim.lives import Image, Life, Simulation


class Judge:
    """Tells what a life after crashes broke, by the `reference`: the life of the same scenario without any crash.

    `broken` is what that one breaks itself, in a scenario whose calls go wrong.

    Raises InvalidInput or LabError for a scenario that does not work by itself.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.simulation = Simulation(scenario)
        self.reference, self.oracle, self.broken = held_against(scenario, self.simulation)
        self._commits = Counter(acknowledged(self.reference.taps))

    def judge(
        self, life: Life, image: Image, kept: Counter[str], untracked: frozenset[str]
    ) -> tuple[list[Violation], Observed]:
        """The invariants that a life from `image` broke, and what was observed.

        `kept` says how often each step's commit was acknowledged before the crashes, `untracked` which effects only
        the provider knew of then.
        """
        judged = Judged(
            evidence=life.evidence,
            reference=self.reference.evidence,
            at_crash=image.status,
            acknowledged=kept,
            again=Counter(acknowledged(life.taps)),
            commits=self._commits,
            untracked=untracked,
        )
        violations = self.oracle.judge(judged, image.values.then(life.log))
        if life.error:
            violations.append(Violation("every recovery ends", life.error))
        return violations, Observed.of(life.evidence, untracked, violations)


def committed(life: Life, image_index: int) -> Counter[str]:
    """How often each step's commit was acknowledged by the time the image was left."""
    known = zip(life.taps, life.image_of, strict=True)
    return Counter(acknowledged(tap for tap, index in known if index <= image_index))
