"""What every job of a real process has, whatever it runs: where it dies, where it writes, how long it may take."""

from __future__ import annotations

import faulthandler
import signal
from pathlib import Path

import msgspec

PATIENCE = 60.0
"""Seconds after which a child that has not ended gives up, with a traceback of where it stood."""
GRACE = 5.0
"""Seconds more after which its parent ends it: code may ignore an alarm."""


ALARM = getattr(signal, "SIGALRM", None)
GAVE_UP = -int(ALARM) if ALARM else None
"""Exit status of a process whose patience had run out; None where it looks like any other failure."""


def expect_alarm() -> None:
    """Let this process, and those that it forks, say where they stand when `be_patient` ends them."""
    if ALARM:
        faulthandler.register(ALARM, chain=True)  # chain: then the alarm ends it


def be_patient(seconds: float) -> None:
    """End this process, which expects the alarm, after so many seconds, with a traceback of where it stood."""
    if ALARM:
        signal.setitimer(signal.ITIMER_REAL, seconds)
    else:
        faulthandler.dump_traceback_later(seconds, exit=True)


class Errand(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Process `number` (from 1) of those that work on `folder`.

    `tap` is empty when it is to live; `patience` is in seconds.
    """

    folder: str
    number: int
    tap: str = ""
    patience: float = PATIENCE

    @property
    def trace(self) -> Path:
        """The file that holds the taps that the process passed."""
        return Path(self.folder) / f"taps-{self.number}.txt"

    @property
    def output(self) -> Path:
        """The file that holds what the process printed, its last error included."""
        return Path(self.folder) / f"output-{self.number}.txt"
