"""Where things stand in the picture: one column an operation, the same in every process, so that the eye compares."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import TypeVar

from labkit.taps import PHASES, Tap
from labkit.timeline.operations import OUTSIDE, Operation
from labkit.timeline.timeline import Lane, Timeline

T = TypeVar("T", bound=Hashable)
Key = tuple[str, str, int]

GUTTER, GAP = 88.0, 8.0  # pixels: lane names on the left, between steps
CALL, MARK, DOT, TAIL = 84.0, 8.0, 15.0, 20.0  # pixels: a call, beside the name of a mark, a dot, room at the end
LETTER, BOLD, FLAG = 6.7, 7.6, 110.0  # pixels: a letter of a name, one of a headline, the words at a crash


class Grid:
    """The x of each operation, and the extent of each step, in pixels."""

    def __init__(self, timeline: Timeline) -> None:
        made = [operation for lane in timeline.lanes for operation in lane.operations]
        self.effects = {operation.group for operation in made if operation.name in OUTSIDE}
        groups: list[str] = []
        for lane in timeline.lanes:
            merge(groups, [operation.group for operation in lane.operations])
        self.centre: dict[Key, float] = {}
        self.size: dict[Key, float] = {}
        self.extent: dict[str, tuple[float, float]] = {}
        left = GUTTER
        for group in groups:
            columns: list[Key] = []
            for lane in timeline.lanes:
                merge(columns, [key(operation) for operation in lane.operations if operation.group == group])
            names = [*words(group), *_names(made, group)]
            left = self._place(group, columns, names, left) + GAP
        headlines = [BOLD * len(lane.ending) for lane in timeline.lanes]
        flags = [FLAG + self.end(lane) for lane in timeline.lanes]
        self.width = max([left, *headlines, *flags])

    def _place(self, group: str, columns: list[Key], names: list[str], left: float) -> float:
        """Lay the columns of a step out from `left`; return where it ends."""
        if group in self.effects:
            sizes, tail = [CALL if name in OUTSIDE else MARK + LETTER * len(name) for _, name, _ in columns], TAIL
        else:
            size = max(DOT, (LETTER * max(map(len, names)) + 12) / len(columns))
            sizes, tail = [size] * len(columns), 0.0
        x = left
        for column, size in zip(columns, sizes, strict=True):
            self.centre[column], self.size[column] = x + size / 2, size
            x += size
        self.extent[group] = left, x + tail
        return x + tail

    def x(self, operation: Operation) -> float:
        """The middle of an operation's column."""
        return self.centre[key(operation)]

    def end(self, lane: Lane) -> float:
        """Where a process was killed; 0 when it was not."""
        killed = [operation for operation in lane.operations if lane.killed_at in operation.taps]
        return self.span(killed[0], lane.killed_at)[1] if killed else 0.0

    def span(self, operation: Operation, tap: str) -> tuple[float, float]:
        """From where to where a tap's share of its column goes; the whole step where operations are dots."""
        if operation.group not in self.effects:
            return self.extent[operation.group]
        left = self.place(operation, tap)
        return left, left + self.size[key(operation)] / len(_phases(operation))

    def place(self, operation: Operation, tap: str) -> float:
        """Where a tap's share of its column begins."""
        phases, wide = _phases(operation), self.size[key(operation)]
        return self.x(operation) - wide / 2 + wide / len(phases) * phases.index(Tap.parse(tap).phase)


def _phases(operation: Operation) -> tuple[str, ...]:
    return PHASES if operation.name in OUTSIDE else (PHASES[0], PHASES[2])


def _names(made: list[Operation], group: str) -> list[str]:
    """The words of the activities that are written below a step."""
    outside = [each for operation in made if operation.group == group for each in operation.outside]
    return [word for each in outside if each.kind == "activity" for word in activity(each.text)]


def activity(name: str) -> list[str]:
    """The name of an activity, on two lines where it is long."""
    return [name.replace("_", " ")] if len(name) < 10 else words(name)


def key(operation: Operation) -> Key:
    """What makes two operations of two processes the same column."""
    return operation.group, operation.name, operation.nth


def words(step: str) -> list[str]:
    """The name of a step on at most two lines."""
    first, _, rest = step.partition("_")
    return [first, rest.replace("_", " ")] if rest else [first]


def merge(order: list[T], items: Collection[T]) -> None:
    """Add to `order` what it does not hold yet, each item behind the one that it follows in `items`.

    What follows nothing comes first; when `order` holds none of the items, they all came later.
    """
    at = 0 if any(item in order for item in items) else len(order)
    for item in items:
        if item in order:
            at = order.index(item) + 1
        else:
            order.insert(at, item)
            at += 1
