"""Where a crash can stop along a run on several engines: each point once, with each engine's own tap of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from labkit.lab.crash_points import CrashPoint, crash_points, find, points
from labkit.taps import Tap


class Stops(NamedTuple):
    """The taps of one process of each engine, and for each tap where it stands on the common axis."""

    taps: Mapping[str, Sequence[Tap]]
    slots: Mapping[str, Sequence[int]]

    def crash_points(self) -> dict[CrashPoint, dict[str, int]]:
        """Every point in order, with the index of its tap on each engine that has it."""
        found: dict[CrashPoint, dict[str, int]] = {}
        for engine, taps in self.taps.items():
            for point, at in crash_points(taps).items():
                found.setdefault(point, {})[engine] = at

        def first(point: CrashPoint) -> int:
            return min(self.slots[engine][at] for engine, at in found[point].items())

        return {point: found[point] for point in sorted(found, key=first)}

    def data(self) -> dict[str, Any]:
        """`stops`: name, words and the tap of each engine, null where it has none; `inside`: the stop of a tap by name.

        A tap inside a window of an effect that is not the one at which a process dies for it is no stop of its own.
        """
        found = self.crash_points()
        numbers = {str(point): number for number, point in enumerate(found)}
        inside = {
            str(tap): numbers[str(point)]
            for taps in self.taps.values()
            for tap, point in zip(taps, points(taps), strict=True)
            if point.effect
        }
        rows = [[str(point), point.words, [at.get(name) for name in self.taps]] for point, at in found.items()]
        return {"stops": rows, "inside": inside}

    def at(self, point: CrashPoint) -> dict[str, int]:
        """The index of the tap at which each engine dies for this point; one that has no such point is left out."""
        found = {engine: find(taps, point) for engine, taps in self.taps.items()}
        return {engine: at for engine, at in found.items() if at is not None}

    def around(self, point: CrashPoint) -> CrashPoint:
        """The window of an effect that a tap stands in; any other point as it is."""
        for taps in self.taps.values():
            if not point.effect and (at := find(taps, point)) is not None:
                return points(taps)[at]
        return point

    def named(self, point: CrashPoint) -> CrashPoint:
        """The window that a tap stands in, if every engine dies at this very tap for it; else the point as it is."""
        window = self.around(point)
        return window if self.at(window) == self.at(point) else point
