"""A campaign's report and a stack's findings as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from labkit.measure.report import StackCell, StackReport
from labkit.measure.trial import WINDOWS
from labkit.stacks.conformance import Finding

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

LEGEND = (
    "once: executed once. twice n/m: executed again in n of m trials. missing: over, and not executed. person: left to "
    "a person. wrong: another step's result was used. failed: the run ended in an error. stuck: it came to no end."
)
SIGNS = {"pass": "✓ pass", "fail": "✗ fail", "unsupported": "- unsupported", "not run": "? not run"}


def render(report: StackReport) -> Group:
    """The windows as one table, the other situations as another, and how it was measured."""
    from rich.console import Group

    crashes = [cell for cell in report.cells if cell.situation == "crash"]
    others = [cell for cell in report.cells if cell.situation != "crash"]
    lines = [
        f"{report.trials:,} real kills in {report.seconds:.0f} s, {report.repeat} a cell, seed {report.seed}, "
        f"processes: {report.mode}",
        "versions: " + ", ".join(f"{name} {version}" for name, version in report.versions.items()),
        *(f"not run: {name}: {why}" for name, why in report.not_run.items()),
        *(f"could not be judged: {_name(cell)}: {cell.example}" for cell in report.cells if cell.errors),
    ]
    return Group(window_table(crashes), situation_table(others), LEGEND, *lines)


def window_table(cells: Sequence[StackCell]) -> Table:
    """One line a stack, policy and effect; one column a window."""
    from rich.table import Table

    table = Table(title="killed in a window of an effect, resumed as documented", title_justify="left")
    for column in ("stack", "policy", "effect", *WINDOWS, "paid again", "recovery ms"):
        table.add_column(column, no_wrap=column in ("stack", "policy", "effect"))
    for (stack, policy, effect), group in groupby(cells, lambda cell: (cell.stack, cell.policy, cell.effect)):
        row = {cell.window: cell for cell in group}
        words = [in_words(row[window]) if window in row else "" for window in WINDOWS]
        table.add_row(stack, policy, effect, *words, _paid(row.values()), _milliseconds(row.values()))
    return table


def situation_table(cells: Sequence[StackCell]) -> Table:
    """One line a stack and policy; one column a situation."""
    from rich.table import Table

    names = list(dict.fromkeys(cell.situation for cell in cells))
    table = Table(title="what else happened besides the crash", title_justify="left")
    for column in ("stack", "policy", *names):
        table.add_column(column)
    for (stack, policy), group in groupby(cells, lambda cell: (cell.stack, cell.policy)):
        row = {cell.situation: in_words(cell) for cell in group}
        table.add_row(stack, policy, *(row.get(name, "") for name in names))
    return table


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
        "twice": cell.duplicated.count,
        "wrong": cell.wrong.count,
        "person": cell.open.count,
        "failed": 0 if cell.open.count else cell.statuses.get("failed", 0),
        "stuck": cell.statuses.get("stuck", 0),
    }
    found = [f"{word} {count}/{cell.trials}" for word, count in seen.items() if count]
    return ", ".join(found) or "once"


def _name(cell: StackCell) -> str:
    return f"{cell.stack} {cell.policy} {cell.situation} {cell.window} {cell.effect}"


def _paid(cells: Iterable[StackCell]) -> str:
    found = [cell.activities_paid / cell.trials for cell in cells if cell.trials]
    return f"{max(found):g}" if found else ""


def _milliseconds(cells: Iterable[StackCell]) -> str:
    found = [cell.seconds_median * 1e3 for cell in cells if cell.seconds_median is not None]
    return f"{min(found):.0f}-{max(found):.0f}" if found else ""
