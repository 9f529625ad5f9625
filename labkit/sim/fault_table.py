"""Call faults as a table for people: one line an engine, policy and provider, one column a fault."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.table import Table

from labkit.check.render import share
from labkit.sim.calls import FaultCell, fault_name

LEGEND = (
    "The process lives and a call goes wrong: what came of it without a crash, in so many of the effects. ok: executed "
    "once, or refused and known. x executed again, - never, ? left for a person, u only the provider knows of it, # "
    "another invariant was broken. ! theory expected otherwise, with a crash besides or without. --json has every "
    "schedule"
)
MARKS = {"duplicated": "x", "lost": "-", "ambiguous": "?", "untracked": "u"}


def fault_table(cells: Sequence[FaultCell]) -> Table:
    """The table for a terminal of 80 columns; `cells` in the order of their combinations."""
    total = sum(cell.schedules for cell in cells)
    unexpected = sum(cell.unexpected for cell in cells)
    title = f"calls that go wrong: {total:,} schedules with no crash or one, {unexpected} unexpected"
    table = Table(title=title, caption=LEGEND, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    faults = list(dict.fromkeys(cell.fault for cell in cells))
    for name in ("engine", "policy", "provider"):
        table.add_column(name, no_wrap=True)
    for fault in faults:
        table.add_column(fault_name(fault).replace(" ", "\n").replace("-", "-\n"))
    before = ("", "")
    for (engine, policy, provider), group in groupby(cells, key=lambda c: (c.engine, c.policy, c.provider)):
        found = list(group)
        shown = (engine if engine != before[0] else "", policy if (engine, policy) != before else "")
        marks = [mark([cell for cell in found if cell.fault == fault]) for fault in faults]
        table.add_row(*shown, provider, *marks, end_section=provider == "neither")
        before = (engine, policy)
    return table


def mark(cells: Sequence[FaultCell]) -> str:
    """What one fault did at some effects, in a few characters; see `LEGEND`."""
    names = [*MARKS, *(name for cell in cells for name in cell.alone if name not in MARKS)]
    counts = [(MARKS.get(name, "#"), sum(name in cell.alone for cell in cells)) for name in names]
    found = next((f"{sign}{share(count, len(cells))}" for sign, count in counts if count), "ok")
    return f"{found}!" if any(cell.unexpected for cell in cells) else found
