"""What is special to Temporal. Each probe is named by what it would be good to rely on; `fail` means do not."""

from __future__ import annotations

import asyncio
import os

from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError

from labkit.bench.trace import KILL
from labkit.stacks.conformance import Finding
from labkit.stacks.probes.temporal_langgraph import LANGGRAPH
from labkit.stacks.probes.temporal_lives import (
    PATIENCE,
    Promises,
    Stage,
    happened,
    judged,
    own_server,
    play,
    status_of,
)
from labkit.stacks.probes.temporal_replay import REPLAY

promise = Promises()
MEGABYTE = 1024 * 1024


async def killed_and_finished(stage: Stage, workflow: str, kill: str) -> tuple[str, dict[str, int]]:
    """Start a workflow, kill its worker at a place, let another one finish: the status, and what was executed."""
    run = await stage.start(workflow)
    await stage.die(kill)
    return await stage.finish(run), dict(stage.executed)


@promise("an activity that had completed is not executed again after a kill")
async def completed_stays(stage: Stage) -> Finding:
    """The worker dies at the entry of the next activity."""
    status, executed = await killed_and_finished(stage, "Order", "ship entered")
    return judged(status == "completed" and executed == {"pay": 1, "ship": 1}, f"{status}, executed {executed}")


@promise("an activity that was killed after its effect is not executed again")
async def at_least_once(stage: Stage) -> Finding:
    """The worker dies before the activity returns."""
    status, executed = await killed_and_finished(stage, "Order", "pay executed")
    return judged(executed["pay"] == 1, f"{status}, executed {executed}")


@promise("a local activity that had completed is not executed again after a kill")
async def local_stays(stage: Stage) -> Finding:
    """The worker dies at the entry of the third local activity: the first two were never reported to the server."""
    status, executed = await killed_and_finished(stage, "LocalOrder", "ship entered")
    return judged(executed == {"pay": 1, "check": 1, "ship": 1}, f"{status}, executed {executed}")


@promise("a signal and a timer survive the worker")
async def signal_and_timer(stage: Stage) -> Finding:
    """No worker lives when the signal is sent, nor when the timer runs out."""
    run = await stage.start("Waiting", 1.0)
    async with stage.worker():
        await happened(run, "activity_task_completed")
    await run.signal("go")
    async with stage.worker():
        await happened(run, "timer_started")
    await happened(run, "timer_fired")
    status = await stage.finish(run)
    executed = dict(stage.executed)
    return judged(status == "completed" and executed == {"pay": 1, "ship": 1}, f"{status}, executed {executed}")


@promise("a run survives the death of the server, and so does its worker")
async def server_killed(stage: Stage) -> Finding:
    """The dev server, with its database in a file, is killed while the run waits, and started again at its port."""
    with own_server(stage.folder) as (address, pid):
        return await play(lambda own: waits_through(own, pid), address, stage.folder)


async def waits_through(stage: Stage, pid: int) -> Finding:
    """Let a run wait; kill the server with this pid and start another; send the signal."""
    run = await stage.start("Waiting", 0.0)
    async with stage.worker() as worker:
        await happened(run, "activity_task_completed")
        os.kill(pid, KILL)
        with own_server(stage.folder, stage.port):
            await run.signal("go")
            status, executed = await status_of(run), dict(stage.executed)
        lives = worker.poll() is None
    good = status == "completed" and executed == {"pay": 1, "ship": 1} and lives
    return judged(good, f"{status}, executed {executed}, the worker {'lives' if lives else 'is dead'}")


@promise("an activity that ends while the server is dead is not executed again")
async def ends_without_server(stage: Stage) -> Finding:
    """The worker cannot report the result, and has to try until a server is there."""
    with own_server(stage.folder) as (address, pid):
        return await play(lambda own: reports_late(own, pid), address, stage.folder)


async def reports_late(stage: Stage, pid: int) -> Finding:
    """Kill the server with this pid while an activity runs, let the activity end, and start another server."""
    run = await stage.start("Slow", PATIENCE)
    async with stage.worker():
        while not stage.executed:
            await asyncio.sleep(0.05)
        os.kill(pid, KILL)
        stage.let_go()
        with own_server(stage.folder, stage.port):
            status, executed = await status_of(run), dict(stage.executed)
    return judged(status == "completed" and executed == {"wait": 1, "ship": 1}, f"{status}, executed {executed}")


@promise("an id that was used is refused, without being asked for it")
async def used_id(stage: Stage) -> Finding:
    """A finished workflow is started again under its id, with the options left as they are."""
    for _ in range(2):
        status = await stage.finish(await stage.start("Order"))
    executed = dict(stage.executed)
    return judged(executed == {"pay": 1, "ship": 1}, f"{status}, executed {executed}")


@promise("a run that is under way goes on when it is forked")
async def forked_under_way(stage: Stage) -> Finding:
    """Reset is the fork of Temporal: here to the first decision of a run that waits for a signal."""
    run = await stage.start("Waiting", 0.0)
    async with stage.worker():
        await happened(run, "activity_task_completed")
    events = [event async for event in run.fetch_history_events()]
    first = next(event for event in events if event.HasField("workflow_task_completed_event_attributes"))
    request = ResetWorkflowExecutionRequest(namespace=stage.client.namespace, request_id="fork")
    request.workflow_execution.workflow_id, request.workflow_task_finish_event_id = run.id, first.event_id
    await stage.client.workflow_service.reset_workflow_execution(request)
    status = (await stage.client.get_workflow_handle(run.id, run_id=run.first_execution_run_id).describe()).status
    return judged(status == WorkflowExecutionStatus.RUNNING, f"the first run is {status.name if status else 'gone'}")


@promise("an argument of three megabytes is refused before anything runs")
async def large_argument(stage: Stage) -> Finding:
    """The limit of the server is two."""
    try:
        run = await stage.start("Large", 0, "x" * 3 * MEGABYTE)
    except (RPCError, RuntimeError) as error:
        return judged(not stage.executed, f"{type(error).__name__}: {error}"[:200])
    return judged(False, f"started, then {await stage.finish(run)}, executed {dict(stage.executed)}")


@promise("a result of three megabytes fails the run, and its activity is not executed again")
async def large_result(stage: Stage) -> Finding:
    """The activity has happened when its result turns out to be too large."""
    run = await stage.start("Large", 3 * MEGABYTE)
    status, executed = await stage.finish(run), dict(stage.executed)
    return judged(status.startswith("failed") and executed == {"fetch": 1}, f"{status[:160]}, executed {executed}")


PROBES = {**promise, **REPLAY, **LANGGRAPH}
"""Every probe by its name: a function of (a folder that is not there yet, the addresses of servers) to a finding."""
