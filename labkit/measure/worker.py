"""Workers that share a campaign on Postgres: who is alive, and what becomes of the work of those who are not.

Each worker holds an advisory lock of its own name for as long as its connection lives. Whoever gets the lock of
another worker knows that this one is dead, and puts its unfinished work back into the queue.
"""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
import uuid
from contextlib import ExitStack
from pathlib import Path

import psycopg
from dbos import DBOS

from labkit.errors import InvalidInput
from labkit.measure import durable
from labkit.measure.servers import services_for
from labkit.measure.sites import Sites
from labkit.stacks.find import every_stack

ROUND = 2.0  # seconds between two looks at the others


class Watchman:
    """Holds this worker's lock, and takes over from dead workers, until the `with` block ends.

    Raises InvalidInput when the database cannot be reached.
    """

    def __init__(self, dsn: str, name: str) -> None:
        self._name, self._stop = name, threading.Event()
        try:
            self._connection = psycopg.connect(dsn, autocommit=True, connect_timeout=5)
        except psycopg.Error as error:
            raise InvalidInput(
                f"the campaign's database cannot be reached: {error}".strip(),
                safe="nothing was run",
                next="check the address: postgresql://user:password@host:port/database",
            ) from error
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watchman:
        self._connection.execute("SELECT pg_advisory_lock(%s)", [lock_of(self._name)])
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._connection.close()

    def _watch(self) -> None:
        while not self._stop.wait(ROUND):
            for name in {each.executor_id for each in _unfinished()} - {self._name, None}:
                self._take_over(str(name))

    def _take_over(self, name: str) -> None:
        """Put the work of `name` back, if it is dead. Under its lock nobody else does so at the same time."""
        got = self._connection.execute("SELECT pg_try_advisory_lock(%s)", [lock_of(name)]).fetchone()
        if not got or not got[0]:
            return
        try:
            for left in _unfinished(name):
                DBOS.resume_workflow(left.workflow_id, queue_name=durable.QUEUE)
        finally:
            self._connection.execute("SELECT pg_advisory_unlock(%s)", [lock_of(name)])


def work(dsn: str, folder: Path, *, lanes: int, once: bool = False) -> None:
    """Take cells of the campaigns on `dsn` and measure them, for ever, or with `once` until none is left."""
    name = executor_name()
    known = [name for name, stack in every_stack() if not isinstance(stack, InvalidInput)]
    with ExitStack() as stack:
        servers = stack.enter_context(services_for(known, folder / "servers"))
        sites = stack.enter_context(Sites(folder / "trials", servers.addresses, spare=lanes))
        stack.enter_context(Watchman(dsn, name))
        stack.enter_context(durable.executor(sqlalchemy_url(dsn), name, sites, lanes))
        while not (once and not DBOS.list_workflows(status=["ENQUEUED", "PENDING"], load_input=False)):
            time.sleep(durable.POLL)


def executor_name() -> str:
    """A name that no other worker has: machine, process and chance."""
    return f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:6]}"


def lock_of(name: str) -> int:
    """The number of the advisory lock of the worker called `name`: 63 bits of its hash."""
    return int.from_bytes(hashlib.sha256(f"labkit worker {name}".encode()).digest()[:8]) >> 1


def sqlalchemy_url(dsn: str) -> str:
    """`dsn` as DBOS takes it: with the driver named."""
    return dsn.replace("postgresql://", "postgresql+psycopg://", 1).replace("postgres://", "postgresql+psycopg://", 1)


def _unfinished(executor: str | None = None):  # type: ignore[no-untyped-def]
    return DBOS.list_workflows(status="PENDING", executor_id=executor, load_input=False, load_output=False)
