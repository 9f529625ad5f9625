"""The campaign as DBOS workflows: what was measured is never measured again, whatever dies.

A workflow for each stack enqueues a workflow a cell; a cell's workflow measures its trials one by one, each as a step
whose result is recorded. On SQLite one process does all of it; on Postgres any number of workers take cells from the
queues. A queue belongs to one stack in one set of versions, and only who has these listens to it. Values are stored as
JSON, where DBOS pickles by default; but DBOS unpickles a row that says of itself that it is a pickle, so that who may
write to a campaign's database can run code in its workers.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
from dbos import DBOS, DBOSConfig, Serializer, SetWorkflowID
from sqlalchemy.exc import SQLAlchemyError

from labkit.errors import InvalidInput
from labkit.measure.plan import Plan, versions
from labkit.measure.report import Done
from labkit.measure.sites import Sites
from labkit.measure.trial import Cell, Result

RELEASE = "2"
"""Of the shape of the workflows below: workers of another release leave a campaign alone."""
AHEAD = 4
"""Cells of one stack that a worker takes at a time; those for which it has no lane wait in it."""
POLL = 0.2  # seconds
OPEN = ["ENQUEUED", "PENDING"]
OVER = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
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
    """Enqueue every cell of `plan` (a `Plan` for one stack, as plain data)."""
    asked = msgspec.convert(plan, Plan)
    (stack,) = asked.stacks
    for number, cell in enumerate(asked.cells()):
        with SetWorkflowID(cell_id(asked, number)):
            queue = queue_of(stack, asked.versions[stack])
            DBOS.enqueue_workflow(queue, measure_cell, msgspec.to_builtins(cell), asked.repeat, asked.mode)


@DBOS.workflow(name="cell")
def measure_cell(cell: dict[str, Any], repeat: int, mode: str) -> list[dict[str, Any]]:
    """Measure `repeat` trials of `cell` (a `Cell` as plain data); return their results as plain data."""
    with _here().lane:
        return [measure_trial(cell, f"{DBOS.workflow_id}-{number}", mode) for number in range(1, repeat + 1)]


@DBOS.step(name="trial")
def measure_trial(cell: dict[str, Any], name: str, mode: str) -> dict[str, Any]:
    """Measure one trial. A step that its process did not live to finish is measured anew, and recorded once."""
    found: dict[str, Any] = msgspec.to_builtins(_here().measure(msgspec.convert(cell, Cell), name, mode))
    return found


def cell_id(part: Plan, number: int) -> str:
    """The id of the workflow that measures cell `number` of the plan for one stack."""
    return f"{part.id}-{number:04}"


def queue_of(stack: str, found: dict[str, str] | None = None) -> str:
    """The queue of this stack in the versions that were `found`, by default those of this machine."""
    here = versions([stack]) if found is None else found
    return f"{stack} with {', '.join(f'{name} {version}' for name, version in sorted(here.items()))}"


@contextmanager
def executor(database: str, name: str, sites: Sites, queues: Sequence[str]) -> Iterator[None]:
    """Take part in the campaigns of `database` (an SQLAlchemy URL) as executor `name`, with what is in these queues.

    What this executor left unfinished, when it was killed, is gone on with. One at a time in a process. Raises
    InvalidInput when the database cannot be used.
    """
    global _sites
    if not _open.acquire(blocking=False):
        raise InvalidInput("this process takes part in a campaign already", safe="it goes on", next="wait for its end")
    try:
        _sites = sites
        _launch(database, name, queues)
        yield
    finally:
        sites.stop()
        DBOS.destroy()
        _sites = None
        _open.release()


def require_sound(folder: Path) -> None:
    """Raise InvalidInput when a database of a campaign in `folder` is damaged, or none at all."""
    for path in sorted(folder.glob("*.db")) if folder.is_dir() else ():
        why = _damage(path)
        if why:
            raise InvalidInput(
                f"{path} cannot be used as a campaign's database: {why}",
                safe="it is untouched; what was measured there cannot be read",
                next=f"name another folder, or move this one away to measure anew: mv {folder} {folder}.damaged",
            )


def _damage(path: Path) -> str:
    if not path.is_file():
        return "it is no file"
    if not os.access(path, os.R_OK | os.W_OK) or not os.access(path.parent, os.W_OK):
        return "it, or its folder, is read-only"
    try:
        with closing(sqlite3.connect(path, timeout=0)) as database:
            (said,) = database.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError as error:  # locked: somebody uses it, so that it is sound
        return "" if error.sqlite_errorname.startswith("SQLITE_BUSY") else str(error)
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if said == "ok" else " ".join(said.split())


def begin(part: Plan) -> None:
    """Start the campaign of a plan for one stack, unless it has been started."""
    with SetWorkflowID(part.id):
        DBOS.start_workflow(campaign, msgspec.to_builtins(part))


def finished(parts: Sequence[Plan]) -> dict[str, Done]:
    """The cells that are finished, by id; one that could not be measured to its end is an error."""
    return {
        each.workflow_id: Done(
            msgspec.convert(each.output, list[Result])
            if each.status == "SUCCESS"
            else [Result(kind="error", detail=f"{each.status}: {each.error}"[:600])],
            each.executor_id or "",
        )
        for each in _cells(parts, load_output=True)
    }


def count_finished(parts: Sequence[Plan]) -> int:
    """How many cells are finished."""
    return len(_cells(parts, load_output=False)) if parts else 0


def is_idle(queues: Sequence[str]) -> bool:
    """True when nothing waits in these queues, nothing taken from them is unfinished, and no campaign is beginning."""
    left = DBOS.list_workflows(status=OPEN, queue_name=list(queues), load_input=False)
    return not left and not DBOS.list_workflows(status=OPEN, name="campaign", load_input=False)


def _cells(parts: Sequence[Plan], *, load_output: bool) -> list[Any]:
    prefixes = [f"{part.id}-" for part in parts]
    return DBOS.list_workflows(
        workflow_id_prefix=prefixes, status=OVER, name="cell", load_input=False, load_output=load_output
    )


def _here() -> Sites:
    assert _sites, "a workflow runs in a process that has opened its sites"
    return _sites


def _launch(database: str, name: str, queues: Sequence[str]) -> None:
    try:
        DBOS(config=_config(database, name))
        DBOS.listen_queues(queues)
        DBOS.launch()
    except SQLAlchemyError as error:
        raise InvalidInput(
            f"the campaign's database cannot be used: {getattr(error, 'orig', error)}",
            safe="it is as it was",
            next="name another folder or address",
        ) from error
    for queue in queues:
        DBOS.register_queue(queue, worker_concurrency=AHEAD, polling_interval_sec=POLL, on_conflict="always_update")


def _config(database: str, name: str) -> DBOSConfig:
    return {
        "name": "labkit-campaign",
        "system_database_url": database,
        "application_version": RELEASE,
        "executor_id": name,
        "serializer": Json(),
        "log_level": "CRITICAL",  # what goes wrong in a cell is in the report
    }
