"""The rows of the central table: engine x policy x provider x window of the first crash, counted by schedule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from labkit.check.evidence import Evidence
from labkit.check.invariants import Violation
from labkit.check.theory import Expected, foreseen
from labkit.check.verdict import left_for_a_person, verdict
from labkit.check.windows import WINDOWS

MOST_TOLD = 20
COUNTS = ("duplicated", "lost", "untracked", "ambiguous", "activities_repeated")


class Observed(NamedTuple):
    """What one schedule led to, in the same terms as `theory.Expected`."""

    duplicated: bool
    ambiguous: bool
    untracked: bool
    activities_repeated: int
    lost: bool

    @classmethod
    def of(cls, evidence: Evidence, untracked: frozenset[str], violations: Sequence[Violation]) -> Observed:
        """What the evidence at the end of a schedule says; `untracked` effects were so at one of its crashes."""
        return cls(
            duplicated=bool(evidence.duplicated()),
            ambiguous=evidence.status == "waiting_for_person",
            untracked=bool(untracked),
            activities_repeated=evidence.activities_repeated(),
            lost=any(violation.invariant == "no lost effect" for violation in violations),
        )


class Cell(msgspec.Struct, kw_only=True):
    """One row. The five counts and `unexpected` are schedules (activities_repeated: calls made again).

    `expected` is what theory says of the five, `unexpected` how many schedules it did not foresee, `untold` of how
    many it says nothing: the run went another way than without a crash, or the policy has no rules.
    Trials that could not be judged are no schedules: `errors` ended with an error, `not_reached` missed their tap.
    `unsettled` counts what is open about the combination as a whole, whatever crashes. `verdict` is `invalid` (an
    invariant was broken, a process failed), `unknown` (an effect was left for a person, something was not reached or is
    unsettled) or `valid`.
    """

    engine: str
    policy: str
    provider: str
    window: str
    schedules: int = 0
    duplicated: int = 0
    lost: int = 0
    untracked: int = 0
    ambiguous: int = 0
    activities_repeated: int = 0
    expected: dict[str, int] = msgspec.field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    unexpected: int = 0
    unsettled: int = 0
    untold: int = 0
    errors: int = 0
    not_reached: int = 0
    verdict: str = "valid"
    invariants: dict[str, int] = msgspec.field(default_factory=dict)

    @property
    def trials(self) -> int:
        """All that was counted, whether it could be judged or not."""
        return self.schedules + self.errors + self.not_reached


class CellTable:
    """Counts schedules of one engine, policy and provider into one cell a window."""

    def __init__(self, engine: str, policy: str, provider: str) -> None:
        self._cells = {
            window: Cell(engine=engine, policy=policy, provider=provider, window=window) for window in WINDOWS
        }
        self._broken: dict[str, Counter[str]] = {window: Counter() for window in WINDOWS}
        self.unexpected = 0
        self.disagreements: list[dict[str, Any]] = []

    def add(
        self,
        window: str,
        observed: Observed,
        expected: Expected | None,
        violations: Sequence[Violation],
        schedule: tuple[str, ...] = (),
    ) -> None:
        """Count one schedule whose first crash was in `window`; remember where theory and observation disagree."""
        cell = self._cells[window]
        cell.schedules += 1
        for name in COUNTS:
            setattr(cell, name, getattr(cell, name) + int(getattr(observed, name)))
        broken = list(dict.fromkeys(violation.invariant for violation in violations))
        self._broken[window].update(broken)
        if expected is None:
            cell.untold += 1
            return
        for name in COUNTS:
            cell.expected[name] += int(getattr(expected, name))
        differs = [name for name in COUNTS if getattr(observed, name) != getattr(expected, name)]
        differs += [name for name in broken if name not in foreseen(expected)]
        if differs:
            self.unexpected += 1
            cell.unexpected += 1
            if len(self.disagreements) < MOST_TOLD:
                names = {"engine": cell.engine, "policy": cell.policy, "provider": cell.provider, "window": window}
                told = [f"{violation.invariant}: {violation.text}" for violation in violations]
                self.disagreements.append({**names, "schedule": schedule, "differs": differs, "told": told})

    def not_judged(self, window: str, kind: str) -> None:
        """Count a trial that could not be judged, an `error` or `not reached`, whose first crash was in `window`."""
        cell = self._cells[window]
        cell.errors += kind == "error"
        cell.not_reached += kind == "not reached"

    def finish(self, wrong: Sequence[str] = (), unsettled: Sequence[str] = ()) -> list[Cell]:
        """The cells, in the order of the windows; a window without a schedule has no cell.

        `wrong` and `unsettled` are what is broken or open about all of them.
        """
        for window, cell in self._cells.items():
            cell.expected = {} if cell.untold == cell.schedules else cell.expected
            cell.invariants = dict(self._broken[window])
            cell.unsettled = len(unsettled)
            open_points = [*unsettled, *left_for_a_person(cell.ambiguous), *["not reached"] * cell.not_reached]
            cell.verdict = verdict([*cell.invariants, *wrong, *["error"] * cell.errors], open_points)
        return [cell for cell in self._cells.values() if cell.trials]
