"""What the timeline draws, as plain data: each engine without a crash, and what follows a crash at each tap.

Texts and records that repeat are kept once, in a pool, and named by their number there. So a page holds every
answer and needs nobody to ask.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import msgspec

from labkit.lab.crash_points import CrashPoint
from labkit.taps import PHASES, Tap
from labkit.timeline import Timeline
from labkit.timeline.operations import OUTSIDE, Operation
from labkit.widgets.axis import Column, axis, columns
from labkit.widgets.rehearsal import Death, Process, Rehearsal, Told
from labkit.widgets.stops import Stops

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
        self._second: dict[tuple[str, int], tuple[Process, list[int]]] = {}
        taps = {engine: each.first.life.taps for engine, each in rehearsals.items()}
        self.stops = Stops(taps, {engine: self.slots(life) for engine, life in self._first.items()})

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
            **self.stops.data(),
        }

    def deaths(self, at: CrashPoint) -> dict[str, Death]:
        """Where each engine's process dies for this point: at its own tap; an engine without one is left out."""
        return {engine: (self.rehearsals[engine].first, tap) for engine, tap in self.stops.at(at).items()}

    def kept(self, other: Scene, at: CrashPoint) -> CrashPoint:
        """Where a crash at `at` of another scene stands here: a tap that nobody passes here stands for its window."""
        return at if self.stops.at(at) else other.stops.around(at)

    def second(self, deaths: dict[str, Death]) -> dict[str, Any]:
        """What follows a second crash, after these first ones, for each engine; as in `data`."""
        found = {}
        for engine, (process, _) in self._successors(deaths).items():
            crash, told = crashes(self.rehearsals[engine], process, (deaths[engine],))
            outcomes = [self.outcome(each) for each in told]
            found[engine] = {"crash": crash, "outcomes": outcomes}
        return {"engines": found, "pool": self.pool.values, **self.second_stops(deaths).data()}

    def second_stops(self, deaths: dict[str, Death]) -> Stops:
        """Where the successors of these deaths can crash."""
        found = self._successors(deaths)
        taps = {engine: process.life.taps for engine, (process, _) in found.items()}
        return Stops(taps, {engine: slots for engine, (_, slots) in found.items()})

    def second_deaths(self, deaths: dict[str, Death], at: CrashPoint) -> dict[str, list[Death]]:
        """These deaths, each with the one of the successor for a second crash, where it has this point."""
        seconds = self.second_stops(deaths).at(at)
        found = {engine: [death] for engine, death in deaths.items()}
        for engine, tap in seconds.items():
            found[engine].append((self._successors(deaths)[engine][0], tap))
        return found

    def _successors(self, deaths: dict[str, Death]) -> dict[str, tuple[Process, list[int]]]:
        """The process that follows each death, and where its taps stand on the axis."""
        for engine, death in deaths.items():
            _, at = death
            if (engine, at) not in self._second:
                rehearsal = self.rehearsals[engine]
                life = drawn(rehearsal.after([death]).timeline)[-1]
                self._second[engine, at] = rehearsal.live(death, keep_images=True), self.slots(life)
        return {engine: self._second[engine, at] for engine, (_, at) in deaths.items()}

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
            "missing": list(told.missing),
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
