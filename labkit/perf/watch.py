"""The stopwatch that every peer passes at the entry of each step, and the text that its state holds."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NoReturn

WORDS = ("order", "paid", "twice", "parcel", "refund", "manager", "ticket", "agent", "answer", "policy", "case")
TEXTS = 8


class Stopped(BaseException):
    """Leaves a run between two steps, as a crash would. Not an Exception: no peer may handle it."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"{seconds} s")


def stop(seconds: float) -> NoReturn:
    """End a peer that runs in this process."""
    raise Stopped(seconds)


class Watch:
    """Times `steps` steps of a run that has `done` steps behind it, then calls `stop(seconds a step)`.

    With `steps=0` it times a recovery: the seconds from `open` to the entry of the first step that is not behind it.
    """

    def __init__(self, done: int, steps: int, stop: Callable[[float], NoReturn] = stop) -> None:
        self._done, self._steps, self._stop = done, steps, stop
        self._begun = 0.0

    def open(self) -> None:
        """The database is about to be opened; what was imported and made ready before is not counted."""
        self._begun = time.perf_counter()

    def enter(self, number: int) -> None:
        """Step `number` (from 0) begins. Neither the set-up before the first step nor replayed steps are counted."""
        now = time.perf_counter()
        if number == self._done + self._steps:
            self._stop((now - self._begun) / max(self._steps, 1))
        if number == self._done:
            self._begun = now


def texts(size: int) -> list[str]:
    """Some different texts of `size` characters, all ASCII, for a state that changes at each step."""
    words = " ".join(WORDS[(i * i + i // 7) % len(WORDS)] for i in range(size // 3 + 10 * TEXTS))
    return [words[7 * i : 7 * i + size] for i in range(TEXTS)]
