"""Savers on SQLite and Postgres that kill their process between the write of a task and the checkpoint that follows.

The asynchronous ones need an event loop, which `saver_of` keeps; `Awaited` is for whoever calls and does not await.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing, contextmanager
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from labkit.stacks.probes.langgraph_lives import Life

RESULTS = ("charge", "checks", "__return__")
"""The channels that results are written to; the last one is the functional API's."""


class Watched(BaseCheckpointSaver[Any]):
    """Stands before a saver, which dies at the entry of `put`, for the checkpoint that follows the first node."""

    life: Life
    orderly: bool
    """Wait in `put` until `put_writes` has committed: then that interleaving of the two threads is certain."""

    def watch(self, life: Life) -> Self:
        """Take the orders of `life`. `written` is set by the first result that is saved, `kept` holds the steps whose
        checkpoint is saved."""
        self.life, self.orderly, self.written = life, life.kill == "put after the writes", threading.Event()
        self.kept: set[int] = set()
        return self

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        """Save what a task wrote."""
        super().put_writes(config, writes, task_id, task_path)
        self._wrote(writes)

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        """The same, awaited."""
        await super().aput_writes(config, writes, task_id, task_path)
        self._wrote(writes)

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> RunnableConfig:
        """Save a checkpoint, unless this is where the process dies."""
        if self.orderly and metadata["step"] == 1:
            self.written.wait()
        self._enter(metadata)
        kept = super().put(config, checkpoint, metadata, new_versions)
        self.kept.add(metadata["step"])
        return kept

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> RunnableConfig:
        """The same, awaited."""
        if self.orderly and metadata["step"] == 1:
            await asyncio.to_thread(self.written.wait)  # the loop goes on, and with it the write
        self._enter(metadata)
        kept = await super().aput(config, checkpoint, metadata, new_versions)
        self.kept.add(metadata["step"])
        return kept

    def _wrote(self, writes: Any) -> None:
        if any(channel in RESULTS and value for channel, value in writes):  # the input's are empty
            self.written.set()

    def _enter(self, metadata: Any) -> None:
        if metadata["step"] == 1:
            self.life.die_at("put after the writes")
            self.life.die_at("put")


class WatchedSqlite(Watched, SqliteSaver):
    """The SQLite saver, watched."""


class WatchedPostgres(Watched, PostgresSaver):
    """The Postgres saver, watched."""


class WatchedAsyncSqlite(Watched, AsyncSqliteSaver):
    """The asynchronous SQLite saver, watched."""


class WatchedAsyncPostgres(Watched, AsyncPostgresSaver):
    """The asynchronous Postgres saver, watched."""


class Awaited:
    """A graph or an entrypoint on an asynchronous saver: each method awaits the coroutine of the same name."""

    def __init__(self, app: Any) -> None:
        self._app, self._run = app, app.checkpointer.runner.run

    def invoke(self, *given: Any, **more: Any) -> Any:
        """Await `ainvoke`."""
        return self._run(self._app.ainvoke(*given, **more))

    def get_state(self, config: RunnableConfig) -> Any:
        """Await `aget_state`."""
        return self._run(self._app.aget_state(config))

    def get_state_history(self, config: RunnableConfig) -> list[Any]:
        """Await all of `aget_state_history`."""

        async def states() -> list[Any]:
            return [state async for state in self._app.aget_state_history(config)]

        return self._run(states())


@contextmanager
def saver_of(life: Life) -> Iterator[Watched]:
    """The saver on the run's file, or on Postgres; the asynchronous one when the run is awaited."""
    if life.awaited:
        with asyncio.Runner() as runner:
            yield from awaited_saver_of(life, runner)
    elif life.dsn:
        with WatchedPostgres.from_conn_string(life.dsn) as saver:
            assert isinstance(saver, WatchedPostgres)
            saver.setup()
            yield saver.watch(life)
    else:
        with closing(sqlite3.connect(life.database, check_same_thread=False)) as connection:
            yield WatchedSqlite(connection).watch(life)


def awaited_saver_of(life: Life, runner: asyncio.Runner) -> Iterator[Watched]:
    """Yield the saver once, open in the loop of `runner`, and close it there."""
    kept = AsyncExitStack()
    kind, address = (WatchedAsyncPostgres, life.dsn) if life.dsn else (WatchedAsyncSqlite, str(life.database))
    saver: Any = runner.run(kept.enter_async_context(kind.from_conn_string(address)))
    try:
        runner.run(saver.setup())
        saver.runner = runner
        yield saver.watch(life)
    finally:
        runner.run(kept.aclose())
