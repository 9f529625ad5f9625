"""Published holes of LangGraph, tried on the installed versions: what is planted would only make a folder."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from importlib.metadata import version
from pathlib import Path
from uuid import uuid4

import ormsgpack
from langgraph.cache.sqlite import SqliteCache
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

from labkit.bench.launch import Plain
from labkit.stacks.conformance import Finding
from labkit.stacks.probes.langgraph_lives import DEFAULT, MODULE, STRICT, Services, Stage, judged


def forged(folder: Path, services: Services, environment: dict[str, str] = DEFAULT) -> Finding:
    """CVE-2026-28277: whoever can write to the database stores a call; is it made when the state is read?

    Fixed in langgraph 1.0.10, which warns; only with LANGGRAPH_STRICT_MSGPACK is it refused.
    """
    on, made = Stage(Plain(MODULE), folder), folder / "made-by-a-stored-call"
    on("chain", environment=environment)
    call = ormsgpack.packb(ormsgpack.Ext(1, ormsgpack.packb(("os", "mkdir", (str(made),)))))
    with closing(sqlite3.connect(on.job("chain").database)) as db, db:
        last = db.execute("SELECT max(checkpoint_id) FROM checkpoints").fetchone()[0]
        row = (str(folder), "", last, str(uuid4()), "", 0, "charge", "msgpack", call)
        names = "thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value"
        db.execute(f"INSERT INTO writes ({names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    on("chain", verb="look", environment=environment)
    done = "made" if made.exists() else "not made"
    return judged(not made.exists(), f"the call was {done} when the state was read; {installed('langgraph')}")


def pickled(folder: Path, services: Services) -> Finding:
    """CVE-2026-27794, fixed in langgraph-checkpoint 4.0.0: a pickle in the cache is loaded, which may run anything.

    The pickle here is written by hand.
    """
    folder.mkdir()
    made, cache = folder / "made-by-a-pickle", SqliteCache[str](path=str(folder / "cache.sqlite"))
    code = b"cos\nmkdir\n(V" + str(made).encode() + b"\ntR."
    with closing(sqlite3.connect(folder / "cache.sqlite")) as db, db:
        db.execute("INSERT INTO cache (ns, key, encoding, val) VALUES ('node', 'key', 'pickle', ?)", (code,))
    try:
        got = f"got {cache.get([(('node',), 'key')])}"
    except NotImplementedError as refusal:
        got = f"NotImplementedError: {refusal}"
    return judged(not made.exists(), f"{got}; {installed('langgraph-checkpoint')}, fixed in 4.0.0")


def injected(folder: Path, services: Services) -> Finding:
    """CVE-2025-67644, fixed in langgraph-checkpoint-sqlite 3.0.1: a metadata filter's key becomes part of the SQL."""
    folder.mkdir()
    with SqliteSaver.from_conn_string(str(folder / "checkpoints.sqlite")) as saver:
        saver.put({"configurable": {"thread_id": "another", "checkpoint_ns": ""}}, empty_checkpoint(), {}, {})
        try:
            rows = list(saver.list(None, filter={"x') = ? OR 1=1 --": 1}))
        except ValueError as refusal:
            rows, got = [], f"ValueError: {str(refusal).splitlines()[0][:60]}"
        else:
            got = f"{len(rows)} checkpoints of others"
    return judged(not rows, f"{got}; {installed('langgraph-checkpoint-sqlite')}, fixed in 3.0.1")


def installed(package: str) -> str:
    """The package and its version."""
    return f"{package} {version(package)}"


HOLES: dict[str, Callable[..., Finding]] = {
    "CVE-2026-27794: a pickle in the cache is not loaded": pickled,
    "CVE-2025-67644: the key of a metadata filter does not become SQL": injected,
    "CVE-2026-28277: a call in a stored value is not made, by default": forged,
    "CVE-2026-28277: a call in a stored value is not made, with strict msgpack": partial(forged, environment=STRICT),
}
"""Every probe of this file, by what it would be good to rely on."""
