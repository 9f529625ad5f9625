"""Hybrid recovery: events as in event sourcing, and a snapshot every few steps; a new process replays only the tail.

Durable after a `ctx` call: its result. A crash inside a step goes on after the last recorded call. The time to
load is bounded by the distance between snapshots, however long the run. This is what long histories need.
"""

from __future__ import annotations

from typing import Any

from labkit.codec import Codec
from labkit.errors import InvalidState, Unsupported
from labkit.model import TERMINAL, Event, Moment, Run
from labkit.store import runs
from labkit.store.protocol import Store, Tx


class HybridEngine:
    """Writes one event for each call and each step, and the whole run every `every` steps."""

    name = "hybrid"
    journals = True
    schema = """
    CREATE TABLE IF NOT EXISTS tail_events (
      run_id TEXT NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, step TEXT NOT NULL, name TEXT NOT NULL,
      payload BLOB NOT NULL, PRIMARY KEY (run_id, seq)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS base_snapshots (
      run_id TEXT NOT NULL, state_version INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (run_id, state_version)
    );
    """

    def __init__(self, store: Store, codec: Codec[Any], *, every: int = 4) -> None:
        self.store, self.codec, self.every = store, codec, every

    def begin(self, tx: Tx, run: Run[Any]) -> None:
        """Write the first event and the first snapshot."""
        runs.insert(tx, run, self.name)
        self._append(tx, run, Event(0, "began", "run", run.workflow_id, b""))
        self._snapshot(tx, run)

    def load(self, run_id: str) -> tuple[Run[Any], list[Event]]:
        """The newest snapshot, and the events since, for the runner to replay."""
        rows = self.store.rows(
            "SELECT state_version, body FROM base_snapshots WHERE run_id=? ORDER BY state_version DESC LIMIT 1", run_id
        )
        if not rows:
            raise InvalidState(f"run {run_id} has no snapshot", safe="nothing was run", next="labkit history")
        version, body = rows[0]
        tail = self.store.rows(
            "SELECT seq, kind, step, name, payload FROM tail_events WHERE run_id=? AND seq>? ORDER BY seq",
            *(run_id, version),
        )
        return self.codec.decode(body), list(map(Event._make, tail))

    def record(self, tx: Tx, run: Run[Any], event: Event) -> None:
        """Append what a `ctx` call returned, if this owner still owns the run."""
        runs.advance(tx, run)
        self._append(tx, run, event)

    def commit(self, tx: Tx, run: Run[Any], event: Event) -> None:
        """Append that the step completed; write the whole run when a snapshot is due."""
        runs.advance(tx, run)
        self._append(tx, run, event)
        if run.position % self.every == 0 or run.status in TERMINAL:
            self._snapshot(tx, run)
        else:
            self.codec.encode(run)

    def history(self, run_id: str) -> list[Moment]:
        """Every event kept, oldest first."""
        rows = self.store.rows(
            "SELECT seq, kind, step, name, length(payload) FROM tail_events WHERE run_id=? ORDER BY seq", run_id
        )
        return [Moment._make(row) for row in rows]

    def fork(self, tx: Tx, run_id: str, at: int, new_id: str) -> None:
        """Start `new_id` from what was written up to version `at`; nothing is executed."""
        based = tx.execute(
            "INSERT INTO base_snapshots SELECT ?1, state_version, body FROM base_snapshots WHERE run_id=?2"
            " AND state_version<=?3 AND EXISTS (SELECT 1 FROM tail_events WHERE run_id=?2 AND seq=?3)",
            *(new_id, run_id, at),
        )
        if not based:
            raise Unsupported(f"run {run_id} keeps no event {at}", safe="nothing was written")
        tx.execute(
            "INSERT INTO tail_events SELECT ?, seq, kind, step, name, payload FROM tail_events"
            " WHERE run_id=? AND seq<=?",
            *(new_id, run_id, at),
        )
        runs.fork(tx, run_id, new_id, at)

    def compact(self, tx: Tx, run: Run[Any]) -> int:
        """Drop everything older than the newest snapshot; return how many rows went."""
        newest = "(SELECT max(state_version) FROM base_snapshots WHERE run_id=?1)"
        gone = tx.execute(f"DELETE FROM tail_events WHERE run_id=?1 AND seq < {newest}", run.run_id)
        return gone + tx.execute(f"DELETE FROM base_snapshots WHERE run_id=?1 AND state_version < {newest}", run.run_id)

    def _append(self, tx: Tx, run: Run[Any], event: Event) -> None:
        row = (run.run_id, run.state_version, event.kind, event.step, event.name, event.payload)
        tx.execute("INSERT INTO tail_events VALUES (?,?,?,?,?,?)", *row)

    def _snapshot(self, tx: Tx, run: Run[Any]) -> None:
        row = (run.run_id, run.state_version, self.codec.encode(run))
        tx.execute("INSERT INTO base_snapshots VALUES (?,?,?)", *row)
