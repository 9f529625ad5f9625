"""The timeline for a terminal: time runs downwards, a line an operation, four columns. Colour only helps."""

from __future__ import annotations

from io import StringIO
from shutil import get_terminal_size
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from labkit.timeline.operations import Operation
from labkit.timeline.timeline import Lane, Timeline

WIDTH = 100
MARKS = {
    "duplicate": "DUPLICATE",
    "question": "TWICE?",
    "again": "again",
    "lost": "LOST",
    "ambiguous": "AMBIGUOUS",
    "waiting": "waiting",
    "fine": "ok",
}
STYLES = {
    "duplicate": "bold red",
    "lost": "bold red",
    "ambiguous": "bold yellow",
    "waiting": "yellow",
    "question": "bold yellow",
    "again": "magenta",
    "fine": "green",
}


def table(timeline: Timeline) -> RenderableType:
    """The timeline as something that rich can print."""
    parts: list[RenderableType] = [Text(timeline.title, style="bold")]
    for lane in timeline.lanes:
        parts += [Text(), _lane(lane), _ending(lane)]
    if not timeline.lanes:
        parts.append(Text("no trace was kept of the processes of this run"))
    parts += [Text(), *map(_finding, ((each.mark, each.text) for each in timeline.findings))]
    return Group(*parts)


def plain(shown: Any) -> str:
    """A timeline, or what else rich can print, as text without colours: as wide as the terminal, at most `WIDTH`."""
    out = StringIO()
    width = min(get_terminal_size().columns, WIDTH)
    console = Console(file=out, width=width, color_system=None, legacy_windows=False, force_jupyter=False)
    console.print(shown)
    return out.getvalue().rstrip()


def _lane(lane: Lane) -> Table:
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", expand=True)
    for name, ratio in (
        (f"process {lane.number}", 20),
        ("call or commit", 24),
        ("our ledger", 14),
        ("provider: what happened", 32),
    ):
        shown.add_column(name, ratio=ratio, overflow="fold")
    group = ""
    for operation in lane.operations:
        step = operation.group if operation.group != group else ""
        group = operation.group
        killed = lane.killed_at in operation.taps
        shown.add_row(Text(step, style="bold"), _name(operation, killed), operation.ledger, _outside(operation))
    return shown


def _name(operation: Operation, killed: bool) -> Text:
    text = Text(operation.text)
    if killed:
        text = Text(f"✗ {operation.text}", style="bold red")
    return text


def _outside(operation: Operation) -> Text:
    text = Text("known key: nothing new" if operation.repeated else "")
    for number, each in enumerate(operation.outside):
        text.append("\n" if number else "")
        text.append(each.text, style="" if each.kind == "activity" else "bold")
        if each.mark:
            text.append(f" ({MARKS[each.mark]})", style=STYLES[each.mark])
    return text


def _ending(lane: Lane) -> RenderableType:
    if lane.killed_at:
        return Text(f"✗ {lane.ending}", style="bold red")
    return Text(f"• {lane.ending}", style="dim")


def _finding(found: tuple[str, str]) -> RenderableType:
    mark, text = found
    return Padding(Text.assemble((MARKS[mark], STYLES[mark]), " ", text), (0, 0))
