"""Long runs: how fast a journal is replayed, and how long hybrid recovery takes as the history grows.

The histories are made by the engines themselves, only without a sync per commit; they are read as always.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import NamedTuple

from labkit.perf import ours
from labkit.perf.watch import Stopped, Watch
from labkit.store.sqlite import SqliteStore

STATE = 200  # bytes
REPEATS = 9


class Histories(NamedTuple):
    """`replay`: events a second, without and with an activity a step. `recovery`: a run's length in events to the
    seconds of its recoveries, measured in rounds over all lengths."""

    replay: dict[str, float]
    recovery: dict[int, list[float]]


def histories(folder: Path, replayed: int, lengths: Sequence[int], tell: Callable[[str], None]) -> Histories:
    """Make and read histories below `folder`: journals of `replayed` events, hybrid runs of each of the `lengths`."""
    replay = {}
    for name, activity in (("replay", False), ("replay with an activity a step", True)):
        tell(f"{name}, {replayed:,} events")
        replay[name] = replay_speed(folder / name, replayed, activity=activity)
    return Histories(replay, hybrid_recovery(folder, lengths, tell))


def replay_speed(folder: Path, events: int, *, activity: bool) -> float:
    """Events a second at which a new reader loads and replays an event-sourced run of `events` events.

    The seconds are processor time, as nothing is waited for.
    """
    steps = events // 2 if activity else events
    make(folder, "event-sourced", steps, activity=activity)
    workflow = ours.workload(STATE, Watch(steps + 1, 0), activity=activity)
    seconds = []
    with closing(SqliteStore(folder / ours.DATABASE)) as store:
        for _ in range(REPEATS):
            begun = time.process_time()
            ours.runner(store, "event-sourced", workflow).read(ours.RUN)
            seconds.append(time.process_time() - begun)
    return events / median(seconds)


def hybrid_recovery(folder: Path, lengths: Sequence[int], tell: Callable[[str], None]) -> dict[int, list[float]]:
    """Seconds from opening the database of a hybrid run of so many events to the entry of its next step."""
    for events in lengths:
        tell(f"hybrid recovery, {events:,} events")
        make(folder / f"hybrid-{events}", "hybrid", events - 1)  # the first event is the beginning
    seconds: dict[int, list[float]] = {events: [] for events in lengths}
    for _ in range(REPEATS):
        for events in lengths:
            seconds[events].append(played(folder / f"hybrid-{events}", "hybrid", Watch(events - 1, 0)))
    return seconds


def make(folder: Path, engine: str, steps: int, *, activity: bool = False) -> None:
    """A run of `steps` steps in the new `folder`, left between two steps."""
    folder.mkdir()
    played(folder, engine, Watch(0, steps), activity=activity, synchronous="OFF")


def played(folder: Path, engine: str, watch: Watch, *, activity: bool = False, synchronous: str = "FULL") -> float:
    """Play the workload on `engine` until the watch stops it; return the seconds that the watch gave."""
    try:
        ours.play(folder, STATE, watch, engine=engine, activity=activity, synchronous=synchronous)
    except Stopped as stopped:
        return stopped.timed.step
    raise AssertionError("the workload never ends by itself")
