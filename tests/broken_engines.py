"""Engines with one mistake each, as somebody's first engine might have it. The check of an engine finds every one."""

from __future__ import annotations

from typing import Any

import msgspec

from labkit.engines import EventSourcedEngine, HybridEngine, SnapshotEngine
from labkit.errors import InvalidState
from labkit.model import Event, Run
from labkit.store import runs
from labkit.store.protocol import Tx


class TextOrder(SnapshotEngine):
    """The newest version by the order of texts: "9" comes after "10"."""

    name = "text-order"

    def load(self, run_id: str) -> tuple[Run[Any], list[Event]]:
        rows = self.store.rows(
            "SELECT body FROM snapshots WHERE run_id=? ORDER BY CAST(state_version AS TEXT) DESC LIMIT 1", run_id
        )
        if not rows:
            raise InvalidState(f"run {run_id} has no snapshot")
        return self.codec.decode(rows[0][0]), []


class EventsInTextOrder(EventSourcedEngine):
    """The same in a journal."""

    name = "events-in-text-order"

    def load(self, run_id: str) -> tuple[Run[Any], list[Event]]:
        run, events = super().load(run_id)
        return run, sorted(events, key=lambda event: str(event.seq))


class StateBefore(SnapshotEngine):
    """Writes the state as it was before the step, with the place after it."""

    name = "state-before"
    last: bytes = b""

    def load(self, run_id: str) -> tuple[Run[Any], list[Event]]:
        found = super().load(run_id)
        self.last = self.codec.encode(found[0])
        return found

    def commit(self, tx: Tx, run: Run[Any], event: Event) -> None:
        before = self.codec.decode(self.last).data if self.last else run.data
        self.last = self.codec.encode(run)
        super().commit(tx, msgspec.structs.replace(run, data=before), event)
        run.state_version += 1


class BehindByOne(SnapshotEngine):
    """Counts the version at once, and writes the snapshot with the next step's, in another transaction."""

    name = "behind-by-one"
    waiting: tuple[Any, ...] | None = None

    def _write(self, tx: Tx, run: Run[Any], step: str) -> None:
        if self.waiting:
            tx.execute("INSERT INTO snapshots VALUES (?,?,?,?,?)", *self.waiting)
        row = (run.run_id, run.state_version, step, run.next_transition or "", self.codec.encode(run))
        self.waiting = row if step != "began" and run.next_transition else None
        if self.waiting is None:
            tx.execute("INSERT INTO snapshots VALUES (?,?,?,?,?)", *row)


class TailTooShort(HybridEngine):
    """The tail begins one event too late."""

    name = "tail-too-short"

    def load(self, run_id: str) -> tuple[Run[Any], list[Event]]:
        run, tail = super().load(run_id)
        return run, tail[1:]


class TailTooLong(HybridEngine):
    """The tail begins with the event that the snapshot holds already."""

    name = "tail-too-long"

    def load(self, run_id: str) -> tuple[Run[Any], list[Event]]:
        run, tail = super().load(run_id)
        version = tail[0].seq - 1 if tail else run.state_version
        held = self.store.rows(
            "SELECT seq, kind, step, name, payload FROM tail_events WHERE run_id=? AND seq=?", run_id, version
        )
        return run, [*(Event._make(row) for row in held if row[1] != "began"), *tail]


class NoVersionCheck(SnapshotEngine):
    """The last writer wins."""

    name = "no-version-check"

    def commit(self, tx: Tx, run: Run[Any], event: Event) -> None:
        found = runs.header(tx, run.tenant_id, run.run_id)
        run.state_version, run.fence = found.state_version, found.fence
        super().commit(tx, run, event)


class ForgetsResults(EventSourcedEngine):
    """Says that it keeps the result of each call, and keeps those of effects only."""

    name = "forgets-results"

    def record(self, tx: Tx, run: Run[Any], event: Event) -> None:
        if event.kind == "effect":
            super().record(tx, run, event)


class SaysTooMuch(SnapshotEngine):
    """Says that it keeps the result of each call, and keeps none."""

    name = "says-too-much"
    journals = True

    def record(self, tx: Tx, run: Run[Any], event: Event) -> None:
        runs.advance(tx, run)


class ForksFromTheEnd(SnapshotEngine):
    """A fork gets the newest snapshot, whichever was asked for."""

    name = "forks-from-the-end"

    def fork(self, tx: Tx, run_id: str, at: int, new_id: str) -> None:
        super().fork(tx, run_id, at, new_id)
        tx.execute(
            "UPDATE snapshots SET body=(SELECT body FROM snapshots WHERE run_id=?1 ORDER BY state_version DESC LIMIT 1)"
            " WHERE run_id=?2",
            *(run_id, new_id),
        )


class ForksFromTheStart(SnapshotEngine):
    """A fork begins where the run began, whichever version was asked for."""

    name = "forks-from-the-start"

    def fork(self, tx: Tx, run_id: str, at: int, new_id: str) -> None:
        super().fork(tx, run_id, at, new_id)
        tx.execute(
            "UPDATE snapshots SET body=(SELECT body FROM snapshots WHERE run_id=?1 ORDER BY state_version LIMIT 1)"
            " WHERE run_id=?2",
            *(run_id, new_id),
        )


class CompactsTooMuch(HybridEngine):
    """Compaction takes the events after the newest snapshot, too."""

    name = "compacts-too-much"

    def compact(self, tx: Tx, run: Run[Any]) -> int:
        return super().compact(tx, run) + tx.execute("DELETE FROM tail_events WHERE run_id=?", run.run_id)


class LosesAField(SnapshotEngine):
    """Does not bring back what is left of the budget."""

    name = "loses-a-field"

    def load(self, run_id: str) -> tuple[Run[Any], list[Event]]:
        run, tail = super().load(run_id)
        return msgspec.structs.replace(run, budgets=type(run.budgets)()), tail


BROKEN = [
    each
    for each in list(vars().values())
    if isinstance(each, type) and issubclass(each, (SnapshotEngine, EventSourcedEngine, HybridEngine))
    if each not in (SnapshotEngine, EventSourcedEngine, HybridEngine)
]
