"""Named places where a trace records and where a crash can be injected.

A tap is `label:phase#occurrence`, for example `execute_refund/call:executed#1`: the label says which step and
which operation (`pay/2/call` for the second effect of one visit to the step), the phase is `before`, `executed` (the
provider did it and has not answered yet) or `after`, the occurrence counts from 1 in one process. Only store
transactions and provider calls tap. One mechanism serves three listeners: the timeline records, the bench kills, the
simulator chooses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

from labkit.errors import InvalidInput

PHASES = ("before", "executed", "after")
EFFECT_OPERATIONS = (
    *("intent", "attempt", "call", "confirm", "doubt", "lookup", "cleared"),
    *("compensate", "compensated"),
)
Listener = Callable[[str, str], None]
_listeners: tuple[Listener, ...] = ()


class Crash(BaseException):
    """A simulated crash. Not an Exception, so that no `except Exception` in a workflow survives it."""


class Tap(NamedTuple):
    """One passing of a named place; `str(tap)` is `label:phase#occurrence`."""

    label: str
    phase: str
    occurrence: int = 1

    def __str__(self) -> str:
        return f"{self.label}:{self.phase}#{self.occurrence}"

    @property
    def step(self) -> str:
        """The step that the tap belongs to, or `run` for taps of the run as a whole."""
        return _parts(self.label)[0]

    @property
    def operation(self) -> str:
        """What was being done: begin, claim, record, intent, attempt, call, confirm, commit, ..."""
        return _parts(self.label)[2]

    @property
    def effect(self) -> str:
        """The effect that the tap belongs to, `pay` or `pay/2`; empty for a write that is not an effect's alone."""
        return _parts(self.label)[1]

    @classmethod
    @lru_cache(maxsize=4096)
    def parse(cls, text: str) -> Tap:
        """Read `label:phase#occurrence` (`#1` may be left out); raise InvalidInput for anything else."""
        found = re.fullmatch(r"([\w./-]+):(before|executed|after)(?:#([1-9]\d{0,6}))?", text)
        if not found:
            raise InvalidInput(
                f"{text!r} is not a tap: expected label:phase#occurrence with a phase of {', '.join(PHASES)}",
                safe="nothing was run",
                next="labkit taps refund lists them, for example execute_refund/call:executed#1",
            )
        return cls(found[1], found[2], int(found[3] or 1))


@lru_cache(maxsize=4096)
def _parts(label: str) -> tuple[str, str, str]:
    """The step, effect and operation that a label names."""
    place, _, operation = label.rpartition("/")
    return label.split("/")[0], place if operation in EFFECT_OPERATIONS or "/" in place else "", operation


class TapCounter:
    """Turns a stream of (label, phase) into taps, counting occurrences from 1."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[str, str]] = Counter()

    def __call__(self, label: str, phase: str) -> Tap:
        self._seen[label, phase] += 1
        return Tap(label, phase, self._seen[label, phase])


def tap(label: str, phase: str) -> None:
    """Tell every listener that this place is being passed."""
    for listener in _listeners:
        listener(label, phase)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let `listener(label, phase)` hear every tap of this process while the block runs."""
    global _listeners
    before = _listeners
    _listeners = (*before, listener)
    try:
        yield
    finally:
        _listeners = before
