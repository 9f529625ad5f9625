"""Workers that share a campaign on Postgres: who is alive, and what becomes of the work of those who are not.

Each worker holds an advisory lock of its own name for as long as its connection lives. Whoever gets the lock of
another worker knows that this one is dead, and puts its unfinished work back into the queue. A worker that only lost
its connection is robbed in the same way; DBOS then refuses what it still writes, so that nothing counts twice.
"""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from dbos import DBOS
from sqlalchemy.exc import SQLAlchemyError

from labkit.bench.launch import DEFAULT_MODE
from labkit.errors import InvalidInput
from labkit.measure import durable
from labkit.measure.servers import services_for
from labkit.measure.sites import Sites
from labkit.stacks.find import every_stack, find_stack

ROUND = 2.0  # seconds between two looks at the others
QUIET = "SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3"
"""Lets the server notice within a minute that a worker's whole machine is gone."""
SCHEMES = ("postgresql://", "postgres://")


class Watchman:
    """Holds the lock of the worker called `name` while its `with` block lasts; within `on_duty` it takes over from
    dead workers. Raises InvalidInput when the database cannot be reached."""

    def __init__(self, dsn: str, name: str) -> None:
        self._dsn, self._name, self._stop = dsn, name, threading.Event()

    def __enter__(self) -> Watchman:
        try:
            if not self._dsn.startswith(SCHEMES):
                raise psycopg.OperationalError("this is no address of a Postgres")
            self._connection = self._connect()
        except psycopg.Error as error:
            raise InvalidInput(
                f"the campaign's database cannot be reached: {error}".strip(),
                safe="nothing was run",
                next="check the address: postgresql://user:password@host:port/database",
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    @contextmanager
    def on_duty(self) -> Iterator[None]:
        """Look at the others every `ROUND` seconds while the block lasts, in which this worker is an executor."""
        thread = threading.Thread(target=self._watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _connect(self) -> psycopg.Connection[Any]:
        connection = psycopg.connect(self._dsn, autocommit=True, connect_timeout=5)
        connection.execute(QUIET)
        connection.execute("SELECT pg_advisory_lock(%s)", [lock_of(self._name)])
        return connection

    def _watch(self) -> None:
        while not self._stop.wait(ROUND):
            try:
                self._connection.execute("SELECT 1")  # does our lock still live?
                for name in {each.executor_id for each in _unfinished()} - {self._name, None}:
                    self._take_over(str(name))
            except (psycopg.Error, SQLAlchemyError):  # the database was away, and with it our lock
                with suppress(psycopg.Error):
                    self._connection.close()
                    self._connection = self._connect()

    def _take_over(self, name: str) -> None:
        """Put the work of `name` back, if it is dead. Under its lock nobody else does so at the same time."""
        got = self._connection.execute("SELECT pg_try_advisory_lock(%s)", [lock_of(name)]).fetchone()
        if not got or not got[0]:
            return
        try:
            for left in _unfinished(name):
                DBOS.resume_workflow(left.workflow_id, queue_name=left.queue_name)
        finally:
            self._connection.execute("SELECT pg_advisory_unlock(%s)", [lock_of(name)])


def work(
    dsn: str,
    folder: Path,
    *,
    stacks: Sequence[str] = (),
    lanes: int = 2,
    once: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> None:
    """Measure cells of the campaigns on `dsn`, for ever, or with `once` until none is left that this worker can serve.

    It serves the named stacks, by default all that are installed, as far as their servers can be had; in other versions
    than those that a campaign was planned with it leaves the cells to others. `tell` is told what it does, a line at a
    time. Raises InvalidInput for an unknown stack, or when none can be served.
    """
    name = executor_name()
    known = stacks or [name for name, stack in every_stack() if not isinstance(stack, InvalidInput)]
    with ExitStack() as stack:
        watchman = stack.enter_context(Watchman(dsn, name))
        servers = stack.enter_context(services_for(known, folder / "servers"))
        able = [each for each in known if not set(find_stack(each).services) & set(servers.missing)]
        for service, why in servers.missing.items():
            tell(f"no {service}: {why}")
        sites = stack.enter_context(Sites(folder / "trials", servers.addresses, lanes=lanes))
        for each, why in sites.unfit(able, DEFAULT_MODE).items():
            able.remove(each)
            tell(f"{each} is not served: {why}")
        if not able:
            raise InvalidInput("none of the stacks can be served here", safe="nothing was run", next="labkit doctor")
        queues = [durable.queue_of(each) for each in able]
        stack.enter_context(durable.executor(sqlalchemy_url(dsn), name, sites, queues))
        stack.enter_context(watchman.on_duty())
        tell(f"worker {name} serves {', '.join(able)}")
        while not (once and durable.is_idle(queues)):
            time.sleep(durable.POLL)


def executor_name() -> str:
    """A name that no other worker has: machine, process and chance."""
    return f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:6]}"


def lock_of(name: str) -> int:
    """The number of the advisory lock of the worker called `name`: 63 bits of its hash."""
    return int.from_bytes(hashlib.sha256(f"labkit worker {name}".encode()).digest()[:8]) >> 1


def sqlalchemy_url(dsn: str) -> str:
    """`dsn` as DBOS takes it: with the driver named."""
    return f"postgresql+psycopg://{dsn.partition('://')[2]}"


def _unfinished(executor: str | None = None) -> list[Any]:
    return DBOS.list_workflows(status="PENDING", executor_id=executor, load_input=False, load_output=False)
