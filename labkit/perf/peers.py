"""Who is measured, and one measured block of steps. Frameworks run in a process of their own, so that neither their
imports nor their threads weigh on others; ours and the yardstick run here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import apsw

from labkit.errors import LabError
from labkit.perf import ours, raw
from labkit.perf.watch import Stopped, Watch

Play = Callable[[Path, int, Watch], None]
RAW = "raw SQLite commit"
LONG = "hybrid, long run"
OURS: dict[str, Play] = {
    "snapshot": partial(ours.play, engine="snapshot"),
    "event-sourced": partial(ours.play, engine="event-sourced"),
    "hybrid": partial(ours.play, engine="hybrid"),
    "event-sourced + activity": partial(ours.play, engine="event-sourced", activity=True),
    "hybrid + activity": partial(ours.play, engine="hybrid", activity=True),
}
FRAMEWORKS = {
    "LangGraph": "labkit.perf.langgraph",
    "DBOS": "labkit.perf.dbos",
    "eventsourcing": "labkit.perf.eventsourcing",
}
PATIENCE = 120.0
"""Seconds that a framework's process may take for one block."""


class Block(NamedTuple):
    """What one block of steps in a new database took: seconds a step, seconds to recover, bytes on disk."""

    step: float
    recovery: float
    size: int


def block(peer: str, folder: Path, size: int, steps: int) -> Block:
    """Run `steps` steps of `peer` with a state of `size` bytes in a new folder below `folder`, then recover once.

    Raises LabError, with what the framework said last, when it cannot be imported or does not do its steps.
    """
    with TemporaryDirectory(dir=folder) as made:
        here = Path(made)
        timed = framework if peer in FRAMEWORKS else inside
        step = timed(peer, here, size, (0, steps))
        recovery = timed(peer, here, size, (steps, 0))
        return Block(step, recovery, bytes_on_disk(here))


def inside(peer: str, folder: Path, size: int, span: tuple[int, int]) -> float:
    """Play in this process; return the seconds of `Watch(*span)`."""
    play = raw.play if peer == RAW else OURS[peer]
    try:
        play(folder, size, Watch(*span))
    except Stopped as stopped:
        return stopped.seconds
    raise LabError(f"{peer} ended before it was stopped", safe="nothing else was touched")


def framework(peer: str, folder: Path, size: int, span: tuple[int, int]) -> float:
    """Play in a new process, see `labkit.perf.child`; return the seconds of `Watch(*span)`."""
    answer = folder / "answer.txt"
    command = [sys.executable, "-m", "labkit.perf.child", FRAMEWORKS[peer], str(folder), str(size), *map(str, span)]
    path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    try:
        ended = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired as error:
        raise LabError(f"no end after {PATIENCE:g} s") from error
    if not answer.exists():
        said = (ended.stderr or ended.stdout).strip().splitlines() or [f"ended with status {ended.returncode}"]
        raise LabError(said[-1])
    seconds = float(answer.read_text("utf-8"))
    answer.unlink()
    return seconds


def bytes_on_disk(folder: Path) -> int:
    """The bytes of every file in `folder`, once the write-ahead logs have been moved into their databases."""
    for database in folder.glob("*.db"):
        db = apsw.Connection(str(database))
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        db.close()
    return sum(path.stat().st_size for path in folder.iterdir())
