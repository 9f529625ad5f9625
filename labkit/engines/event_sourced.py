"""Event-sourced recovery: every call's result and every completed step is an event; a new process replays them all.

Durable after a `ctx` call: its result. A crash inside a step goes on after the last recorded call. Replay runs the
code again against the journal, so a changed order of calls is an error. Bytes grow with the calls, the time to
load grows with the history. This is the shape of Temporal and Restate.
"""

from __future__ import annotations

from typing import Any

from labkit.codec import Codec
from labkit.errors import InvalidState, Unsupported
from labkit.model import TERMINAL, Event, Moment, Run
from labkit.store import runs
from labkit.store.protocol import Store, Tx


class EventSourcedEngine:
    """Writes one event for each call and each step."""

    name = "event-sourced"
    journals = True
    schema = """
    CREATE TABLE IF NOT EXISTS events (
      run_id TEXT NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, step TEXT NOT NULL, name TEXT NOT NULL,
      payload BLOB NOT NULL, PRIMARY KEY (run_id, seq)
    ) WITHOUT ROWID;
    """

    def __init__(self, store: Store, codec: Codec[Any]) -> None:
        self.store, self.codec = store, codec

    def begin(self, tx: Tx, run: Run[Any]) -> None:
        """Write the first event: the run with its input."""
        runs.insert(tx, run, self.name)
        self._append(tx, run, Event(0, "began", "run", run.workflow_id, self.codec.encode(run)))

    def load(self, run_id: str) -> tuple[Run[Any], list[Event]]:
        """The run as it began, and every event since, for the runner to replay."""
        rows = self.store.rows("SELECT seq, kind, step, name, payload FROM events WHERE run_id=? ORDER BY seq", run_id)
        if not rows:
            raise InvalidState(f"run {run_id} has no events", safe="nothing was run", next="labkit history")
        return self.codec.decode(rows[0][4]), list(map(Event._make, rows[1:]))

    def record(self, tx: Tx, run: Run[Any], event: Event) -> None:
        """Append what a `ctx` call returned, if this owner still owns the run."""
        runs.advance(tx, run)
        self._append(tx, run, event)

    def commit(self, tx: Tx, run: Run[Any], event: Event) -> None:
        """Append that the step completed and where it leads; check that the state could be stored."""
        self.codec.encode(run)
        runs.advance(tx, run)
        self._append(tx, run, event)

    def history(self, run_id: str) -> list[Moment]:
        """Every event, oldest first."""
        rows = self.store.rows(
            "SELECT seq, kind, step, name, length(payload) FROM events WHERE run_id=? ORDER BY seq", run_id
        )
        return [Moment._make(row) for row in rows]

    def fork(self, tx: Tx, run_id: str, at: int, new_id: str) -> None:
        """Start `new_id` from the events up to version `at`; nothing is executed."""
        changed = tx.execute(
            "INSERT INTO events SELECT ?1, seq, kind, step, name, payload FROM events"
            " WHERE run_id=?2 AND seq<=?3 AND EXISTS (SELECT 1 FROM events WHERE run_id=?2 AND seq=?3)",
            *(new_id, run_id, at),
        )
        if not changed:
            raise Unsupported(f"run {run_id} has no event {at}", safe="nothing was written")
        runs.fork(tx, run_id, new_id, at)

    def compact(self, tx: Tx, run: Run[Any]) -> int:
        """Fold a closed run into one event; return how many rows went. An open run needs every event it has."""
        if run.status not in TERMINAL:
            raise Unsupported(f"run {run.run_id} is {run.status}: replay needs its whole journal", next="use hybrid")
        gone = tx.execute("DELETE FROM events WHERE run_id=?", run.run_id)
        self._append(tx, run, Event(0, "began", "run", run.workflow_id, self.codec.encode(run)))
        return gone - 1

    def _append(self, tx: Tx, run: Run[Any], event: Event) -> None:
        row = (run.run_id, run.state_version, event.kind, event.step, event.name, event.payload)
        tx.execute("INSERT INTO events VALUES (?,?,?,?,?,?)", *row)
