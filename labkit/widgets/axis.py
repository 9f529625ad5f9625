"""The common axis of several lives: one column an operation, in the order of time, so that engines can be compared.

A step that is entered again later, as in a loop, gets new columns there. What a new process does again stands where
the dead one did it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from labkit.timeline.grid import merge
from labkit.timeline.operations import Operation


class Column(NamedTuple):
    """The nth operation of one name in the nth visit to a step."""

    group: str
    visit: int
    name: str
    nth: int


def columns(operations: Iterable[Operation], before: Sequence[Column] = ()) -> list[Column]:
    """The column of each operation of one process; `before` are those of the process that died and left it the run."""
    visits: dict[str, int] = {}
    for column in before:
        visits[column.group] = column.visit
    group = before[-1].group if before else ""
    seen: Counter[tuple[str, int, str]] = Counter()
    found = []
    for operation in operations:
        if operation.group != group:
            group = operation.group
            visits[group] = visits.get(group, 0) + 1
        place = (group, visits.setdefault(group, 1), operation.name)
        seen[place] += 1
        found.append(Column(*place, seen[place]))
    return found


def axis(lives: Iterable[Sequence[Column]]) -> list[Column]:
    """Every column of these lives once, each behind the one that it follows in its life."""
    visits: list[tuple[str, int]] = []
    inside: dict[tuple[str, int], list[Column]] = {}
    for life in lives:
        parts: dict[tuple[str, int], list[Column]] = {}
        for column in life:
            parts.setdefault((column.group, column.visit), []).append(column)
        if list(parts) != visits[: len(parts)]:  # long lives agree; comparing them is quick, merging is not
            merge(visits, parts)
        for visit, found in parts.items():
            known = inside.setdefault(visit, [])
            if found != known:
                merge(known, found)
    return [column for visit in visits for column in inside[visit]]
