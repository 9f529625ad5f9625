"""The eventsourcing library with its SQLite recorder: one event and one save a step."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from eventsourcing.application import AggregateNotFoundError, Application
from eventsourcing.domain import Aggregate, event

from labkit.perf.texts import texts
from labkit.perf.watch import Watch

RUN = UUID(int=1)


class Work(Aggregate):
    """A text that changes at each step."""

    def __init__(self) -> None:
        self.text = ""

    @staticmethod
    def create_id() -> UUID:
        """There is one aggregate."""
        return RUN

    @event("Changed")
    def change(self, text: str) -> None:
        """Make `text` the text."""
        self.text = text


def play(folder: Path, size: int, watch: Watch) -> None:
    """Make or read back the aggregate and change it, for ever, until the watch stops it."""
    bodies = texts(size)
    watch.open()
    app: Application = Application(
        env={"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": str(folder / "eventsourcing.db")}
    )
    try:
        work: Work = app.repository.get(RUN)
    except AggregateNotFoundError:
        work = Work()
        app.save(work)
    while True:
        watch.enter(work.version - 1)
        work.change(bodies[work.version % len(bodies)])
        app.save(work)
