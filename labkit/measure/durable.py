"""The campaign as a DBOS workflow: what was measured is never measured again, whatever dies.

One workflow enqueues a workflow a cell; a cell's workflow measures its trials one by one, each as a step whose result
is recorded. On SQLite one process does all of it; on Postgres any number of workers take cells from the queue. Values
are stored as JSON: DBOS pickles by default, and nothing that was stored is ever unpickled here.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from dbos import DBOS, DBOSConfig, Serializer, SetWorkflowID

from labkit.errors import InvalidInput
from labkit.measure.plan import Plan
from labkit.measure.sites import Sites
from labkit.measure.trial import Cell, Result

QUEUE = "cells"
RELEASE = "1"
"""Of the shape of the workflows below: workers of another release leave a campaign alone."""
POLL = 0.2  # seconds
_open = threading.Lock()
_sites: Sites | None = None


class Json(Serializer):
    """Values as JSON text."""

    def serialize(self, data: Any) -> str:
        """`data` as JSON; an error becomes its words."""
        return msgspec.json.encode(data, enc_hook=repr).decode()

    def deserialize(self, serialized_data: str) -> Any:
        """What `serialize` wrote, as plain data."""
        return msgspec.json.decode(serialized_data)

    def name(self) -> str:
        """The name under which DBOS files such values."""
        return "json"


@DBOS.workflow(name="campaign")
def campaign(plan: dict[str, Any]) -> None:
    """Enqueue every cell of `plan` (a `Plan` as plain data) and wait for all of them."""
    asked = msgspec.convert(plan, Plan)
    waiting = []
    for number, cell in enumerate(asked.cells()):
        with SetWorkflowID(cell_id(asked, number)):
            waiting.append(DBOS.enqueue_workflow(QUEUE, measure_cell, msgspec.to_builtins(cell), asked.repeat))
    for handle in waiting:
        handle.get_result(polling_interval_sec=POLL)


@DBOS.workflow(name="cell")
def measure_cell(cell: dict[str, Any], repeat: int) -> list[dict[str, Any]]:
    """Measure `repeat` trials of `cell` (a `Cell` as plain data); return their results as plain data."""
    return [measure_trial(cell, f"{DBOS.workflow_id}-{number}") for number in range(1, repeat + 1)]


@DBOS.step(name="trial")
def measure_trial(cell: dict[str, Any], name: str) -> dict[str, Any]:
    """Measure one trial. A step that its process did not live to finish is measured anew, and recorded once."""
    assert _sites, "a step runs in a process that has opened its sites"
    found: dict[str, Any] = msgspec.to_builtins(_sites.measure(msgspec.convert(cell, Cell), name))
    return found


def cell_id(plan: Plan, number: int) -> str:
    """The id of the workflow that measures cell `number` of the plan."""
    return f"{plan.id}-{number:04}"


@contextmanager
def executor(database: str, name: str, sites: Sites, lanes: int) -> Iterator[None]:
    """Take part in the campaigns of `database` (an SQLAlchemy URL) as executor `name`, `lanes` cells at a time.

    What this executor left unfinished, when it was killed, is gone on with. One at a time in a process.
    """
    global _sites
    if not _open.acquire(blocking=False):
        raise InvalidInput("this process takes part in a campaign already", safe="it goes on", next="wait for its end")
    try:
        _sites = sites
        DBOS(config=_config(database, name))
        DBOS.launch()
        DBOS.register_queue(QUEUE, worker_concurrency=lanes, polling_interval_sec=POLL, on_conflict="always_update")
        yield
    finally:
        DBOS.destroy()
        _sites = None
        _open.release()


def begin(plan: Plan) -> None:
    """Start the campaign, unless it has been started."""
    with SetWorkflowID(plan.id):
        DBOS.start_workflow(campaign, msgspec.to_builtins(plan))


def finished(plan: Plan) -> dict[int, list[Result]]:
    """The results of the cells that are finished, by number."""
    found = DBOS.list_workflows(workflow_id_prefix=f"{plan.id}-", status="SUCCESS")
    return {
        int(each.workflow_id.rpartition("-")[2]): msgspec.convert(each.output, list[Result])
        for each in found
        if each.name == "cell"
    }


def count_finished(plan: Plan) -> int:
    """How many cells are finished."""
    return len(DBOS.list_workflows(workflow_id_prefix=f"{plan.id}-", status="SUCCESS", name="cell", load_output=False))


def _config(database: str, name: str) -> DBOSConfig:
    return {
        "name": "labkit-campaign",
        "system_database_url": database,
        "application_version": RELEASE,
        "executor_id": name,
        "serializer": Json(),
        "log_level": "ERROR",
    }
