"""What the scenes of the DBOS probes share: how a process launches DBOS, what it does with a run, what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy as sa
from dbos import DBOS, DBOSConfig, DBOSPortableJSONSerializer, SetWorkflowID

from labkit.stacks.probes.dbos_lives import Life

Said = dict[str, Any]
RUN, FORK, PROBE = "1", "1-fork", "probe"
GO = "go"
"""The file that a step waits for which is to last."""
POLL = 0.01  # seconds


def launch(life: Life) -> None:
    """Configure and launch DBOS; what this executor left pending is recovered."""
    config: DBOSConfig = {
        "name": "probe",
        "system_database_url": life.database,
        "dbos_system_schema": life.schema,
        "executor_id": life.executor,
        "notification_listener_polling_interval_sec": POLL,
        "log_level": "ERROR",
    }
    if life.version:
        config["application_version"] = life.version
    if life.option == "json":
        config["serializer"] = DBOSPortableJSONSerializer()
    DBOS(config=config)
    DBOS.launch()


def play(life: Life, workflow: Any) -> Said:
    """Launch; start the workflow, or see what becomes of the run that is there; say how it stands."""

    @DBOS.workflow(name="nothing")
    def nothing() -> None:
        return None

    launch(life)
    if life.verb == "start":
        with SetWorkflowID(RUN):
            DBOS.start_workflow(workflow)
    elif life.verb.endswith("look"):
        if life.verb.startswith("adopt"):
            DBOS.resume_workflow(RUN)
        pass_the_queue(nothing)
        return {"status": DBOS.retrieve_workflow(RUN).get_status().status, "version": DBOS.application_version}
    elif life.verb == "join":
        pass_the_queue(nothing)
        (Path(life.folder) / GO).touch()
    elif life.verb == "adopt":
        DBOS.resume_workflow(RUN)
    elif life.verb.startswith("fork"):
        with SetWorkflowID(FORK):
            DBOS.fork_workflow(RUN, int(life.verb.split()[1]), application_version=DBOS.application_version)
        return told(FORK)
    return told(RUN)


def pass_the_queue(nothing: Any) -> None:
    """Return when a workflow has gone through the queue of recovery: whatever was to be recovered came before it."""
    with SetWorkflowID(PROBE):
        DBOS.start_workflow(nothing).get_result(polling_interval_sec=POLL)
    fork = DBOS.fork_workflow(PROBE, 1, application_version=DBOS.application_version)
    fork.get_result(polling_interval_sec=POLL)  # without a version only a worker of the latest one would take it


def told(workflow_id: str) -> Said:
    """How the workflow ended, once it has."""
    handle: Any = DBOS.retrieve_workflow(workflow_id)
    try:
        said = {"result": handle.get_result(polling_interval_sec=POLL)}
    except Exception as error:
        said = {"error": f"{type(error).__name__}: {error}"}
    return said | {"status": handle.get_status().status}


def outputs(life: Life) -> str:
    """The table of what steps returned."""
    return "operation_outputs" if life.database.startswith("sqlite") else f'"{life.schema}".operation_outputs'


def stored(life: Life) -> list[str]:
    """What the table holds of the first step: its output as text, and the name of the serialization."""
    with sa.create_engine(life.database).begin() as connection:
        query = f"SELECT output, serialization FROM {outputs(life)} WHERE function_name='weigh'"
        row = connection.execute(sa.text(query)).first()
        return [str(column) for column in row] if row else []
