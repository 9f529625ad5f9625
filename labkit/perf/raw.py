"""The yardstick: one SQLite commit a step, of the same bytes, and nothing else."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw

from labkit.perf.watch import Watch, texts


def play(folder: Path, size: int, watch: Watch) -> None:
    """Append a row of `size` bytes a step, for ever; goes on after the newest row that is there."""
    bodies = [text.encode() for text in texts(size)]
    watch.open()
    with closing(apsw.Connection(str(folder / "raw.db"))) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.execute("CREATE TABLE IF NOT EXISTS steps (seq INTEGER PRIMARY KEY, body BLOB NOT NULL)")
        newest = db.execute("SELECT seq, body FROM steps ORDER BY seq DESC LIMIT 1").fetchone()
        seq = newest[0] if newest else 0
        while True:
            watch.enter(seq)
            seq += 1
            db.execute("BEGIN IMMEDIATE")
            db.execute("INSERT INTO steps VALUES (?,?)", (seq, bodies[seq % len(bodies)]))
            db.execute("COMMIT")
