"""Plain tables, for a terminal and for a notebook. In a terminal text is shown as it is, never as markup; ids, keys and
times are never broken."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:  # a command that prints a table need not wait for pandas
    from pandas import DataFrame
    from pandas.io.formats.style import Styler


def table(columns: Iterable[str], rows: Iterable[Iterable[Any]], title: str = "") -> Table:
    """A table with a head; cells are shown by `str`. A column whose longest cell is one word is never wrapped."""
    made = Table(
        title=title or None,
        title_justify="left",
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    cells = [[str(cell) for cell in row] for row in rows]
    for at, name in enumerate(columns):
        longest = max((row[at] for row in cells), key=len, default="")
        made.add_column(name, overflow="fold", no_wrap=" " not in longest)
    for row in cells:
        made.add_row(*map(Text, row))
    return made


def listing(lines: Iterable[tuple[str, str]]) -> Table:
    """Names and texts, one pair a line."""
    made = Table.grid(padding=(0, 2))
    made.add_column(no_wrap=True)
    made.add_column(overflow="fold")
    for name, text in lines:
        made.add_row(Text(name, style="bold"), Text(text))
    return made


def show(frame: DataFrame) -> Styler:
    """A data frame of texts for a notebook, aligned to the left."""
    return frame.style.set_table_styles([{"selector": "th, td", "props": "text-align: left; vertical-align: top"}])
