"""The yardstick: one SQLite commit of the same bytes, and nothing else.

`python -m labkit.perf.raw PATH SIZE` makes a commit for each line that it reads, and answers with its seconds.
"""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Protocol

import apsw

from labkit.perf.texts import texts


class Yardstick(Protocol):
    """Something that makes raw commits."""

    def commit(self) -> float:
        """Append the next row; return the seconds that it took."""
        ...

    def close(self) -> None:
        """Close the database; what was committed stays."""
        ...


class Raw:
    """Appends rows of `size` bytes to a new database at `path`, one commit each, synced; `rows` counts them."""

    def __init__(self, path: Path, size: int) -> None:
        self._bodies, self.rows = [text.encode() for text in texts(size)], 0
        self._db = apsw.Connection(str(path))
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute("CREATE TABLE steps (seq INTEGER PRIMARY KEY, body BLOB NOT NULL)")

    def commit(self) -> float:
        """Append the next row; return the seconds that it took."""
        begun = time.perf_counter()
        self.rows += 1
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("INSERT INTO steps VALUES (?,?)", (self.rows, self._bodies[self.rows % len(self._bodies)]))
        self._db.execute("COMMIT")
        return time.perf_counter() - begun

    def close(self) -> None:
        """Close the database; what was committed stays."""
        self._db.close()


class RawProcess:
    """Raw commits in a process of their own: neither threads nor memory of a framework slow them down."""

    def __init__(self, path: Path, size: int) -> None:
        command = [sys.executable, "-m", "labkit.perf.raw", str(path), str(size)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def commit(self) -> float:
        """Append the next row; return the seconds that it took."""
        requests, answers = self._process.stdin, self._process.stdout
        assert requests and answers
        requests.write("commit\n")
        return float(answers.readline())

    def close(self) -> None:
        """End the process and wait for it."""
        self._process.communicate()


def recover(path: Path) -> float:
    """Seconds to open the database and read its newest row."""
    begun = time.perf_counter()
    with closing(apsw.Connection(str(path))) as db:
        db.execute("SELECT seq, body FROM steps ORDER BY seq DESC LIMIT 1").fetchall()
        return time.perf_counter() - begun


if __name__ == "__main__":
    with closing(Raw(Path(sys.argv[1]), int(sys.argv[2]))) as yardstick:
        for _ in sys.stdin:
            print(repr(yardstick.commit()), flush=True)
