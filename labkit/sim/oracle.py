"""What a run without a crash does with the same answers: the run that a recovered one has to equal.

A model, the clock and chance may answer differently after a crash. Whether the end is right is then told by a
fault-free run that is fed with the answers which the recovered run went by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from threading import Lock

from labkit.check.evidence import Evidence
from labkit.check.invariants import Judged, Promise, Violation, judge, same_order
from labkit.check.windows import acknowledged
from labkit.coordination.approvals import YES
from labkit.scenario import Scenario
from labkit.sim.lives import Life, Simulation
from labkit.values import Asked, Returned, Values

Rules = Callable[[Judged], list[Violation]]
_alone = Lock()  # taps are heard by the whole process, and a bench judges in threads


class Oracle:
    """Fault-free runs of a scenario, each lived when it is asked for, and once.

    `usual` is what calls return in the run that a verdict is held against at first; `rules` are those of the verdict.
    """

    def __init__(
        self, scenario: Scenario, usual: Returned, simulation: Simulation | None = None, rules: Rules = judge
    ) -> None:
        self._scenario, self._usual, self._simulation, self._rules = scenario, usual, simulation, rules
        self._lived: dict[frozenset[object], Life] = {}

    def judge(self, judged: Judged, values: Values) -> list[Violation]:
        """What is broken, given what calls returned.

        A run that differs from `judged.reference` is held against the one that was given the same answers.
        """
        if values.asked:
            judged = judged._replace(promises=tuple(self.promises(judged.evidence, values)))
        violations = self._rules(judged)
        if not violations:
            return []
        same = self.fed(values.returned)
        if values.returned != self._usual and not same.error:
            judged = judged._replace(reference=same.evidence, commits=Counter(acknowledged(same.taps)))
            violations = self._rules(judged)
        if self._leaks():  # what a step reads past `ctx` is told, and may be in a request: no answers can be fed to it
            violations = self._rules(judged._replace(since=None))
        return violations

    def _leaks(self) -> bool:
        return self._simulation is not None and bool(self._simulation.leaks.found)

    def promises(self, evidence: Evidence, values: Values) -> Iterator[Promise]:
        """Each effect done after a yes that is another one than was to be done when the question was asked."""
        for approval in evidence.approvals:
            asked = values.asked.get(approval.request_id)
            if asked is None or approval.status not in YES:
                continue
            if asked.returned.items() <= values.returned.items():
                continue  # what was known then has not changed
            meant = self.fed({**values.returned, **asked.returned}).evidence.outside
            to_do = {entry.subject: entry for entry in meant if entry.kind == "effect"}
            for done in evidence.outside:
                planned = to_do.get(done.subject)
                if (
                    done.kind == "effect"
                    and _follows(asked, done.subject)
                    and not (planned and same_order(planned, done))
                ):
                    yield Promise(approval, planned, done)

    def fed(self, returned: Returned) -> Life:
        """The life without a crash in which calls return these values."""
        key = frozenset(returned.items())
        with _alone:
            if key not in self._lived:
                self._simulation = self._simulation or Simulation(self._scenario)
                self._lived[key] = self._simulation.live(self._simulation.begin, keep_images=False, fed=returned)
            return self._lived[key]


def _follows(asked: Asked, subject: str) -> bool:
    """True for the subject `run/position.step[.nth]` of an effect that comes after the question."""
    position, _, rest = subject.split("/", 1)[1].partition(".")
    _, _, nth = rest.partition(".")
    return (int(position), int(nth or 1)) > (asked.position, asked.effects)
