"""The yardstick: one SQLite commit of the same bytes, and nothing else."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import apsw

from labkit.perf.texts import texts


class Raw:
    """Appends rows of `size` bytes to a new database at `path`, one commit each, synced; `rows` counts them."""

    def __init__(self, path: Path, size: int) -> None:
        self._bodies, self.rows = [text.encode() for text in texts(size)], 0
        self._db = apsw.Connection(str(path))
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute("CREATE TABLE steps (seq INTEGER PRIMARY KEY, body BLOB NOT NULL)")

    def commit(self) -> None:
        """Append the next row."""
        self.rows += 1
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("INSERT INTO steps VALUES (?,?)", (self.rows, self._bodies[self.rows % len(self._bodies)]))
        self._db.execute("COMMIT")

    def close(self) -> None:
        """Close the database; what was committed stays."""
        self._db.close()


def recover(path: Path) -> float:
    """Seconds to open the database and read its newest row."""
    begun = time.perf_counter()
    with closing(apsw.Connection(str(path))) as db:
        db.execute("SELECT seq, body FROM steps ORDER BY seq DESC LIMIT 1").fetchall()
        return time.perf_counter() - begun
