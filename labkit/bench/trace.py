"""The taps that one real process passed, written as it passes them: what is in the file survives a SIGKILL.

The first line is JSON and says what the process found when it began; each further line is one tap, or `time` and what
a clock that was moved said then, or `values` and what calls had returned by the durable write that follows.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from labkit.taps import Tap, TapCounter
from labkit.values import Asked, Place, Value, ValueLog, Values

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
"""Nothing can be done about it: SIGKILL, or what Windows takes for TerminateProcess."""

TIME, VALUES = "time ", "values "  # how lines begin that are no taps
Pairs = list[tuple[Place, Value]]


class Found(msgspec.Struct, frozen=True):
    """What a process finds when it begins: the run's status (`none`: no run), effects that only the provider knows, and
    how many entries the provider has `outside`."""

    status: str = "none"
    untracked: list[str] = []
    outside: int = 0


class Trace(NamedTuple):
    """A trace file that was read back; `found` is None when the process died before it had looked.

    `time` is what the process's clock said last, empty when nobody moved it; `values` are what calls had returned.
    """

    found: Found | None
    passed: list[Tap]
    time: str = ""
    values: Values = Values()


class Tracer:
    """A listener that writes each tap to `path`, and kills this process at the tap `deadly`.

    `log` is what the process's calls return. `clock` tells what a clock says that is moved by hand; a process that
    goes by the machine's time gives none.
    """

    def __init__(
        self,
        path: Path,
        found: Found,
        deadly: Tap | None,
        log: ValueLog | None = None,
        clock: Callable[[], str] = lambda: "",
    ) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        self._count, self._deadly, self._clock, self._time = TapCounter(), deadly, clock, clock()
        self._log, self._known = log or ValueLog(), _pack(Values())
        os.write(self._file, msgspec.json.encode(found) + b"\n")

    def __call__(self, label: str, phase: str) -> None:
        """Hear one tap."""
        tap = self._count(label, phase)
        time = self._clock()
        if time != self._time:
            os.write(self._file, f"{TIME}{time}\n".encode())
            self._time = time
        if phase == "after":
            self._tell_values()
        os.write(self._file, f"{tap}\n".encode())
        if tap == self._deadly:
            os.kill(os.getpid(), KILL)

    def _tell_values(self) -> None:
        known = _pack(Values(self._log.returned, self._log.asked))
        if known != self._known:
            os.write(self._file, VALUES.encode() + known + b"\n")
            self._known = known


def _pack(values: Values) -> bytes:
    asked = {key: (each.position, each.effects, list(each.returned.items())) for key, each in values.asked.items()}
    return msgspec.json.encode((list(values.returned.items()), asked))


def _unpack(packed: str) -> Values:
    returned, asked = msgspec.json.decode(packed, type=tuple[Pairs, dict[str, tuple[int, int, Pairs]]])
    return Values(dict(returned), {key: Asked(at, effects, dict(then)) for key, (at, effects, then) in asked.items()})


def read_trace(path: Path) -> Trace:
    """Read a trace file; one that is not there, or was cut off, counts as far as it goes."""
    lines = path.read_text("utf-8").split("\n")[:-1] if path.exists() else []
    found = msgspec.json.decode(lines[0], type=Found) if lines else None
    times = [line.removeprefix(TIME) for line in lines[1:] if line.startswith(TIME)]
    values = [line.removeprefix(VALUES) for line in lines[1:] if line.startswith(VALUES)]
    taps = [Tap.parse(line) for line in lines[1:] if not line.startswith((TIME, VALUES))]
    return Trace(found, taps, times[-1] if times else "", _unpack(values[-1]) if values else Values())
