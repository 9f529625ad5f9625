"""Who is measured, and one measured block of steps. Frameworks run in a process of their own, so that neither their
imports nor their threads weigh on others; ours run here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import apsw
import msgspec

from labkit.errors import LabError
from labkit.perf import ours, raw
from labkit.perf.watch import Stopped, Timed, Watch

Play = Callable[[Path, int, Watch], None]
RAW = "raw SQLite commit"
LONG = "hybrid, long run"
PEER, RAW_DATABASE, ANSWER = "peer", "raw.db", "answer.json"  # what the folder of a block holds
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


class Side(NamedTuple):
    """One side of a block: seconds a step, seconds to recover, bytes on disk."""

    step: float
    recovery: float
    size: int


class Block(NamedTuple):
    """So many steps of a peer in a new database, and as many raw commits before them."""

    peer: Side
    raw: Side


def block(peer: str, folder: Path, size: int, steps: int) -> Block:
    """Run `steps` steps of `peer` with a state of `size` bytes in a new folder below `folder`, then recover once.

    Raises LabError, with what the framework said last, when it cannot be imported or does not do its steps.
    """
    play = framework if peer in FRAMEWORKS else engine
    with TemporaryDirectory(dir=folder) as made:
        here = Path(made)
        (here / PEER).mkdir()
        timed = play(peer, here, size, 0, steps)
        recovery = play(peer, here, size, steps, 0).step
        raw_recovery = raw.recover(here / RAW_DATABASE)
        return Block(
            Side(timed.step, recovery, bytes_on_disk(*(here / PEER).iterdir())),
            Side(timed.raw, raw_recovery, bytes_on_disk(here / RAW_DATABASE)),
        )


def engine(name: str, folder: Path, size: int, done: int, steps: int) -> Timed:
    """Play one of ours in this process; return what the watch timed."""
    with ExitStack() as stack:
        beside = stack.enter_context(closing(raw.Raw(folder / RAW_DATABASE, size))) if steps else None
        try:
            OURS[name](folder / PEER, size, Watch(done, steps, raw=beside))
        except Stopped as stopped:
            return stopped.timed
    raise AssertionError(f"{name} ended by itself")


def framework(name: str, folder: Path, size: int, done: int, steps: int) -> Timed:
    """Play a framework in a new process, see `labkit.perf.child`; return what the watch timed."""
    answer = folder / ANSWER
    numbers = (str(number) for number in (size, done, steps))
    command = [sys.executable, "-m", "labkit.perf.child", FRAMEWORKS[name], str(folder), *numbers]
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
    timed = msgspec.json.decode(answer.read_bytes(), type=Timed)
    answer.unlink()
    return timed


def bytes_on_disk(*files: Path) -> int:
    """The bytes of these databases, once their write-ahead logs have been moved into them."""
    databases = [path for path in files if path.suffix == ".db"]
    for database in databases:
        with closing(apsw.Connection(str(database))) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return sum(database.stat().st_size for database in databases)
