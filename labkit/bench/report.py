"""What a campaign found, as one record and as a table for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from labkit.bench.judging import Outcome
from labkit.bench.log import Settings
from labkit.check.cells import Cell, CellTable
from labkit.check.render import cell_table
from labkit.check.verdict import Open, told

if TYPE_CHECKING:
    from rich.console import Group

MOST_TOLD = 5


class NotJudged(msgspec.Struct, kw_only=True):
    """A trial that tells nothing about recovery: the row and window that it belongs to, and what ended it.

    `kind` is `error` or `not reached`, `error` one line; `detail` is what the process printed last.
    """

    trial: str
    engine: str
    policy: str
    window: str
    schedule: list[str]
    kind: str
    error: str
    detail: str

    def __str__(self) -> str:
        at = ", then at ".join(self.schedule)
        return f"{self.engine}, {self.policy}, {self.window}, crash at {at}: {self.error}"


class BenchReport(msgspec.Struct, kw_only=True):
    """The table. `cells` count trials, `schedules` different ones; `unexpected` are trials where theory disagrees.

    Trials that could not be judged are counted apart in each cell: `not_reached` is their number, `errors` says of each
    that ended with an error where it belongs and what ended it, and `not_judged` has all of both, with what was
    printed. `open` is what is wrong or unsettled whatever crashes. `seconds` is the wall time of this session, and
    `trials_per_second` speaks of it alone; `trials` are all, earlier sessions included.
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
    not_judged: list[NotJudged] = []
    open: list[Open] = []

    @property
    def ok(self) -> bool:
        """True when every trial could be judged, theory expected what was seen, and nothing is open."""
        return not (self.unexpected or self.not_judged or self.interrupted or self.open)


def report_of(
    settings: Settings,
    workflow: str,
    outcomes: Sequence[Outcome],
    *,
    before: int,
    schedules: int,
    seconds: float,
    interrupted: bool,
    open: Sequence[Open] = (),
) -> BenchReport:
    """The report on all `outcomes`, of which `before` were there before this session of so many `seconds`.

    `open` is what is wrong or unsettled about an engine and policy whatever crashes.
    """
    tables = _tables(settings, outcomes)
    not_judged = [_not_judged(outcome) for outcome in outcomes if outcome.kind != "judged"]
    return BenchReport(
        workflow=workflow,
        crashes=1,
        schedules=schedules,
        seconds=seconds,
        trials=len(outcomes),
        trials_per_second=(len(outcomes) - before) / seconds,
        cells=[cell for names, table in tables.items() for cell in _finish(table, names, open)],
        unexpected=sum(table.unexpected for table in tables.values()),
        not_reached=sum(outcome.kind == "not reached" for outcome in outcomes),
        errors=[str(found) for found in not_judged if found.kind == "error"],
        mode=settings.mode,
        interrupted=interrupted,
        disagreements=[found for table in tables.values() for found in table.disagreements],
        not_judged=not_judged,
        open=list(open),
    )


def _tables(settings: Settings, outcomes: Sequence[Outcome]) -> dict[tuple[str, str], CellTable]:
    """What was counted, by engine and policy."""
    tables = {
        (engine, policy): CellTable(engine, policy, settings.provider)
        for engine in settings.engines
        for policy in settings.policies
    }
    for outcome in outcomes:
        if outcome.observed:
            table = tables[outcome.engine, outcome.policy]
            table.add(outcome.window, outcome.observed, outcome.expected, outcome.violations, tuple(outcome.schedule))
        else:
            tables[outcome.engine, outcome.policy].not_judged(outcome.window, outcome.kind)
    return tables


def _finish(table: CellTable, names: tuple[str, str], open: Sequence[Open]) -> list[Cell]:
    """The cells of an engine and policy, by what is open about them."""
    mine = [each for each in open if (each.engine, each.policy) == names]
    wrong, unsettled = ([each.reason for each in mine if each.wrong is kind] for kind in (True, False))
    return table.finish(wrong, unsettled)


def _not_judged(outcome: Outcome) -> NotJudged:
    names = ("engine", "policy", "window", "schedule", "kind", "detail")
    same = {name: getattr(outcome, name) for name in names}
    return NotJudged(trial=outcome.id, error=outcome.said, **same)


def render(report: BenchReport) -> Group:
    """The table for a terminal, one line an engine and policy; below it what could not be judged, and what is open."""
    from rich.console import Group
    from rich.text import Text  # not markup: what a process printed may look like it

    title = (
        f"{report.workflow}: {report.trials:,} real kills ({report.mode}), {report.trials_per_second:.0f} a second, "
        f"{report.unexpected} unexpected, {report.not_reached} not reached, {len(report.errors)} errors"
    )
    table = cell_table(report.cells, title, "trials")
    notes = [*map(str, report.not_judged[:MOST_TOLD]), *told(report.open)]
    if len(report.not_judged) > MOST_TOLD:
        notes.append(f"{len(report.not_judged) - MOST_TOLD} more could not be judged; --json has them all")
    return Group(table, *map(Text, notes))
