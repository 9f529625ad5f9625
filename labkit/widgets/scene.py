"""What the timeline draws, as plain data: each engine without a crash, and what follows a crash at each tap.

Texts and records that repeat are kept once, in a pool, and named by their number there. So a page holds every
answer and needs nobody to ask.
"""

from __future__ import annotations

from difflib import get_close_matches
from itertools import accumulate
from typing import Any

import msgspec

from labkit.check.windows import windows
from labkit.errors import InvalidInput
from labkit.taps import PHASES, Tap
from labkit.timeline import Timeline
from labkit.timeline.operations import OUTSIDE, Operation
from labkit.widgets.axis import Column, axis, columns
from labkit.widgets.rehearsal import Death, Process, Rehearsal, Told

EFFECT_FIELDS = ("step", "target", "operation", "status", "attempts", "receipt_id", "last_error")
Drawn = list[tuple[Operation, Column]]


class Pool:
    """Each different value once; `add` says which it is."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[bytes, int] = {}

    def add(self, value: Any) -> int:
        """The number of `value`, plain JSON data."""
        number = self._numbers.setdefault(msgspec.json.encode(value), len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


class Scene:
    """The lives of all engines on one axis. `pool` may be shared by several scenes."""

    def __init__(self, rehearsals: dict[str, Rehearsal], pool: Pool | None = None) -> None:
        self.pool = pool or Pool()
        self.rehearsals = rehearsals
        self._first = {engine: drawn(each.undisturbed().timeline)[0] for engine, each in rehearsals.items()}
        self._after = {engine: crashes(each, each.first) for engine, each in rehearsals.items()}
        told = [each for _, outcomes in self._after.values() for each in outcomes]
        lives = [*self._first.values(), *(life for each in told for life in drawn(each.timeline))]
        self.axis = axis([[column for _, column in life] for life in lives])
        self._place = {column: number for number, column in enumerate(self.axis)}
        self._start = [0, *accumulate(places(column) for column in self.axis)]

    def data(self) -> dict[str, Any]:
        """All of it. `crash` of an engine holds for each tap the number of its outcome in `outcomes`."""
        engines = {}
        for engine, (crash, told) in self._after.items():
            outcomes = [self.outcome(each) for each in told]
            first = self._first[engine]
            engines[engine] = {"first": self._life(first), "crash": crash, "outcomes": outcomes}
        effects = dict.fromkeys(column.group for column in self.axis if column.name in OUTSIDE)
        shown = [[*column, places(column)] for column in self.axis]
        ledger = any(each.undisturbed().timeline.keeps_ledger for each in self.rehearsals.values())
        return {
            "columns": shown,
            "effects": list(effects),
            "ledger": ledger,
            "engines": engines,
            "pool": self.pool.values,
        }

    def deaths(self, at: str) -> dict[str, Death]:
        """Where each engine's process dies for a crash at this tap of one of them: there, or at its last tap before."""
        firsts = {engine: each.first for engine, each in self.rehearsals.items()}
        return nearest(firsts, {engine: self.slots(life) for engine, life in self._first.items()}, at)

    def same(self, other: Scene, at: str) -> str:
        """Where a crash at `at` of another scene stands here: at that tap, else in the same window of its step."""
        here, there = self._windows(), other._windows()
        if at in here:
            return at
        return next((tap for tap, where in here.items() if where == there[at]), next(iter(here)))

    def _windows(self) -> dict[str, tuple[str, str]]:
        """The step and window of each tap of the first processes, by its name."""
        lives = [each.first.life.taps for each in self.rehearsals.values()]
        return {str(tap): (tap.step, window) for taps in lives for tap, window in zip(taps, windows(taps), strict=True)}

    def second(self, deaths: dict[str, Death]) -> dict[str, Any]:
        """What follows a second crash, after these first ones, for each engine; as in `data`."""
        found = {}
        for engine, death in deaths.items():
            rehearsal = self.rehearsals[engine]
            crash, told = crashes(rehearsal, rehearsal.live(death, keep_images=True), (death,))
            found[engine] = {"crash": crash, "outcomes": [self.outcome(each) for each in told]}
        return {"engines": found, "pool": self.pool.values}

    def second_deaths(self, deaths: dict[str, Death], at: str) -> dict[str, list[Death]]:
        """These deaths, each with the one of the successor for a second crash at this tap, where it passes any."""
        successors = {engine: self.rehearsals[engine].live(death, keep_images=True) for engine, death in deaths.items()}
        lives = {engine: drawn(self.rehearsals[engine].after([death]).timeline)[-1] for engine, death in deaths.items()}
        seconds = nearest(successors, {engine: self.slots(life) for engine, life in lives.items()}, at)
        return {engine: [death, *([seconds[engine]] if engine in seconds else [])] for engine, death in deaths.items()}

    def slots(self, life: Drawn) -> list[int]:
        """Where on the axis each tap of a life stands: three places a call, two a transaction."""
        return [self._start[self._where(column)] + n for operation, column in life for n in phases(operation)]

    def outcome(self, told: Told) -> dict[str, Any]:
        """What followed: the last process, what the engine believes, what the provider has, and the verdict."""
        timeline, add = told.timeline, self.pool.add
        happened = [each for lane in timeline.lanes for operation in lane.operations for each in operation.outside]
        rows = sorted({each.seq: msgspec.to_builtins(each) for each in happened}.items())
        believed = [{name: getattr(effect, name) for name in EFFECT_FIELDS} for effect in timeline.effects]
        return {
            "life": self._life(drawn(timeline)[-1]),
            "status": timeline.status,
            "error": told.error,
            "verdict": told.verdict,
            "broken": [add([each.invariant, each.text]) for each in told.violations],
            "lost": told.lost,
            "findings": [add([each.mark, each.text]) for each in timeline.findings],
            "effects": [add(effect) for effect in believed],
            "outside": [add(row) for _, row in rows],
        }

    def _life(self, life: Drawn) -> list[list[int]]:
        return [[self.pool.add(plain(operation)), self._where(column)] for operation, column in life]

    def _where(self, column: Column) -> int:
        """The place of a column; one that no single crash leads to stands with the last of its step."""
        if column in self._place:
            return self._place[column]
        same = [number for known, number in self._place.items() if known[:2] == column[:2]]
        return max(same, default=len(self.axis) - 1)


def crashes(rehearsal: Rehearsal, process: Process, before: tuple[Death, ...] = ()) -> tuple[list[int], list[Told]]:
    """For each tap of a process the number of what follows its death there, and everything that may follow."""
    numbers: dict[int, int] = {}
    told: list[Told] = []
    crash = []
    for at in range(len(process.life.taps)):
        image = rehearsal.image((process, at))
        if image not in numbers:
            numbers[image] = len(told)
            told.append(rehearsal.after([*before, (process, at)]))
        crash.append(numbers[image])
    return crash, told


def places(column: Column) -> int:
    """How many taps an operation can have: a call can also be executed and not yet answered."""
    return len(PHASES) if column.name in OUTSIDE else len(PHASES) - 1


def phases(operation: Operation) -> list[int]:
    """For each tap of an operation, which of its places it is."""
    order = PHASES if operation.name in OUTSIDE else (PHASES[0], PHASES[2])
    return [order.index(Tap.parse(tap).phase) for tap in operation.taps]


def nearest(processes: dict[str, Process], slots: dict[str, list[int]], at: str) -> dict[str, Death]:
    """For each process that passes a tap, the last one up to where `at` stands in any of them, else its first."""
    known = {
        str(tap): slot
        for engine, process in processes.items()
        for tap, slot in zip(process.life.taps, slots[engine], strict=True)
    }
    if at not in known:
        near = get_close_matches(at, known, 3, 0.5)
        raise InvalidInput(f"no process here passes {at}", safe="nothing was run", next=f"near: {', '.join(near)}")
    return {
        engine: (process, max((n for n, slot in enumerate(slots[engine]) if slot <= known[at]), default=0))
        for engine, process in processes.items()
        if process.life.taps
    }


def drawn(timeline: Timeline) -> list[Drawn]:
    """The operations of each process with their columns."""
    found: list[Drawn] = []
    before: list[Column] = []
    for lane in timeline.lanes:
        before = columns(lane.operations, before)
        found.append(list(zip(lane.operations, before, strict=True)))
    return found


def plain(operation: Operation) -> dict[str, Any]:
    """One operation for the picture; empty fields are left out."""
    record = {
        "step": operation.step,
        "name": operation.name,
        "text": operation.text,
        "taps": operation.taps,
        "windows": operation.windows,
        "ledger": operation.ledger,
        "outside": [msgspec.to_builtins(each) for each in operation.outside],
    }
    return {name: value for name, value in record.items() if value}
