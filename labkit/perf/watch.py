"""The stopwatch that every peer passes at the entry of each step.

At each entry it also makes one raw commit, in a database of its own, and times it apart. So each step stands beside a
raw commit of the same moment: a disk whose speed changes from second to second changes both.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from labkit.perf.raw import Yardstick


class Timed(NamedTuple):
    """Seconds a step (or of a recovery), and seconds a raw commit (0 for a recovery)."""

    step: float
    raw: float = 0.0


class Stopped(BaseException):
    """Leaves a run between two steps, as a crash would. Not an Exception: no peer may handle it."""

    def __init__(self, timed: Timed) -> None:
        self.timed = timed
        super().__init__(str(timed))


def stop(timed: Timed) -> NoReturn:
    """End a peer that runs in this process."""
    raise Stopped(timed)


class Watch:
    """Times `steps` steps of a run that has `done` steps behind it, then calls `stop(timed)`.

    With `steps=0` it times a recovery: from `open` to the entry of the first step that is not behind the run.
    """

    def __init__(
        self, done: int, steps: int, *, raw: Yardstick | None = None, stop: Callable[[Timed], NoReturn] = stop
    ) -> None:
        self._done, self._steps, self._raw, self._stop = done, steps, raw, stop
        self._begun = self._step_seconds = self._raw_seconds = 0.0

    def open(self) -> None:
        """The database is about to be opened; what was imported and made ready before is not counted."""
        self._begun = time.perf_counter()

    def enter(self, number: int) -> None:
        """Step `number` (from 0) begins. Neither the set-up before the first step nor replayed steps are counted."""
        now = time.perf_counter()
        if number < self._done:
            return
        if number > self._done or not self._steps:
            self._step_seconds += now - self._begun
        if number == self._done + self._steps:
            steps = max(self._steps, 1)
            self._stop(Timed(self._step_seconds / steps, self._raw_seconds / steps))
        if self._raw:
            self._raw_seconds += self._raw.commit()
        self._begun = time.perf_counter()
