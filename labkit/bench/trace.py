"""The taps that one real process passed, written as it passes them: what is in the file survives a SIGKILL.

The first line is JSON and says what the process found when it began; each further line is one tap.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import NamedTuple

import msgspec

from labkit.taps import Tap, TapCounter

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
"""Nothing can be done about it: SIGKILL, or what Windows takes for TerminateProcess."""


class Found(msgspec.Struct, frozen=True):
    """What a process finds when it begins: the run's status (`none`: no run), effects that only the provider knows."""

    status: str = "none"
    untracked: list[str] = []


class Trace(NamedTuple):
    """A trace file that was read back; `found` is None when the process died before it had looked."""

    found: Found | None
    passed: list[Tap]


class Tracer:
    """A listener that writes each tap to `path`, and kills this process at the tap `deadly`."""

    def __init__(self, path: Path, found: Found, deadly: Tap | None) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        self._count, self._deadly = TapCounter(), deadly
        os.write(self._file, msgspec.json.encode(found) + b"\n")

    def __call__(self, label: str, phase: str) -> None:
        """Hear one tap."""
        tap = self._count(label, phase)
        os.write(self._file, f"{tap}\n".encode())
        if tap == self._deadly:
            os.kill(os.getpid(), KILL)


def read_trace(path: Path) -> Trace:
    """Read a trace file; one that is not there, or was cut off, counts as far as it goes."""
    lines = path.read_text("utf-8").split("\n")[:-1] if path.exists() else []
    found = msgspec.json.decode(lines[0], type=Found) if lines else None
    return Trace(found, [Tap.parse(line) for line in lines[1:]])
