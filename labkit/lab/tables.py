"""Plain tables for a terminal. Text is shown as it is, never as markup."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text


def table(columns: Iterable[str], rows: Iterable[Iterable[Any]], title: str = "") -> Table:
    """A table with a head; each cell is shown as `str` shows it."""
    made = Table(title=title or None, title_justify="left", box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in columns:
        made.add_column(name, overflow="fold")
    for row in rows:
        made.add_row(*(Text(str(cell)) for cell in row))
    return made


def listing(lines: Iterable[tuple[str, str]]) -> Table:
    """Names and texts, one pair a line."""
    made = Table.grid(padding=(0, 2))
    for name, text in lines:
        made.add_row(Text(name, style="bold"), Text(text))
    return made
