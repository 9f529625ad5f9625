"""The SQLite store: one file (or memory), write-ahead log, a sync on every commit."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Any

import apsw

from labkit.errors import InvalidInput
from labkit.taps import tap

FLAGS = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
APPLICATION_ID = 0x6C61626B  # "labk": tells a lab database from any other SQLite file
BUSY = 10_000  # milliseconds that a writer waits for another


class SqliteStore:
    """One connection. `path` is a file or ":memory:"; `synchronous` is FULL, NORMAL or OFF as in SQLite.

    Raises InvalidInput when the file is not a database of the lab.
    """

    def __init__(self, path: str | Path = ":memory:", *, synchronous: str = "FULL") -> None:
        if synchronous not in ("FULL", "NORMAL", "OFF"):
            raise InvalidInput(f"synchronous={synchronous!r}: expected FULL, NORMAL or OFF", safe="nothing was opened")
        self.path = str(path)
        try:
            self._db = apsw.Connection(self.path, flags=FLAGS)
            self._db.set_busy_timeout(BUSY)
            self._claim_file()
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute(f"PRAGMA synchronous={synchronous}")
        except apsw.Error as error:
            raise _not_opened(self.path, error) from error

    def _claim_file(self) -> None:
        both = "SELECT application_id, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id"
        found, tables = self._db.execute(both).get  # in one look: another process may be making the tables
        if found == 0 and tables == 0:
            self._db.execute(f"PRAGMA application_id={APPLICATION_ID}")
        elif found != APPLICATION_ID:
            raise InvalidInput(
                f"{self.path} is a SQLite file of another program ({tables} tables)",
                safe="the file is untouched",
                next="name another file",
            )

    def install(self, schema: str) -> None:
        """Create the tables of `schema` (SQL with IF NOT EXISTS)."""
        self._db.execute(schema)

    def transaction(self, label: str) -> Transaction:
        """A write transaction that taps `label:before` and `label:after` around its commit."""
        return Transaction(self._db, label)

    def rows(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        """Run one query outside a transaction; return its rows."""
        return self._db.execute(sql, params).fetchall()

    def image(self) -> bytes:
        """The whole database as bytes, as it is now."""
        return self._db.serialize("main")

    def restore(self, image: bytes) -> None:
        """Replace the content of an in-memory database by `image`."""
        self._db.deserialize("main", image)

    def close(self) -> None:
        """Close the connection; closing twice is harmless."""
        self._db.close()


def _not_opened(path: str, error: apsw.Error) -> InvalidInput:
    """Why a file cannot be opened, and what to name instead."""
    folder = Path(path).parent
    why, hint = f"cannot be opened as a lab database: {error}", "name another file; labkit makes it when it is missing"
    if Path(path).is_dir():
        why, hint = "is a folder", f"name a file in it: {Path(path, 'lab.db')}"
    elif not folder.is_dir():
        why, hint = f"cannot be made: there is no folder {folder}", f"make the folder: mkdir -p {folder}"
    elif isinstance(error, apsw.BusyError):
        why, hint = "is locked by another program", "end what that program has begun, then try again"
    elif isinstance(error, apsw.FullError):
        why, hint = "cannot be opened as a lab database: the disk is full", "free some space, or name a file elsewhere"
    elif isinstance(error, apsw.ReadOnlyError) or not os.access(folder, os.W_OK):
        why = "cannot be opened: it, or its folder, is read-only, and SQLite keeps files beside it"
        hint = f"copy {path} (and {path}-wal, if it is there) to a folder that can be written"
    return InvalidInput(f"{path} {why}", safe="the file is untouched", next=hint)


class Transaction:
    """A write transaction; it takes the write lock at once, so that what it reads is what it updates."""

    __slots__ = ("_db", "_label")

    def __init__(self, db: apsw.Connection, label: str) -> None:
        self._db, self._label = db, label

    def __enter__(self) -> Transaction:
        self._db.execute("BEGIN IMMEDIATE")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if kind is not None:
            self._roll_back()
            return
        try:
            tap(self._label, "before")
            self._db.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        tap(self._label, "after")

    def _roll_back(self) -> None:
        if self._db.in_transaction:  # an interruption may come right after the commit: it must not be replaced
            self._db.execute("ROLLBACK")

    def execute(self, sql: str, *params: Any) -> int:
        """Run one statement; return how many rows it changed."""
        self._db.execute(sql, params)
        return self._db.changes()

    def rows(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        """Run one query; return its rows."""
        return self._db.execute(sql, params).fetchall()
