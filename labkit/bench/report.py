"""What a campaign found, as one record and as a table for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from labkit.bench.judging import Outcome
from labkit.bench.log import Settings
from labkit.check.cells import Cell, CellTable
from labkit.check.render import cell_table

if TYPE_CHECKING:
    from rich.table import Table


class BenchReport(msgspec.Struct, kw_only=True):
    """The table. `cells` count trials, `schedules` different ones; `unexpected` are trials where theory disagrees.

    `not_reached` and `errors` are trials that could not be judged, and are in no cell. `seconds` is the wall time of
    this session, and `trials_per_second` speaks of it alone; `trials` are all, earlier sessions included.
    """

    workflow: str
    crashes: int
    schedules: int
    seconds: float
    trials: int
    trials_per_second: float
    cells: list[Cell]
    unexpected: int
    not_reached: int
    errors: list[str]
    mode: str
    interrupted: bool
    disagreements: list[dict[str, Any]]

    @property
    def ok(self) -> bool:
        """True when every trial could be judged and theory expected what was seen."""
        return not (self.unexpected or self.not_reached or self.errors or self.interrupted)


def report_of(
    settings: Settings,
    workflow: str,
    outcomes: Sequence[Outcome],
    *,
    before: int,
    schedules: int,
    seconds: float,
    interrupted: bool,
) -> BenchReport:
    """The report on all `outcomes`, of which `before` were there before this session of so many `seconds`."""
    tables = {
        (engine, policy): CellTable(engine, policy, settings.provider)
        for engine in settings.engines
        for policy in settings.policies
    }
    for outcome in outcomes:
        if outcome.observed:
            table = tables[outcome.engine, outcome.policy]
            table.add(outcome.window, outcome.observed, outcome.expected, outcome.violations, tuple(outcome.schedule))
    return BenchReport(
        workflow=workflow,
        crashes=1,
        schedules=schedules,
        seconds=seconds,
        trials=len(outcomes),
        trials_per_second=(len(outcomes) - before) / seconds,
        cells=[cell for table in tables.values() for cell in table.finish()],
        unexpected=sum(table.unexpected for table in tables.values()),
        not_reached=sum(outcome.kind == "not reached" for outcome in outcomes),
        errors=[f"{outcome.id}: {outcome.detail}" for outcome in outcomes if outcome.kind == "error"],
        mode=settings.mode,
        interrupted=interrupted,
        disagreements=[found for table in tables.values() for found in table.disagreements],
    )


def render(report: BenchReport) -> Table:
    """The table for a terminal, one line an engine and policy."""
    title = (
        f"{report.workflow}: {report.trials:,} real kills ({report.mode}), {report.trials_per_second:.0f} a second, "
        f"{report.unexpected} unexpected, {report.not_reached} not reached, {len(report.errors)} errors"
    )
    return cell_table(report.cells, title, "trials")
