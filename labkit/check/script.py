"""What a run calls when nothing disturbs it: its visits to steps, and the calls of each, in order.

It is read from the journal of a fault-free run, where every call is an event. Theory derives from it what a crash
leads to, whatever engine is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import msgspec

from labkit.clock import parse_time
from labkit.model import Event


class Call(NamedTuple):
    """One call of a step: `kind` as in a journal, `name` of the activity, target or time.

    A call that `failed` is an activity whose failure the step caught. `capability` is that of an effect's provider.
    """

    kind: str
    name: str
    failed: bool = False
    capability: str = ""

    @property
    def until(self) -> datetime:
        """The time that a timer waits for."""
        return parse_time(self.name)


class Visit(msgspec.Struct, dict=True):
    """One visit to a step: the calls that it makes until it is committed."""

    step: str
    calls: list[Call]

    @cached_property
    def activities(self) -> list[int]:
        """How many activities are among the first n calls, for each n."""
        return list(accumulate((call.kind == "activity" for call in self.calls), initial=0))

    @cached_property
    def effects(self) -> list[int]:
        """Which of the calls are effects."""
        return [at for at, call in enumerate(self.calls) if call.kind == "effect"]

    @cached_property
    def waits(self) -> list[int]:
        """Which of the calls may have to wait: approvals and timers."""
        return [at for at, call in enumerate(self.calls) if call.kind in ("approval", "timer")]

    def stops_at(self, first: int, answered: frozenset[int], time: datetime) -> int | None:
        """The call, from number `first` on, at which the step has to wait when `answered` are answered at `time`."""
        for at in self.waits:
            call = self.calls[at]
            if at >= first and (call.until > time if call.kind == "timer" else at not in answered):
                return at
        return None


class Script(msgspec.Struct, dict=True):
    """The visits of a fault-free run, in order."""

    visits: list[Visit]

    @cached_property
    def before(self) -> list[int]:
        """How many activities are called before each visit, and in all."""
        return list(accumulate((visit.activities[-1] for visit in self.visits), initial=0))


def script_of(events: Iterable[Event], capability: Callable[[str], str]) -> Script:
    """The script behind a fault-free run's journal; `capability(target)` is what a target's provider can do."""
    visits: list[Visit] = []
    calls: list[Call] = []
    for event in events:
        if event.kind == "completed":
            visits.append(Visit(event.step, calls))
            calls = []
        elif event.kind not in ("began", "closed"):
            calls.append(_call(event, capability))
            step = event.step
    if calls:  # the run waits in this step
        visits.append(Visit(step, calls))
    return Script(visits)


def _call(event: Event, capability: Callable[[str], str]) -> Call:
    failed = event.kind == "failed"
    effect = event.kind == "effect" or (failed and "." in event.name)  # an activity's name has no point
    kind = "effect" if effect else "activity" if failed else event.kind
    return Call(kind, event.name, failed, capability(event.name.split(".")[0]) if effect else "")
