"""Judging one life after crashes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from labkit.check.cells import Observed
from labkit.check.faulted import RESULT
from labkit.check.invariants import Judged, Violation
from labkit.check.repeats import same_request
from labkit.check.windows import acknowledged
from labkit.scenario import Scenario
from labkit.sim.called import held_against
from labkit.sim.lives import Image, Life, Simulation

UNTOLD = "the run asks its clock or chance, so its result cannot be held against another run here: labkit explore can"


class Judge:
    """Tells what a life after crashes broke, by the `reference`: the life of the same scenario without any crash.

    `broken` is what that one breaks itself, `by_itself` the same where no call goes wrong. `questions` are effects
    that may be one, in any life that was judged.

    Raises InvalidInput or LabError for a scenario that does not work by itself.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.simulation = Simulation(scenario)
        self.reference, self.oracle, self.broken = held_against(scenario, self.simulation)
        self.by_itself = [] if scenario.faults else self.broken
        self.questions = dict.fromkeys(same_request(self.reference.evidence.outside))
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
            since=len(image.world.entries),
        )
        violations = self.oracle.judge(judged, image.values.then(life.log))
        if life.error:
            violations.append(Violation("every recovery ends", life.error))
        if self.by_itself:  # no crash is blamed for what happens without one
            violations = [each for each in violations if each not in self.by_itself]
        self.questions.update(dict.fromkeys(same_request(life.evidence.outside)))
        return violations, Observed.of(life.evidence, untracked, violations)

    def anyway(self) -> list[Violation]:
        """What the run breaks without any crash, and so whatever crash it has."""
        return [replace(each, text=f"without any crash: {each.text}") for each in self.by_itself]


def told_without_log(judge: Judge, violations: Sequence[Violation]) -> tuple[list[Violation], list[str]]:
    """Of `violations` those that hold for processes whose answers nobody wrote down, and what cannot be told of them.

    A run that asks its clock or chance ends differently in each process: there is nothing to hold its result against.
    """
    asked = any(place.kind in ("now", "random") for place in judge.reference.log.returned)
    told = [each for each in violations if not (asked and each.invariant == RESULT)]
    return told, [UNTOLD] if len(told) < len(violations) else []


def committed(life: Life, image_index: int) -> Counter[str]:
    """How often each step's commit was acknowledged by the time the image was left."""
    known = zip(life.taps, life.image_of, strict=True)
    return Counter(acknowledged(tap for tap, index in known if index <= image_index))
