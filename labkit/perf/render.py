"""The report as tables for a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table

from labkit.perf.peers import LONG, RAW
from labkit.perf.report import Mark, Report, Row

UNJUDGED = "no verdict: next to nothing was measured, so that no number of this run counts; labkit perf judges"
VERDICTS = {True: "met", False: "NOT MET", None: "-"}


def render(report: Report) -> RenderableType:
    """The machine in one line, the table of peers, and the marks with whether each is met."""
    where = ", ".join(f"{name} {value}" for name, value in report.machine.items())
    judged = all(mark.met is not None for mark in report.marks)
    return Group(peers(report.rows), marks(report.marks), *([] if judged else [UNJUDGED]), where)


def peers(rows: list[Row]) -> Table:
    """One line a row; a peer that could not be measured says why."""
    table = Table(title="A step, side by side on one disk", title_justify="left")
    table.add_column("peer")
    for name in ("state\nbytes", "steps", "µs\na step", "raw\ncommits", "bytes\na step", "recovery\nms"):
        table.add_column(name, justify="right", no_wrap=True)
    for at, row in enumerate(rows):
        following = rows[at + 1].peer if at + 1 < len(rows) else ""
        ends = following in (RAW, LONG) and following != row.peer
        numbers = (
            number(row.microseconds, ".0f"),
            number(row.ratio, ".2f"),
            number(row.bytes_a_step, ",.0f"),
            number(row.recovery_milliseconds, ".2f"),
        )
        name = f"{row.peer}: not measured, {row.reason}" if row.reason else row.peer
        table.add_row(name, f"{row.state_bytes:,}", f"{row.steps:,}", *numbers, end_section=ends)
    return table


def marks(found: list[Mark]) -> Table:
    """One line a mark."""
    table = Table(title="Marks", title_justify="left")
    for name in ("mark", "value", "target", "met"):
        table.add_column(name, justify="left" if name == "mark" else "right")
    for mark in found:
        value = number(mark.value, ",.2f") if mark.value is None or mark.value < 100 else f"{mark.value:,.0f}"
        table.add_row(mark.name, value, mark.target, VERDICTS[mark.met])
    return table


def number(value: float | None, form: str) -> str:
    """The number in this form, or a dash where there is none."""
    return "-" if value is None else format(value, form)
