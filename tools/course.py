"""Writes the table of the course into notebooks/README.md, from what each notebook says of itself.

A source in notebooks/src says it in its header, under `jupyter: labkit:`, as `minutes`, `prerequisites` and `outcome`.
Its name is its first heading, its place in the order is its file name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import jupytext

from tools.reading_order import between

FACTS = ("minutes", "prerequisites", "outcome")


@dataclass(frozen=True)
class Chapter:
    """What a notebook says of itself; `stem` is the name of its files, `number` the first part of that."""

    stem: str
    number: str
    title: str
    minutes: int
    prerequisites: str
    outcome: str


def chapter(source: Path) -> Chapter:
    """Return what the notebook of this source says of itself; raise ValueError when it does not say what is wanted."""
    book = jupytext.read(source)
    facts = book.metadata.get("labkit", {})
    heading = re.match(r"# (.+)", book.cells[0].source if book.cells else "")
    missing = [name for name in FACTS if not facts.get(name)]
    if missing or heading is None:
        raise ValueError(f"{source.name} lacks {', '.join(missing) or 'a heading in its first cell'}")
    known = {name: facts[name] for name in FACTS}
    return Chapter(stem=source.stem, number=source.stem.partition("_")[0], title=heading[1], **known)


def chapters(folder: Path) -> list[Chapter]:
    """Return the chapters of all notebooks that have a source in `folder`, in order."""
    return [chapter(source) for source in sorted(folder.glob("*.py"))]


def row(each: Chapter) -> str:
    """Return the line of one notebook, in Markdown."""
    link = f"[{each.title}]({each.stem}.ipynb)"
    return f"| {each.number} | {link} | {each.minutes} | {each.prerequisites} | {each.outcome} |"


def table(folder: Path) -> str:
    """Return the table of all notebooks that have a source in `folder`, in order."""
    head = ["| | notebook | minutes | you need | afterwards you can |", "| --- | --- | ---: | --- | --- |"]
    return "\n".join([*head, *map(row, chapters(folder))])


def generate(root: Path) -> dict[str, str | None]:
    """Return notebooks/README.md with its table renewed."""
    name = "notebooks/README.md"
    text = (root / name).read_text("utf-8") if (root / name).exists() else ""
    return {name: between(text, "course", table(root / "notebooks" / "src"))} if text else {}
