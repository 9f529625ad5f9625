"""Snapshot recovery: after each step the whole state is written; a new process reads the newest one.

Durable after a `ctx` call: nothing. A crash inside a step runs that step again from its top, so its model calls
are paid again. Bytes grow with the state. This is the shape of a graph checkpointer.
"""

from __future__ import annotations

from typing import Any

from labkit.codec import Codec
from labkit.errors import InvalidState, Unsupported
from labkit.model import Event, Moment, Run
from labkit.store import runs
from labkit.store.protocol import Store, Tx


class SnapshotEngine:
    """Writes the whole run at each step."""

    name = "snapshot"
    journals = False  # what a `ctx` call returned is not durable by itself
    schema = """
    CREATE TABLE IF NOT EXISTS snapshots (
      run_id TEXT NOT NULL, state_version INTEGER NOT NULL, step TEXT NOT NULL, next TEXT NOT NULL, body BLOB NOT NULL,
      PRIMARY KEY (run_id, state_version)
    );
    """

    def __init__(self, store: Store, codec: Codec[Any]) -> None:
        self.store, self.codec = store, codec

    def begin(self, tx: Tx, run: Run[Any]) -> None:
        """Write the first snapshot."""
        runs.insert(tx, run, self.name)
        self._write(tx, run, "began")

    def load(self, run_id: str) -> tuple[Run[Any], list[Event]]:
        """The newest snapshot; there is never a tail to replay."""
        rows = self.store.rows("SELECT body FROM snapshots WHERE run_id=? ORDER BY state_version DESC LIMIT 1", run_id)
        if not rows:
            raise InvalidState(f"run {run_id} has no snapshot", safe="nothing was run", next="labkit history")
        return self.codec.decode(rows[0][0]), []

    def record(self, tx: Tx, run: Run[Any], event: Event) -> None:
        """Never called: this engine keeps no journal."""
        raise Unsupported(f"the snapshot engine records no calls, not even {event.name} of run {run.run_id}")

    def commit(self, tx: Tx, run: Run[Any], event: Event) -> None:
        """Write the state that the step left behind, if this owner still owns the run."""
        runs.advance(tx, run)
        self._write(tx, run, event.step)

    def history(self, run_id: str) -> list[Moment]:
        """Every snapshot kept, oldest first."""
        rows = self.store.rows(
            "SELECT state_version, 'snapshot', step, next, length(body) FROM snapshots WHERE run_id=?"
            " ORDER BY state_version",
            run_id,
        )
        return [Moment._make(row) for row in rows]

    def fork(self, tx: Tx, run_id: str, at: int, new_id: str) -> None:
        """Start `new_id` from the snapshot of version `at`; nothing is executed."""
        changed = tx.execute(
            "INSERT INTO snapshots SELECT ?, state_version, step, next, body FROM snapshots"
            " WHERE run_id=? AND state_version=?",
            *(new_id, run_id, at),
        )
        if not changed:
            raise Unsupported(f"run {run_id} has no snapshot of version {at}", safe="nothing was written")
        runs.fork(tx, run_id, new_id, at)

    def compact(self, tx: Tx, run: Run[Any]) -> int:
        """Drop every snapshot but the newest; return how many rows went."""
        return tx.execute(
            "DELETE FROM snapshots WHERE run_id=?1 AND state_version <"
            " (SELECT max(state_version) FROM snapshots WHERE run_id=?1)",
            run.run_id,
        )

    def _write(self, tx: Tx, run: Run[Any], step: str) -> None:
        row = (run.run_id, run.state_version, step, run.next_transition or "", self.codec.encode(run))
        tx.execute("INSERT INTO snapshots VALUES (?,?,?,?,?)", *row)
