"""The central table for people: one line an engine, policy and provider, one column a window."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from labkit.check.cells import Cell
from labkit.check.windows import WINDOWS

if TYPE_CHECKING:
    from rich.table import Table

LEGEND = (
    "ok: executed once. In so many of the {what}: x executed again, - never, ? left for a person, u only the provider "
    "knew of it until recovery, # another invariant was broken, e a process ended with an error. "
    "again: activity calls made again. "
    "! theory expected otherwise. ~ nothing was broken, but something was not reached or is open. --json has the counts"
)
WHOLE = {"valid": "ok", "unknown": "~", "invalid": "#"}  # of a cell in which nothing was counted
MARKS = (("errors", "e"), ("duplicated", "x"), ("lost", "-"), ("ambiguous", "?"), ("untracked", "u"))


def cell_table(cells: Sequence[Cell], title: str, what: str) -> Table:
    """The table for a terminal of 80 columns; `what` is counted: schedules or trials."""
    from rich.box import SIMPLE_HEAD  # here, because processes that are killed need no tables
    from rich.table import Table

    table = Table(title=title, caption=LEGEND.format(what=what), box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("engine", "policy", "provider", *WINDOWS, "again"):
        table.add_column(name, no_wrap=True, justify="right" if name == "again" else "left")
    before = ("", "")
    for (engine, policy, provider), group in groupby(cells, key=lambda c: (c.engine, c.policy, c.provider)):
        by_window = {cell.window: cell for cell in group}
        shown = (engine if engine != before[0] else "", policy if (engine, policy) != before else "")
        again = sum(cell.activities_repeated for cell in by_window.values())
        marks = [mark(by_window[window]) if window in by_window else "" for window in WINDOWS]
        table.add_row(*shown, provider, *marks, str(again), end_section=provider == "neither")
        before = (engine, policy)
    return table


def share(count: int, of: int) -> str:
    """A share in per cent that never rounds to nothing or to all."""
    return (
        "<1%" if count * 200 < of else ">99%" if of != count and count * 200 > of * 199 else f"{count * 100 / of:.0f}%"
    )


def mark(cell: Cell) -> str:
    """What a cell says in a few characters; see `LEGEND`."""
    counted = [(sign, getattr(cell, name)) for name, sign in MARKS] + [("#", max(cell.invariants.values(), default=0))]
    found = next((f"{sign}{share(count, cell.trials)}" for sign, count in counted if count), WHOLE[cell.verdict])
    return f"{found}!" if cell.unexpected else found
