"""What was promised, held against what was measured. A miss is reported as a miss."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

from labkit import bench
from labkit.cases.refund import refund
from labkit.errors import LabError
from labkit.perf.histories import Histories
from labkit.perf.report import Mark, Row, at_least, at_most
from labkit.sim import explore

ENGINES = ("snapshot", "event-sourced", "hybrid")


def marks(
    rows: list[Row], found: Histories, crashes: int, campaign: dict[str, Any], tell: Callable[[str], None]
) -> list[Mark]:
    """Every mark, in the order of the promises; `campaign` is what `labkit.bench.run` is given."""
    tell(f"simulator, schedules of {crashes} crashes")
    explored = simulator(crashes)
    tell("bench, real kills")
    return [*steps(rows), *reading(found), explored, real_kills(campaign, tell)]


def steps(rows: list[Row]) -> list[Mark]:
    """What a step costs, beside a raw commit and beside the frameworks' steps in the same run.

    The rows that count are those of the smallest state in the longest run.
    """
    timed = [row for row in rows if row.ratio is not None]
    size, most = min(row.state_bytes for row in timed), max(row.steps for row in timed)
    found = {row.peer: row for row in timed if (row.state_bytes, row.steps) == (size, most)}
    ours = [found[engine] for engine in ("snapshot", "event-sourced")]
    slower = max(row.microseconds or 0 for row in ours)
    told = [at_most(f"{row.peer} step, in raw commits", row.ratio, 1.2) for row in ours]
    for framework, times in (("LangGraph", 3), ("DBOS", 8)):
        theirs = found[framework].microseconds if framework in found else None
        value = theirs / slower if theirs else None
        told.append(at_least(f"{framework} step, in steps of ours (the slower of the two)", value, times))
    return told


def reading(found: Histories) -> list[Mark]:
    """How fast journals are replayed, and that hybrid recovery does not grow with the history."""
    shortest, longest = min(found.recovery), max(found.recovery)
    pairs = zip(found.recovery[longest], found.recovery[shortest], strict=True)
    milliseconds = median(found.recovery[longest]) * 1e3
    return [
        *(at_least(f"{name}, events a second a core", speed, 200_000) for name, speed in found.replay.items()),
        at_most(f"hybrid recovery of {longest:,} events, milliseconds", milliseconds, 20),
        at_most(
            f"hybrid recovery of {longest:,} events, in recoveries of {shortest:,}",
            median(long / short for long, short in pairs),
            2,
        ),
    ]


def simulator(crashes: int) -> Mark:
    """Schedules of the reference workflow explored a second, over the three engines, with policy ledger.

    The seconds are processor time: one core's, whatever else the machine does.
    """
    begun = time.process_time()
    explored = sum(
        explore(refund, engine=engine, policy="ledger", crashes=crashes, **refund.example).schedules
        for engine in ENGINES
    )
    return at_least("simulator, schedules a second a core", explored / (time.process_time() - begun), 4_000)


def real_kills(campaign: dict[str, Any], tell: Callable[[str], None]) -> Mark:
    """Trials a second of the bench: a process is killed for real at a tap, a fresh one resumes, all is judged."""
    try:
        speed = bench.run(**campaign).trials_per_second
    except LabError as error:
        tell(f"the bench could not run: {error.what}")
        speed = None
    return at_least("bench, real kill-and-resume trials a second", speed, 80)
