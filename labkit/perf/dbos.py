"""DBOS as its documentation writes it: a workflow that calls one step in a loop, system database in SQLite."""

from __future__ import annotations

from pathlib import Path

from dbos import DBOS, SetWorkflowID

from labkit.perf.texts import texts
from labkit.perf.watch import Watch

RUN = "perf-1"


def play(folder: Path, size: int, watch: Watch) -> None:
    """Launch, which takes up a run that was left, or start one; let it run until the watch stops it."""
    bodies = texts(size)
    database = folder / "dbos.db"
    left = database.exists()
    watch.open()
    DBOS(
        config={
            "name": "perf",
            "system_database_url": f"sqlite:///{database}",
            "application_version": "1",
            "executor_id": "perf",
            "log_level": "ERROR",
        }
    )

    @DBOS.step()
    def work(number: int) -> str:
        watch.enter(number)
        return bodies[number % len(bodies)]

    @DBOS.workflow()
    def run() -> None:
        number = 0
        while True:
            work(number)
            number += 1

    DBOS.launch()
    if left:
        DBOS.retrieve_workflow(RUN).get_result()
    with SetWorkflowID(RUN):
        run()
