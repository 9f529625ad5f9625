"""What a run costs on each engine, from measurements: straight lines through them, their sum, and where curves cross.

bytes a step = a + b x size; milliseconds to come back = c + d x steps; and as one sum, in seconds a step:
commits x commit + bytes / speed + crash rate x (seconds to come back + calls made again x call).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations, pairwise
from math import isfinite, log
from typing import Any, NamedTuple

import numpy as np

from labkit.errors import InvalidInput

COLUMNS = ("size", "steps", "bytes", "ms")
COMMITS = {"snapshot": 1, "event-sourced": 2, "hybrid": 2}  # a step with one call: a journal commits the call, too
AGAIN = {"snapshot": 1, "event-sourced": 0, "hybrid": 0}  # calls made again after a crash inside a step
LEAST = 1e-3  # bytes or milliseconds: what lines that dip below zero are held at
POINTS = 241  # places at which two curves are compared


class Setting(NamedTuple):
    """Size of the state (characters), steps done, crashes a step; and what is assumed of disk and model."""

    size: float
    steps: float
    rate: float
    commit_ms: float
    mb_per_s: float
    call_s: float


class Line(NamedTuple):
    """A straight line: `start + slope x`."""

    start: float
    slope: float

    def at(self, x: float) -> float:
        """The value at `x`, never below `LEAST`."""
        return max(self.start + self.slope * x, LEAST)


class Engine(NamedTuple):
    """One engine: bytes kept a step by size of the state, milliseconds to come back by steps; and the measurements."""

    name: str
    bytes: Line
    ms: Line
    measured: list[dict[str, float]]

    def beyond(self, over: str, x: float) -> bool:
        """Whether `x`, a size or number of steps, is outside of what was measured."""
        at = [row[over] for row in self.measured]
        return not min(at) <= x <= max(at)

    def cost(self, given: Setting) -> float:
        """Seconds a step."""
        written = COMMITS[self.name] * given.commit_ms / 1e3 + self.bytes.at(given.size) / (given.mb_per_s * 1e6)
        return written + given.rate * (self.ms.at(given.steps) / 1e3 + AGAIN[self.name] * given.call_s)


def fitted(found: Any) -> list[Engine]:
    """The engines in `found`, records or a DataFrame with `engine`, `size`, `steps`, `bytes` and `ms`.

    Raises InvalidInput for another engine, a missing or impossible number, and fewer than two sizes or lengths.
    """
    records: Iterable[Mapping[str, Any]] = found.to_dict("records") if hasattr(found, "to_dict") else found
    rows: dict[str, list[dict[str, float]]] = {}
    for record in records:
        numbers = {name: record.get(name) for name in COLUMNS}
        if record.get("engine") not in COMMITS or not all(_positive(number) for number in numbers.values()):
            raise InvalidInput(
                f"no measurement: {dict(record)}; expected an engine ({', '.join(COMMITS)}) with {', '.join(COLUMNS)}",
                next="CostCurves(found) as in the notebook on the hybrid engine",
            )
        rows.setdefault(str(record["engine"]), []).append({name: float(numbers[name] or 0) for name in COLUMNS})
    for name, measured in rows.items():
        if any(len({each[column] for each in measured}) < 2 for column in ("size", "steps")):
            raise InvalidInput(f"{name} was measured at one size or length: a line needs two of each")
    if not rows:
        raise InvalidInput("nothing was measured", next="CostCurves(found) as in the notebook on the hybrid engine")
    return [
        Engine(name, _line(rows[name], "size", "bytes"), _line(rows[name], "steps", "ms"), rows[name])
        for name in COMMITS
        if name in rows
    ]


def _positive(number: Any) -> bool:
    return isinstance(number, int | float | np.number) and isfinite(number) and bool(number >= 0)


def _line(rows: list[dict[str, float]], x: str, y: str) -> Line:
    """The line with the least relative errors; flat where what is measured at one `x` differs more than the ends do."""
    at, found = np.array([row[x] for row in rows]), np.maximum([row[y] for row in rows], LEAST)
    spread = max(float(np.ptp(found[at == each])) for each in set(at))
    slope, start = np.polyfit(at, found, 1, w=1 / found)
    if slope * np.ptp(at) <= spread:
        return Line(float(np.median(found)), 0.0)  # nothing falls with size or steps, and a rise in the noise is none
    if start < 0:  # nothing costs less than nothing: the best line through zero
        slope, start = float(np.sum(at / found) / np.sum((at / found) ** 2)), 0.0
    return Line(float(start), float(slope))


def crossings(
    engines: Iterable[Engine], value: Callable[[Engine, float], float], least: float, most: float
) -> list[tuple[str, str, float]]:
    """Where two curves cross between `least` and `most`: (the lower one before, the lower one after, x)."""
    found = []
    grid = [float(x) for x in np.geomspace(least, most, POINTS)]
    for one, other in combinations(engines, 2):
        gaps = [log(value(one, x)) - log(value(other, x)) for x in grid]
        for (x1, gap1), (x2, gap2) in pairwise(zip(grid, gaps, strict=True)):
            if gap1 * gap2 < 0:
                before, after = (one.name, other.name) if gap1 < 0 else (other.name, one.name)
                found.append((before, after, x1 * (x2 / x1) ** (gap1 / (gap1 - gap2))))
    return sorted(found, key=lambda each: each[2])
