"""The processes of the Temporal probes: workers that die, and a server that may be killed."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.runtime import Runtime, TelemetryConfig
from temporalio.worker import Worker

from labkit.bench.launch import KILLED
from labkit.errors import LabError
from labkit.stacks.conformance import Finding
from labkit.stacks.probes.temporal_scenes import WORKFLOWS, World

PATIENCE = 40.0
"""Seconds that anything in a probe may take."""
TASK = timedelta(seconds=2)
Handle = WorkflowHandle[Any, Any]
Probe = Callable[["Stage"], Coroutine[Any, Any, Finding]]


class Stage:
    """A server, a task queue and a file for what was executed, all for one probe in its new `folder`.

    `module` is where its workers find their `work(address, queue, outside, kill)`.
    """

    module = __name__

    def __init__(self, client: Client, folder: Path) -> None:
        self.client, self.folder, self.queue = client, folder, str(folder)
        self._outside, self._log = folder / "effects.txt", folder / "worker.log"

    @property
    def executed(self) -> Counter[str]:
        """How often each activity did something outside."""
        return Counter(self._outside.read_text("utf-8").split()) if self._outside.exists() else Counter()

    @property
    def port(self) -> int:
        """The port of the server."""
        return int(self.client.service_client.config.target_host.rpartition(":")[2])

    def let_go(self) -> None:
        """Let the activity `wait` return."""
        self._outside.with_suffix(".go").touch()

    async def start(self, workflow: str, *args: Any) -> Handle:
        """Start a workflow that is called like the folder."""
        options: dict[str, Any] = {"id": self.queue, "task_queue": self.queue, "task_timeout": TASK}
        return await self.client.start_workflow(workflow, args=args, **options)

    @asynccontextmanager
    async def worker(self, kill: str = "") -> AsyncIterator[subprocess.Popen[bytes]]:
        """A worker process, which is killed at the end if it has not died before."""
        address = self.client.service_client.config.target_host
        program = f"import asyncio, sys; from {self.module} import work; asyncio.run(work(*sys.argv[1:]))"
        command = [sys.executable, "-c", program, address, self.queue, str(self._outside), kill]
        with self._log.open("ab") as log, subprocess.Popen(command, stdout=log, stderr=log) as lives:
            try:
                yield lives
            finally:
                lives.kill()

    async def die(self, kill: str) -> None:
        """Let a worker live until it kills itself at the place `kill`."""
        async with self.worker(kill) as worker:
            if await asyncio.to_thread(worker.wait, PATIENCE) != KILLED:
                raise LabError(f"a worker ended before {kill}: {self._log.read_text('utf-8')[-1000:]}")

    async def finish(self, run: Handle) -> str:
        """Let a worker live until the run is closed; return its status."""
        async with self.worker() as worker:
            status = await status_of(run)
            if worker.poll() is not None:
                raise LabError(f"a worker ended by itself: {self._log.read_text('utf-8')[-1000:]}")
        return status


async def status_of(run: Handle) -> str:
    """How a run ends, in one word and for a failed one its cause."""
    try:
        await asyncio.wait_for(run.result(), PATIENCE)
    except WorkflowFailureError as failed:
        cause = failed.cause
        return f"failed, {cause.__cause__ or cause}"
    except TimeoutError:
        return "still running"
    return "completed"


async def happened(run: Handle, event: str, *, within: float = PATIENCE) -> None:
    """Wait until the history holds an event with these attributes, e.g. `timer_fired`; raise LabError if it does not
    come."""
    for _ in range(int(within / 0.05)):
        async for each in run.fetch_history_events():
            if each.HasField(f"{event}_event_attributes"):  # type: ignore[arg-type]
                return
        await asyncio.sleep(0.05)
    raise LabError(f"no {event} in the history of {run.id} after {within} seconds")


class Promises(dict[str, Callable[..., Finding]]):
    """Probes by their promise: `(a new folder, servers by name) -> Finding`."""

    def __call__(self, words: str) -> Callable[[Probe], Probe]:
        """Enter the decorated probe under the promise that it tries."""

        def enter(probe: Probe) -> Probe:
            def run(folder: Path, services: dict[str, str]) -> Finding:
                if "temporal" not in services:
                    return Finding("not run", "no temporal server")
                folder.mkdir(parents=True)
                return asyncio.run(play(probe, services["temporal"], folder))

            self[words] = run
            return probe

        return enter


@cache
def quieten() -> None:
    """Keep the log of Temporal's core off this process's terminal: its lines, colour codes included, would run into a
    progress bar. What a probe has to know reaches it as an error or in a history; workers log to a file of their own.
    """
    Runtime.set_default(Runtime(telemetry=TelemetryConfig(logging=None)), error_if_already_set=False)


async def play(probe: Probe, address: str, folder: Path) -> Finding:
    """Run one probe on the server at `address`."""
    quieten()
    return await probe(Stage(await Client.connect(address), folder))


def judged(good: bool, seen: str) -> Finding:
    """A pass or a fail, with what was seen."""
    return Finding("pass" if good else "fail", seen)


@contextmanager
def own_server(folder: Path, port: int = 0) -> Iterator[tuple[str, int]]:
    """A server that a probe may kill: its address and its pid. A later one on the same port goes on with its database.

    Raises LabError when the only server is somebody else's.
    """
    command = [sys.executable, "-m", "labkit.measure.servers", "temporal", str(folder), str(port)]
    with (
        (folder / "server.log").open("ab") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log) as keeper,
    ):
        assert keeper.stdin and keeper.stdout
        line = keeper.stdout.readline()
        if not line:
            raise LabError(f"no temporal server of our own came up: see {folder / 'server.log'}")
        told = json.loads(line)
        try:
            yield told["address"], told["pid"]
        finally:
            keeper.stdin.close()


async def work(address: str, queue: str, outside: str, kill: str) -> None:
    """Be a worker until this process ends."""
    world = World(Path(outside), kill)
    async with Worker(
        await Client.connect(address),
        task_queue=queue,
        workflows=WORKFLOWS,
        activities=[world.pay, world.check, world.ship, world.fetch, world.wait],
        activity_executor=ThreadPoolExecutor(),
        max_cached_workflows=0,
    ):
        await asyncio.Event().wait()
