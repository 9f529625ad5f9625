"""Savers on SQLite and Postgres that kill their process between the write of a task and the checkpoint that follows."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver

from labkit.stacks.probes.langgraph_lives import Life

RESULTS = ("charge", "checks", "__return__")
"""The channels that results are written to; the last one is the functional API's."""


class Watched(BaseCheckpointSaver[Any]):
    """Stands before a saver, which dies at the entry of `put`, for the checkpoint that follows the first node."""

    life: Life
    orderly: bool
    """Wait in `put` until `put_writes` has committed: then that interleaving of the two threads is certain."""

    def watch(self, life: Life) -> Self:
        """Take the orders of `life`."""
        self.life, self.orderly, self.written = life, life.kill == "put after the writes", threading.Event()
        return self

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        """Save what a task wrote."""
        super().put_writes(config, writes, task_id, task_path)
        if any(channel in RESULTS and value for channel, value in writes):  # the input's are empty
            self.written.set()

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> RunnableConfig:
        """Save a checkpoint, unless this is where the process dies."""
        if metadata["step"] == 1:
            if self.orderly:
                self.written.wait()
            self.life.die_at("put after the writes")
            self.life.die_at("put")
        return super().put(config, checkpoint, metadata, new_versions)


class WatchedSqlite(Watched, SqliteSaver):
    """The SQLite saver, watched."""


class WatchedPostgres(Watched, PostgresSaver):
    """The Postgres saver, watched."""


@contextmanager
def saver_of(life: Life) -> Iterator[Watched]:
    """The saver on the run's file, or on Postgres."""
    if life.dsn:
        with WatchedPostgres.from_conn_string(life.dsn) as saver:
            assert isinstance(saver, WatchedPostgres)
            saver.setup()
            yield saver.watch(life)
    else:
        with closing(sqlite3.connect(life.database, check_same_thread=False)) as connection:
            yield WatchedSqlite(connection).watch(life)
