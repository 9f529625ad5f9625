"""A campaign's report and a stack's findings as tables for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from labkit.measure.report import StackCell, StackReport, wilson
from labkit.measure.trial import BESIDES, NO_KILL, WINDOWS
from labkit.stacks.conformance import Finding

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

LEGEND = (
    "once: each effect was executed once. twice n/m: in n of m trials the effect at which it was killed was executed "
    "again. missing: over, and not executed. other twice, other missing: one of the other effects was. Without a kill, "
    "any effect counts. person: left to a person. wrong: another step's result was used. failed: the run ended in an "
    "error. stuck: it came to no end."
)
SIGNS = {"pass": "✓ pass", "fail": "✗ fail", "unsupported": "- unsupported", "not run": "? not run"}
COSTS = (NO_KILL, "start ms", "paid again", "recovery ms, median", "95 % below", "kB")


def render(report: StackReport) -> Group:
    """The windows as one table, the other situations and the costs as others, and how it was measured."""
    from rich.console import Group

    crashes = [cell for cell in report.cells if cell.situation == "crash"]
    others = [cell for cell in report.cells if cell.situation in BESIDES]
    costs = [cell for cell in report.cells if cell.situation in (NO_KILL, "crash")]
    tables = (window_table(crashes), situation_table(others), cost_table(costs)) if report.cells else ()
    return Group(
        *(part for table in tables for part in (table, "")), *([LEGEND] if report.cells else []), *said(report)
    )


def said(report: StackReport) -> Iterator[str]:
    """How it was measured, and what could not be, a line each."""
    least, most = wilson(0, report.repeat).high, wilson(report.repeat, report.repeat).low
    machine = ", ".join(f"{name} {value}" for name, value in report.machine.items())
    yield (
        f"{report.trials:,} trials, with a real kill but for those of {NO_KILL!r}, {report.repeat} a cell: "
        f"0 of {report.repeat} means a rate below {least:.0%}, {report.repeat} of {report.repeat} one above {most:.0%} "
        "(Wilson, 95 %)"
    )
    yield f"seed {report.seed}, processes: {report.mode}, {machine}"
    yield "versions: " + ", ".join(f"{name} {version}" for name, version in report.versions.items())
    if report.servers:
        yield "servers: " + ", ".join(f"{name} from {source}" for name, source in report.servers.items())
    yield (
        f"{len(report.cells)} cells, {report.before} of them measured earlier; {report.seconds:.0f} s; "
        "cells by worker: " + ", ".join(f"{name} {count}" for name, count in report.workers.items())
    )
    yield from (f"not run: {name}: {why}" for name, why in report.not_run.items())
    for cell in report.cells:
        if cell.errors or cell.not_reached:
            yield f"{cell.errors + cell.not_reached} could not be judged: {_name(cell)}: {cell.example}"


def window_table(cells: Sequence[StackCell]) -> Table:
    """One line a policy and effect of each stack; one column a window."""

    def row(group: list[StackCell]) -> Iterator[str]:
        words = {cell.window: in_words(cell) for cell in group}
        yield f"{group[0].policy:6} {group[0].effect}"
        yield from (words.get(window, "") for window in WINDOWS)

    title = "killed in a window of an effect, resumed as documented"
    return _table(title, WINDOWS, cells, lambda cell: (cell.policy, cell.effect), row)


def situation_table(cells: Sequence[StackCell]) -> Table:
    """One line a policy of each stack; one column a situation."""
    names = list(dict.fromkeys(cell.situation for cell in cells))

    def row(group: list[StackCell]) -> Iterator[str]:
        words = {cell.situation: in_words(cell) for cell in group}
        yield group[0].policy
        yield from (words.get(name, "") for name in names)

    return _table("what else happened besides the crash", names, cells, lambda cell: cell.policy, row)


def cost_table(cells: Sequence[StackCell]) -> Table:
    """One line a policy of each stack: what came of it without a kill, and the time to its first step; then activity
    calls paid again in a trial, the time to recover and bytes on disk."""

    def row(group: list[StackCell]) -> Iterator[str]:
        judged = [cell for cell in group if cell.trials and cell.situation != NO_KILL]
        unharmed = [cell for cell in group if cell.situation == NO_KILL]
        yield group[0].policy
        yield " ".join(map(in_words, unharmed))
        yield span([cell.seconds_median * 1e3 for cell in unharmed if cell.seconds_median is not None])
        yield span([cell.activities_paid / cell.trials for cell in judged])
        yield span([cell.seconds_median * 1e3 for cell in judged if cell.seconds_median is not None])
        yield span([cell.seconds_95 * 1e3 for cell in judged if cell.seconds_95 is not None])
        yield span([cell.bytes / 1e3 for cell in judged if cell.bytes]) or "-"

    title = "without a kill, and what a recovery costs, from the lowest to the highest window"
    return _table(title, COSTS, cells, lambda cell: cell.policy, row)


def span(values: Sequence[float]) -> str:
    """The lowest and the highest of `values`, or the one that all of them are."""
    if not values:
        return ""
    ends = (f"{value:.3g}" if value < 100 else f"{value:.0f}" for value in (min(values), max(values)))
    return " to ".join(dict.fromkeys(ends))


def finding_table(title: str, findings: Mapping[str, Finding]) -> Table:
    """One line a check: how it came out, and what was seen."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for column in ("check", "outcome", "seen"):
        table.add_column(column)
    for name, finding in findings.items():
        table.add_row(name, SIGNS[finding.outcome], finding.seen)
    return table


def in_words(cell: StackCell) -> str:
    """What a cell says, worst first."""
    if not cell.trials:
        return "not judged"
    seen = {
        "missing": cell.lost.count,
        "other missing": cell.other_lost.count,
        "twice": cell.duplicated.count,
        "other twice": cell.other_duplicated.count,
        "wrong": cell.wrong.count,
        "person": cell.open.count,
        "failed": 0 if cell.open.count else cell.statuses.get("failed", 0),
        "stuck": cell.statuses.get("stuck", 0),
        "waiting": cell.statuses.get("waiting", 0),
    }
    found = [f"{word} {count}/{cell.trials}" for word, count in seen.items() if count]
    return ", ".join(found) or "once"


def _name(cell: StackCell) -> str:
    return f"{cell.stack} {cell.policy} {cell.situation} {cell.window} {cell.effect}".strip()


def _table(
    title: str,
    columns: Sequence[str],
    cells: Sequence[StackCell],
    key: Callable[[StackCell], Any],
    row: Callable[[list[StackCell]], Iterator[str]],
) -> Table:
    """A table that fits 80 columns: a line with each stack's name alone, then a `row` for its cells of each `key`."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("stack and policy", no_wrap=True)
    for column in columns:
        table.add_column(column)
    for stack, ours in groupby(cells, lambda cell: cell.stack):
        table.add_row(stack, style="bold")
        for _, group in groupby(ours, key):
            table.add_row(*row(list(group)))
    return table
