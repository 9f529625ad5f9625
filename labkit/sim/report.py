"""What exploring one scenario found, and why the verdict is what it is."""

from __future__ import annotations

from typing import Any

import msgspec

from labkit.check.cells import Cell
from labkit.check.invariants import Violation
from labkit.check.verdict import broken_rules, left_for_a_person, verdict
from labkit.sim.calls import FaultCell, broken_by, left_by
from labkit.sim.counterexample import Counterexample


class Report(msgspec.Struct, kw_only=True):
    """What exploring one scenario found. `recoveries` counts the lives that were really run for the schedules.

    `missing` is what was not reached, with its place; `questions` are effects that may be one and the same;
    `without_crash` is what the run breaks when nothing crashes; `leaks` are what steps read past `ctx`, `fixed`
    those of them, and what else steps remember, that is the same in each simulated process and not in a real one;
    `call_faults` is what came of calls that went wrong, in schedules that `schedules` does not count.
    """

    workflow: str
    engine: str
    policy: str
    provider: str
    crashes: int
    schedules: int
    recoveries: int
    seconds: float
    cells: list[Cell]
    unexpected: int
    disagreements: list[dict[str, Any]]
    violations: dict[str, int]
    ambiguous: int
    counterexample: Counterexample | None
    missing: list[str] = []
    questions: list[str] = []
    without_crash: list[Violation] = []
    leaks: list[str] = []
    call_faults: list[FaultCell] = []
    fixed: list[str] = []

    @property
    def ok(self) -> bool:
        """True when schedules were explored, nothing was broken, and nothing is missing or open."""
        return self.schedules > 0 and not (self.broken() or self.unsettled())

    @property
    def verdict(self) -> str:
        """`invalid` when something was broken, `unknown` when something is left open or was not reached, or `valid`."""
        return verdict(self.broken(), self.left_open())

    def wrong(self) -> list[str]:
        """What is broken whatever crashes."""
        return [f"without any crash: {each.invariant}: {each.text}" for each in self.without_crash]

    def unsettled(self) -> list[str]:
        """What is open whatever crashes."""
        return [*self.missing, *self.questions, *(f"{each}, which no simulated process changes" for each in self.fixed)]

    def broken(self) -> list[str]:
        """What is broken, whatever crashes, by crashes, and by calls that go wrong."""
        return [*self.wrong(), *broken_rules(self.violations), *broken_by(self.call_faults)]

    def left_open(self) -> list[str]:
        """What nobody can say yet."""
        return [*left_for_a_person(self.ambiguous), *left_by(self.call_faults), *self.unsettled()]

    def reasons(self) -> list[str]:
        """Why the verdict is not `valid`, worst first; empty when it is."""
        return [*self.broken(), *self.left_open()]

    def __str__(self) -> str:
        why = "; ".join(self.reasons()) or "no invariant broken"
        return (
            f"{self.workflow} on {self.engine}, {self.policy}, {self.provider}: {self.verdict}; {why}; "
            f"all {self.schedules:,} schedules of {bound(self.crashes)}{self._and_calls()} in {self.seconds:.1f} s"
            f"{''.join(f'; {leak}' for leak in self.leaks if leak not in self.fixed)}"
        )

    def _and_calls(self) -> str:
        count = sum(cell.schedules for cell in self.call_faults)
        return f" and {count:,} of a call that goes wrong, with no crash or one," if count else ""


def bound(crashes: int) -> str:
    """How far was looked: `one crash`, `one or two crashes`, `one to three crashes`."""
    return ("one crash", "one or two crashes", "one to three crashes")[crashes - 1]
