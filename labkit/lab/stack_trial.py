"""What one trial of a framework showed, run here or recorded elsewhere, as a notebook shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from labkit.bench.launch import Ended
from labkit.cases.desk import EFFECTS, RECEIPTS
from labkit.check.evidence import executed_steps, step_of
from labkit.claims.measured import Row
from labkit.lab.view import Shown
from labkit.measure.job import Answer
from labkit.measure.trial import Cell, Result
from labkit.provider.protocol import Entry

if TYPE_CHECKING:
    import pandas as pd


class StackTrial(Shown):
    """What one trial showed: the process that `died`, what the next one `found`, what each said, the provider's ledger.

    `result` is the judgement that a campaign would count.
    """

    recorded = False

    def __init__(
        self,
        cell: Cell,
        died: Ended,
        found: Answer,
        answers: Sequence[Answer],
        entries: Sequence[Entry],
        before: int,
        result: Result,
    ) -> None:
        self.cell, self.died, self.found, self.answers, self.result = cell, died, found, answers, result
        self._entries, self._before = entries, before

    @property
    def status(self) -> str:
        """How the run stands at the end, as the framework says."""
        return self.result.status

    @property
    def duplicated(self) -> list[str]:
        """The effects that were executed more than once."""
        return self.result.duplicated

    @property
    def lost(self) -> list[str]:
        """The effects that are missing, although the run is over."""
        return self.result.lost

    @property
    def missing(self) -> list[str]:
        """The effects that a run which is not over has not executed yet."""
        return [effect for effect, count in self.executed.items() if not count and effect not in self.lost]

    @property
    def executed(self) -> dict[str, int]:
        """How often the provider executed each effect."""
        done = executed_steps(self._entries)
        return {effect: done[effect] for effect in EFFECTS}

    @property
    def ledger(self) -> pd.DataFrame:
        """The effects in the provider's ledger, and whether they came before the kill or after it."""
        import pandas as pd

        rows = [
            ("before" if number < self._before else "after", step_of(entry.subject), entry.key, entry.receipt_id)
            for number, entry in enumerate(self._entries)
            if entry.kind == "effect"
        ]
        return pd.DataFrame(rows, columns=["the kill", "effect", "key", "receipt_id"])

    def lines(self) -> list[tuple[str, str]]:
        """What is shown, in order."""
        found = [name for name in ("case", "verdict", "draft", "approved", *RECEIPTS) if name in self.found.facts]
        back = f"{', '.join(found) or 'no facts'}; next: {self.found.next_step or 'unknown'}"
        return [
            ("stack", _told(self.cell)),
            (
                "killed",
                f"process {self.died.pid} in {self.cell.window} of {self.cell.effect}, status {self.died.status}",
            ),
            ("came back", self.found.detail if self.found.status == "unsupported" else back),
            *(("it says", f"{answer.status} {answer.detail}".strip()[:300]) for answer in self.answers),
            ("the provider says", ", ".join(f"{effect} {count}x" for effect, count in self.executed.items())),
            *([("our ledger says", f"open: {', '.join(self.result.open)}")] if self.result.open else []),
            ("so", _verdict(self)),
        ]


class Recorded(Shown):
    """The row of `datasets/measured.csv` that stands in for a trial, where a server is missing."""

    recorded = True

    def __init__(self, cell: Cell, row: Row) -> None:
        self.cell, self.row = cell, row
        self.status = "failed" if row.failed else "stuck" if row.stuck else "completed"
        self.duplicated = _effects(row.effect, row.duplicated, row.other_duplicated)
        self.lost = _effects(row.effect, row.lost, row.other_lost)
        self.missing: list[str] = []  # a table of rates does not say

    def lines(self) -> list[tuple[str, str]]:
        """What is shown, in order."""
        counts = ("duplicated", "other_duplicated", "lost", "other_lost", "failed", "open")
        seen = ", ".join(f"{name} in {getattr(self.row, name)}" for name in counts)
        return [
            ("recorded, not run here", _told(self.cell)),
            ("killed", f"{self.row.trials} processes in {self.row.window} of {self.row.effect}"),
            ("seen", seen),
            ("so", _verdict(self)),
            ("with", self.row.versions),
        ]


def _verdict(trial: StackTrial | Recorded) -> str:
    seen = {"repeated": trial.duplicated, "lost": trial.lost, "not done yet": trial.missing}
    told = [f"{word}: {', '.join(steps)}" for word, steps in seen.items() if steps]
    calm = "each effect once" if trial.status == "completed" else "nothing repeated"
    return f"{trial.status}; {'; '.join(told) or calm}"


def _effects(own: str, count: int, others: int) -> list[str]:
    return [own] * bool(count) + ["another"] * bool(others)


def _told(cell: Cell) -> str:
    return f"{cell.stack}, policy {cell.policy}" + (f", {cell.situation}" if cell.situation != "crash" else "")
