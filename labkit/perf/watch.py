"""The stopwatch that every peer passes at the entry of each step.

Just before a peer opens its database, it makes as many raw commits as there will be steps, in the same process: a disk
that is slow for a while is slow for both, and nothing of the peer runs yet that could slow the yardstick.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from labkit.perf.raw import Raw


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
        self, done: int, steps: int, *, raw: Raw | None = None, stop: Callable[[Timed], NoReturn] = stop
    ) -> None:
        self._done, self._steps, self._raw, self._stop = done, steps, raw, stop
        self._begun = self._raw_seconds = 0.0

    def open(self) -> None:
        """The database is about to be opened; what was imported and made ready before is not counted."""
        begun = time.perf_counter()
        if self._raw:
            for _ in range(self._steps):
                self._raw.commit()
        self._begun = time.perf_counter()
        self._raw_seconds = self._begun - begun

    def enter(self, number: int) -> None:
        """Step `number` (from 0) begins. Neither the set-up before the first step nor replayed steps are counted."""
        now = time.perf_counter()
        if number == self._done + self._steps:
            steps = max(self._steps, 1)
            self._stop(Timed((now - self._begun) / steps, self._raw_seconds / steps))
        if number == self._done:
            self._begun = time.perf_counter()
