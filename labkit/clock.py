"""Time as the lab sees it: a clock is passed in, never read in passing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Protocol

from labkit.errors import InvalidInput


def parse_time(text: str) -> datetime:
    """The moment that ISO 8601 `text` names; raise InvalidInput when it is no time or has no offset from UTC."""
    try:
        found = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        found = None
    if found is None or found.tzinfo is None:
        raise InvalidInput(
            f"{text!r} is not a time with an offset, as 2026-01-05T09:00:00+00:00 is", safe="nothing was written"
        )
    return found


class Clock(Protocol):
    """Anything that tells the time."""

    def now(self) -> datetime:
        """The current time, in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The machine's time, in UTC."""
        return datetime.now(UTC)


START = "2026-01-05T09:00:00+00:00"
BETWEEN = 3600  # seconds from the end of one simulated process to the start of the next


class ManualClock:
    """A clock that stands still until it is moved: for tests, simulations and lessons."""

    def __init__(self, start: str = START) -> None:
        self._now = datetime.fromisoformat(start)

    def now(self) -> datetime:
        """The time that was set."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move the clock by `seconds`; a negative number turns it back."""
        self._now += timedelta(seconds=seconds)

    def advance_to(self, when: str) -> None:
        """Move the clock forward to the ISO 8601 time `when`; a time that has passed changes nothing.

        Raises InvalidInput for text that is no time.
        """
        self._now = max(self._now, parse_time(when).astimezone(UTC))


def next_clock(died: str = "") -> ManualClock:
    """The clock of a simulated process: the first starts at `START`, each other one an hour after the time `died`."""
    clock = ManualClock(died or START)
    if died:
        clock.advance(BETWEEN)
    return clock
