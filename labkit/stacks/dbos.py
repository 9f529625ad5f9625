"""DBOS: a workflow whose steps are recorded in a database, SQLite or Postgres; a new process replays what is recorded.

The system database belongs to one run: with SQLite it is a file, with Postgres a schema. Version and executor id are
pinned, as a deployment that wants to recover its own runs has to.
"""

from __future__ import annotations

import hashlib
import time
from typing import Any

from dbos import DBOS, DBOSClient, SetWorkflowID

from labkit.stacks.base import Desk, Facts, Place, Restored, Stack, Standing

DAY = 24 * 3600.0
POLL = 0.01
"""Seconds between two looks at the database, where DBOS lets its user choose; it looks once a second by itself."""
OPEN = ("PENDING", "ENQUEUED", "DELAYED")


class Dbos(Stack):
    """The refund as a DBOS workflow."""

    def __init__(self, name: str, *services: str) -> None:
        self.name, self.services = name, services
        self.packages = ("dbos", "sqlalchemy", *(["psycopg"] if services else []))
        self._desk: Desk | None = None
        self._refund: Any = None

    def start(self, desk: Desk, place: Place) -> Standing:
        """Start the workflow under the run's id; an id that is there already is not started again."""
        self._launch(desk, place)
        with SetWorkflowID(place.run_id):
            DBOS.start_workflow(self._refund)
        return standing(place.run_id)

    def approve(self, desk: Desk, place: Place) -> Standing:
        """Send the manager's word to the workflow, which receives it."""
        self._launch(desk, place)
        DBOS.send(place.run_id, True, topic="approval")
        return ended(place.run_id)

    def resume(self, desk: Desk, place: Place) -> Standing:
        """Launching recovers what this executor left pending; wait for it. What was never saved is started."""
        self._launch(desk, place)
        if DBOS.get_workflow_status(place.run_id) is None:
            return self.start(desk, place)
        return standing(place.run_id)

    def restored(self, desk: Desk, place: Place) -> Restored:
        """The outputs of the recorded steps; next comes the first step that has none."""
        outputs = {name: output for _, name, output in self._steps(place) if name in desk.plan}
        facts = {key: value for output in outputs.values() for key, value in output.items()}
        return Restored(facts, next((name for name in desk.plan if name not in outputs), ""))

    def history(self, desk: Desk, place: Place) -> list[str]:
        """Every recorded step, those of DBOS itself included."""
        return [f"{number} {name}" for number, name, _ in self._steps(place)]

    def fork(self, desk: Desk, place: Place, point: str) -> Standing:
        """Start another workflow from a step of the first, with the outputs of the steps before it."""
        self._launch(desk, place)
        with SetWorkflowID(f"{place.run_id}-fork"):
            forked = DBOS.fork_workflow(place.run_id, int(point.split()[0]))
        return standing(forked.get_workflow_id())

    def _launch(self, desk: Desk, place: Place) -> None:
        if self._desk is desk:
            return
        DBOS.destroy(destroy_registry=True)  # of another run in this process, if there was one
        DBOS(
            config={
                "name": "refund",
                "system_database_url": self._database(place),
                "dbos_system_schema": schema(place),
                "application_version": "1",
                "executor_id": "worker",
                "notification_listener_polling_interval_sec": POLL,
                "log_level": "ERROR",
            }
        )
        self._desk, self._refund = desk, workflow_of(desk)
        DBOS.launch()

    def _database(self, place: Place) -> str:
        if "postgres" in self.services:
            return place.services["postgres"]
        return f"sqlite:///{place.folder / 'dbos.sqlite'}"

    def _steps(self, place: Place) -> list[tuple[int, str, Any]]:
        client = DBOSClient(system_database_url=self._database(place), dbos_system_schema=schema(place))
        try:
            recorded = client.list_workflow_steps(place.run_id)
        finally:
            client.destroy()
        return [(step["function_id"], step["function_name"], step["output"]) for step in recorded]


def workflow_of(desk: Desk) -> Any:
    """The refund: one DBOS step for each step of the desk, a message for the manager's word."""

    def step_of(name: str) -> Any:
        @DBOS.step(name=name)
        def step(facts: Facts) -> Facts:
            return desk.do(name, facts)

        return step

    steps = {name: step_of(name) for name in desk.plan}

    @DBOS.workflow(name="refund")
    def refund() -> Facts:
        facts: Facts = {}
        for name in desk.plan:
            if name == "manager_approval":
                DBOS.set_event("waits for", desk.question(facts))
                facts["approved"] = DBOS.recv("approval", timeout_seconds=DAY)
                DBOS.set_event("waits for", "")
            facts |= steps[name](facts)
        return facts

    return refund


def standing(workflow_id: str) -> Standing:
    """How the workflow stands once it has ended or waits for the manager."""
    while DBOS.retrieve_workflow(workflow_id).get_status().status in OPEN:
        question = DBOS.get_event(workflow_id, "waits for", timeout_seconds=0)
        if question:
            return Standing("waiting", detail=question)
        time.sleep(POLL)
    return ended(workflow_id)


def ended(workflow_id: str) -> Standing:
    """How the workflow ended."""
    try:
        result: Facts = DBOS.retrieve_workflow(workflow_id).get_result(polling_interval_sec=POLL)
    except Exception as error:  # the workflow's own, or DBOS's
        return Standing("failed", detail=f"{type(error).__name__}: {error}")
    return Standing("completed", result)


def schema(place: Place) -> str:
    """The schema of a run on a server that many runs share."""
    return f"lab_{hashlib.sha256(str(place.folder).encode()).hexdigest()[:16]}"


STACKS = (Dbos("dbos"), Dbos("dbos-postgres", "postgres"))
