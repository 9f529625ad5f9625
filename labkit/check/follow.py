"""Where a process stands in its script at each tap that it passes, and what is lost if it dies there.

Only what an engine declares is asked for: whether it journals the result of each call, or keeps those of a step
together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from labkit.check.script import Script, Visit
from labkit.check.windows import window_after
from labkit.clock import next_clock
from labkit.taps import Tap

SETTLES = {"bare": "record", "keyed": "record", "ledger": "confirm", "outbox": "intent"}
"""The write of each policy with which an effect's result, or its plan, gets into an engine's journal."""


class Position(NamedTuple):
    """How far a run is, durably: completed visits, and in the present one the calls that are kept and answered.

    `stopped` is the call at which the run stops for a person, in an outbox -1; `time` is when its last process died.
    """

    visit: int = 0
    kept: int = 0
    answered: frozenset[int] = frozenset()
    stopped: int | None = None
    time: str = ""


class Opened(NamedTuple):
    """An effect whose result is not committed: its window, whether it was marked as tried, and executed."""

    call: int
    capability: str
    window: str = "W1"
    tried: bool = False
    executed: bool = False


class Standing(NamedTuple):
    """What a process leaves that dies at a tap.

    `made` counts the activities that it called, `reached` all that were ever called by then if none was before.
    `opened` are effects whose result is not committed, `again` the providers of effects that it had executed twice.
    `lost` says that it did not follow the script.
    """

    position: Position
    made: int = 0
    reached: int = 0
    opened: tuple[Opened, ...] = ()
    again: frozenset[str] = frozenset()
    lost: bool = False


class Follower:
    """Follows one process from a position through its script, tap by tap."""

    def __init__(self, script: Script, position: Position, *, journals: bool, policy: str) -> None:
        self._script, self._journals, self._policy = script, journals, policy
        self._visit, self._kept = position.visit, position.kept
        self._answered, self._stopped = position.answered, position.stopped
        self._clock = next_clock(position.time)
        self._from = self._at = self._kept if journals else 0
        self._made, self._reached = 0, 0
        self._waits: int | None = None
        self._opened: dict[tuple[int, int], Opened] = {}
        self._again: frozenset[str] = frozenset()
        self._lost = False

    def standings(self, taps: Sequence[Tap]) -> list[Standing]:
        """Where the process stands at each tap."""
        found = []
        for tap in taps:
            if not self._lost and not self._pass(tap):
                self._lost = True
            found.append(self._standing())
        return found

    def _standing(self) -> Standing:
        visits = self._script.visits
        made = 0
        if self._visit < len(visits):
            activities = visits[self._visit].activities
            made = activities[self._at] - activities[self._from]
            self._reached = max(self._reached, self._script.before[self._visit] + activities[self._at])
        position = Position(self._visit, self._kept, self._answered, self._stopped, self._clock.now().isoformat())
        return Standing(
            position, self._made + made, self._reached, tuple(self._opened.values()), self._again, self._lost
        )

    def _pass(self, tap: Tap) -> bool:
        """Take one tap in; False when the script has no place for it."""
        if tap.step == "run":
            if tap.operation == "claim":
                self._claim(tap)
            return True
        if tap.operation == "wait" and self._stopped is not None:
            self._at = max(self._stopped, self._at)
            return True
        delivers = self._policy == "outbox" and tap.operation != "intent"
        number = self._visit - (bool(tap.effect) and delivers)
        if not 0 <= number < len(self._script.visits) or self._script.visits[number].step != tap.step:
            return False
        visit = self._script.visits[number]
        if tap.effect:
            return self._effect(tap, visit, number)
        if tap.operation == "record":
            return self._record(tap, visit)
        if tap.operation == "wait":
            return self._wait(tap, visit)
        return self._commit(tap, visit)

    def _claim(self, tap: Tap) -> None:
        """A process begins, or goes on after a wait: from the calls that are kept."""
        if tap.phase == "before":
            if self._waits is not None and self._script.visits[self._visit].calls[self._waits].kind == "timer":
                self._clock.advance_to(self._script.visits[self._visit].calls[self._waits].name)
            self._waits = None
            return
        self._made = self._standing().made
        self._from = self._at = self._kept if self._journals else 0

    def _effect(self, tap: Tap, visit: Visit, number: int) -> bool:
        nth = int(tap.effect.partition("/")[2] or 1)
        if nth > len(visit.effects):
            return False
        call = visit.effects[nth - 1]
        if number == self._visit:
            self._at = call
        before = self._opened.get((number, call)) or Opened(call, visit.calls[call].capability)
        acted = tap.operation == "call" and tap.phase == "executed"
        if acted and before.executed:
            self._again |= {before.capability}
        window = window_after(tap, before.window)
        self._opened[number, call] = before._replace(
            window="W4" if before.executed and window == "W2" else window,
            tried=before.tried or tap.operation == "call" or (tap.operation, tap.phase) == ("attempt", "after"),
            executed=before.executed or acted,
        )
        if tap.phase == "after" and tap.operation in ("confirm", "record"):
            del self._opened[number, call]
        if tap.phase == "after" and tap.operation == SETTLES[self._policy] and self._journals:
            self._at = self._kept = call + 1
        return True

    def _record(self, tap: Tap, visit: Visit) -> bool:
        """A write of the journal: the result of the call at hand, and failures that were caught before it."""
        at, calls = self._at, visit.calls
        if tap.phase == "after":
            self._kept = at
            self._opened.pop((self._visit, at - 1), None)
            return True
        if (self._visit, at) in self._opened:  # without a ledger, the first effect's own
            self._at = at + 1
            return True
        while at < len(calls) and calls[at].failed:
            at += 1
        if at == len(calls) or (calls[at].kind == "effect" and at == self._at):
            return False
        alone = calls[at].kind in ("effect", "approval") and at > self._at  # what failed is kept before these are tried
        self._at = at if alone else at + 1
        return True

    def _wait(self, tap: Tap, visit: Visit) -> bool:
        at = visit.stops_at(self._at, self._answered, self._clock.now())
        if tap.phase == "after":
            self._waits = self._at
            if visit.calls[self._at].kind == "approval":
                self._answered |= {self._at}
            return True
        self._at = self._at if at is None else at
        return at is not None

    def _commit(self, tap: Tap, visit: Visit) -> bool:
        self._at = len(visit.calls)
        if tap.phase == "after":
            self._made = self._standing().made
            self._visit, self._at, self._from, self._kept = self._visit + 1, 0, 0, 0
            self._answered = frozenset()
            self._opened = {}
        return tap.operation == "commit"


class Rest(NamedTuple):
    """What an undisturbed process does from a position on: activities called, all ever called, effects done twice."""

    made: int
    reached: int
    again: frozenset[str]


def rest(script: Script, position: Position, *, journals: bool) -> Rest:
    """What the next process does from `position` to the end, or to where it stops for a person."""
    clock, made, again = next_clock(position.time), 0, frozenset[str]()
    if position.stopped is not None:
        if position.visit == len(script.visits) or position.stopped < 0:
            return Rest(0, 0, again)
        activities = script.visits[position.visit].activities
        return Rest(activities[position.stopped] - activities[position.kept if journals else 0], 0, again)
    kept, answered = position.kept, position.answered
    for visit in script.visits[position.visit :]:
        while (at := visit.stops_at(kept, answered, clock.now())) is not None:
            made += visit.activities[at] - visit.activities[kept]
            answered |= {at}
            if visit.calls[at].kind == "timer":
                clock.advance_to(visit.calls[at].name)
            if journals:
                kept = _kept_at(visit, kept, at)
            else:
                again |= {visit.calls[effect].capability for effect in visit.effects if effect < at}
        made += visit.activities[-1] - visit.activities[kept]
        kept, answered = 0, frozenset()
    return Rest(made, script.before[-1], again)


def _kept_at(visit: Visit, kept: int, at: int) -> int:
    """How many calls a journal holds when a step waits: a timer's wait does not write down what failed before it."""
    timer = visit.calls[at].kind == "timer"
    while timer and at > kept and visit.calls[at - 1].failed:
        at -= 1
    return at
