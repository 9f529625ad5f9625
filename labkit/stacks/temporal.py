"""Temporal: a workflow whose steps are activities; the server keeps the history, and any worker can go on from it.

Each process that starts or resumes a run is its worker until the run is over or waits. The server learns from a timeout
that a worker has died, and gives its task to the next one.
Source: docs.temporal.io/develop/python (message passing, failure detection, timers, versioning).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import uuid4

from temporalio import activity, workflow
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError, WorkflowQueryFailedError
from temporalio.common import RetryPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.service import RPCError
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    from labkit.cases.desk import PLAN, plan_of
    from labkit.stacks.base import Desk, Facts, NeedsPerson, Place, Restored, Stack, Standing

TASK = timedelta(seconds=2)  # so long the server waits for an activity or a decision before it asks another worker
RETRY = RetryPolicy(initial_interval=timedelta(milliseconds=100))


class _Steps:
    """What each version of the workflow shares: steps that are activities, the manager's signal, and a query."""

    def __init__(self) -> None:
        self._facts: Facts = {}
        self._next, self._approved = "", False

    async def follow(self, plan: tuple[str, ...], local: bool) -> Facts:
        execute = workflow.execute_local_activity if local else workflow.execute_activity
        options: dict[str, Any] = {"start_to_close_timeout": TASK, "retry_policy": RETRY, "result_type": Facts}
        for self._next in plan:
            if self._next == "manager_approval":
                await workflow.wait_condition(lambda: self._approved, timeout=timedelta(days=7))
                self._facts["approved"] = True
            self._facts |= await execute(self._next, self._facts, **options)
        self._next = ""
        return self._facts

    @workflow.signal
    def approve(self) -> None:
        self._approved = True

    @workflow.query
    def state(self) -> dict[str, Any]:
        asks = self._next == "manager_approval" and not self._approved
        return {"facts": self._facts, "next": self._next, "asks": asks}


@workflow.defn(name="Refund", failure_exception_types=[TimeoutError])
class _Refund(_Steps):
    @workflow.run
    async def _run(self, local: bool) -> Facts:
        return await self.follow(PLAN, local)


@workflow.defn(name="Refund", failure_exception_types=[TimeoutError])
class _Renamed(_Steps):
    @workflow.run
    async def _run(self, local: bool) -> Facts:
        return await self.follow(plan_of("renamed"), local)


@workflow.defn(name="Refund", failure_exception_types=[TimeoutError])
class _Inserted(_Steps):
    @workflow.run
    async def _run(self, local: bool) -> Facts:
        return await self.follow(plan_of("inserted"), local)


def activity_of(desk: Desk, step: str) -> Callable[[Facts], Facts]:
    """The activity that does `step` at the desk."""

    @activity.defn(name=step)
    def perform(facts: Facts) -> Facts:
        try:
            return desk.do(step, facts)
        except NeedsPerson as stopped:
            raise ApplicationError(stopped.what, type="NeedsPerson", non_retryable=True) from None

    return perform


class Run:
    """A run on the server at `place`, for one process. Its worker caches none, or the server waits for a dead one."""

    def __init__(self, client: Client, place: Place) -> None:
        named = place.folder / f"{place.run_id}.id"  # a server outlives folders, and a path may come again
        with suppress(FileExistsError), named.open("x") as file:
            file.write(str(uuid4()))
        self._client, self._id = client, named.read_text()
        code = {"": _Refund, "renamed": _Renamed, "inserted": _Inserted}[place.change]
        self._worker: dict[str, Any] = {"task_queue": self._id, "workflows": [code], "max_cached_workflows": 0}
        self.handle = client.get_workflow_handle(self._id)

    async def begin(self, local: bool) -> None:
        """Start the workflow, unless the server knows one of this id, running or closed."""
        options: dict[str, Any] = {"id_reuse_policy": WorkflowIDReusePolicy.REJECT_DUPLICATE, "task_timeout": TASK}
        with suppress(WorkflowAlreadyStartedError):
            await self._client.start_workflow("Refund", local, id=self._id, task_queue=self._id, **options)

    async def reset(self, event: int) -> None:
        """Make a new run under the same id, with the history up to `event`; one that is under way is terminated."""
        request = ResetWorkflowExecutionRequest(namespace=self._client.namespace, request_id=str(uuid4()))
        request.workflow_execution.workflow_id, request.workflow_task_finish_event_id = self._id, event
        await self._client.workflow_service.reset_workflow_execution(request)

    async def points(self) -> list[str]:
        """The events that the run can be reset to, each with the activity that was then scheduled."""
        found: list[str] = []
        async for event in self.handle.fetch_history_events():
            if event.HasField("workflow_task_completed_event_attributes"):
                found.append(str(event.event_id))
            elif event.HasField("activity_task_scheduled_event_attributes"):
                found[-1] += f" {event.activity_task_scheduled_event_attributes.activity_type.name}"
        return found

    async def look(self) -> Restored:
        """Ask a worker that has the workflow and none of its activities."""
        async with Worker(self._client, **self._worker):
            found = await self.handle.query("state")
        return Restored(found["facts"], found["next"])

    async def work(self, desk: Desk, first: Awaitable[None]) -> Standing:
        """Do what comes `first`, then be a worker until the run is over, or waits, or cannot go on with this code."""
        await first
        activities, threads = [activity_of(desk, step) for step in desk.plan], ThreadPoolExecutor()
        async with Worker(self._client, activities=activities, activity_executor=threads, **self._worker):
            while not (standing := await self._standing(desk)):
                await asyncio.sleep(0.05)
        return standing

    async def _standing(self, desk: Desk) -> Standing | None:
        if (await self.handle.describe()).status != WorkflowExecutionStatus.RUNNING:
            try:
                return Standing("completed", await self.handle.result())
            except WorkflowFailureError as failed:
                return Standing("failed", {}, f"{failed.cause}: {failed.cause.__cause__}")
        try:
            state = await self.handle.query("state", rpc_timeout=TASK)
        except (WorkflowQueryFailedError, RPCError) as error:  # no decision yet, or code that does not fit the history
            stuck = any(sign in str(error) for sign in ("Nondeterminism", "failed state"))
            return Standing("failed", {}, f"still running, and stuck: {error}") if stuck else None
        return Standing("waiting", state["facts"], desk.question(state["facts"])) if state["asks"] else None


class Temporal(Stack):
    """The refund on a Temporal server; with `local`, its steps are local activities."""

    packages, services = ("temporalio",), ("temporal",)

    def __init__(self, name: str, local: bool) -> None:
        self.name, self._local = name, local

    def start(self, desk: Desk, place: Place) -> Standing:
        """Start the workflow and be its worker."""
        return _at(place, lambda run: run.work(desk, run.begin(self._local)))

    resume = start  # be a worker: the server hands out what the dead one left; a run that it does not know is started

    def approve(self, desk: Desk, place: Place) -> Standing:
        """Send the manager's signal, and be a worker."""
        return _at(place, lambda run: run.work(desk, run.handle.signal("approve")))

    def restored(self, desk: Desk, place: Place) -> Restored:
        """The answer to a query, from a worker that cannot go on."""
        if self._local:
            raise self.lacks("look without going on", "a worker that answers a query needs the local activities")
        return _at(place, lambda run: run.look())

    def history(self, desk: Desk, place: Place) -> list[str]:
        """The events that the run can be reset to."""
        return _at(place, lambda run: run.points())

    def fork(self, desk: Desk, place: Place, point: str) -> Standing:
        """Reset the run to an event, and be a worker."""
        return _at(place, lambda run: run.work(desk, run.reset(int(point.split()[0]))))


STACKS = (Temporal("temporal", local=False), Temporal("temporal-local", local=True))


def _at(place: Place, do: Callable[[Run], Awaitable[Any]]) -> Any:
    async def connected() -> Any:
        return await do(Run(await Client.connect(place.services["temporal"]), place))

    return asyncio.run(connected())
