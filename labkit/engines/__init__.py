"""Three recovery engines with the same members in the same order. Lay the files side by side.

An engine says only what is written and how it is read back. The loop is in `labkit.runner`.
"""

from __future__ import annotations

from typing import Any, Protocol

from labkit.engines.event_sourced import EventSourcedEngine
from labkit.engines.hybrid import HybridEngine
from labkit.engines.snapshot import SnapshotEngine
from labkit.model import Event, Moment, Run
from labkit.store.protocol import Tx


class Engine(Protocol):
    """What the runner asks of an engine; see `snapshot.py`, the shortest, for what each member does."""

    name: str
    journals: bool
    schema: str

    def begin(self, tx: Tx, run: Run[Any]) -> None:
        """Write a new run."""
        ...

    def load(self, run_id: str) -> tuple[Run[Any], list[Event]]:
        """Read a run back, and the events to replay on top of it."""
        ...

    def record(self, tx: Tx, run: Run[Any], event: Event) -> None:
        """Make the result of one `ctx` call durable."""
        ...

    def commit(self, tx: Tx, run: Run[Any], event: Event) -> None:
        """Make a completed step durable."""
        ...

    def history(self, run_id: str) -> list[Moment]:
        """List what is kept of a run."""
        ...

    def fork(self, tx: Tx, run_id: str, at: int, new_id: str) -> None:
        """Start a new run from an old moment."""
        ...

    def compact(self, tx: Tx, run: Run[Any]) -> int:
        """Drop what recovery does not need."""
        ...


ENGINES: dict[str, type[SnapshotEngine] | type[EventSourcedEngine] | type[HybridEngine]] = {
    engine.name: engine for engine in (SnapshotEngine, EventSourcedEngine, HybridEngine)
}
