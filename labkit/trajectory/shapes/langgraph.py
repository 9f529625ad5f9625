"""LangGraph's SQLite checkpoints: every message that any checkpoint or pending write of a thread holds, once.

What is stored is decoded as plain data. No class in it is looked up, nothing is built and nothing is unpickled. An
object becomes the fields that it was stored with; a kind of value that cannot be read so is refused by name.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from labkit.trajectory.shapes import langchain
from labkit.trajectory.shapes.entries import At, Between, Entry, refused
from labkit.trajectory.shapes.harmless import CALL_FIELDS, MAX_DEPTH
from labkit.trajectory.shapes.message import is_item, read_item
from labkit.trajectory.shapes.twice import History

SHAPE = "LangGraph checkpoints"
OBJECTS = range(6)  # extension types: module, class, fields
ARRAY, DELTA = 6, 7
EMPTY = ("null", "empty", "bytes", "bytearray")
MAX_ROWS = 100_000


def threads(where: str, database: Path) -> dict[str, list[Entry]]:
    """The entries of each thread, with those of its subgraphs, which the thread's own state may state again.

    Raises InvalidInput when this is no database of checkpoints, or holds something that cannot be read as data.
    """
    try:
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if "checkpoints" not in tables:
                raise refused(where, "", "this SQLite file has no table of LangGraph checkpoints", "name another file")
            rows = list(_rows(where, connection, "writes" in tables))
    except sqlite3.Error as error:
        raise refused(where, "", f"cannot be read as an SQLite database: {error}") from None
    found: dict[str, tuple[History, list[Entry]]] = {}
    for thread, at, kind, blob in rows:
        history, entries = found.setdefault(thread, (History(), []))
        for channel, value in _channels(at, _decoded(at, kind, blob)):
            entries += history.restate(read_item(*message) for message in _messages(channel, value))
    return {
        thread: entries for thread, (_, entries) in found.items() if any(not isinstance(e, Between) for e in entries)
    }


def _rows(where: str, connection: sqlite3.Connection, pending: bool) -> Iterator[tuple[str, At, str, bytes]]:
    """Thread, place, type and value of each checkpoint, followed by what was written on top of it, in order of time."""
    (count,) = connection.execute("SELECT count(*) FROM checkpoints").fetchone()
    if count > MAX_ROWS:
        raise refused(where, "", f"has {count:,} checkpoints, the limit is {MAX_ROWS:,}", "export fewer threads")
    whole = connection.execute(
        "SELECT thread_id, checkpoint_ns, checkpoint_id, type, checkpoint FROM checkpoints"
        " ORDER BY thread_id, checkpoint_id, checkpoint_ns"
    ).fetchall()
    keys = {row[:3] for row in whole}
    written: dict[tuple[str, str, str], list[tuple[str, str, str, bytes]]] = {}
    if pending:
        for *key, task, channel, kind, blob in connection.execute(
            "SELECT thread_id, checkpoint_ns, checkpoint_id, task_id, channel, type, value FROM writes"
            " ORDER BY thread_id, checkpoint_ns, checkpoint_id, task_id, idx"
        ):
            written.setdefault((key[0], key[1], key[2]), []).append((task, channel, kind, blob))
    if orphans := [key for key in written if key not in keys]:
        whole += [(*key, "null", b"") for key in orphans]
        whole.sort(key=lambda row: (row[0], row[2], row[1]))
    for thread, namespace, checkpoint, kind, blob in whole:
        name, space = str(thread), f"{namespace}." if namespace else ""
        yield name, At(where, f"checkpoints.{space}{checkpoint}"), kind, blob
        for task, channel, kind, blob in written.get((thread, namespace, checkpoint), []):
            yield name, At(where, f"writes.{space}{checkpoint}.{task}.{channel}"), kind, blob


def _decoded(at: At, kind: str | None, blob: Any) -> Any:
    if kind in EMPTY or blob is None:
        return None
    raw = blob.encode() if isinstance(blob, str) else bytes(blob)
    try:
        if kind == "msgpack":
            return msgspec.msgpack.decode(raw, ext_hook=_plain, strict=False)
        if kind in ("json", None):
            return json.loads(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError, TypeError) as error:
        raise at.refuse(f"cannot be read: {error}") from None
    raise at.refuse(f"is stored as {kind!r}, which is not read: it is code or encrypted", "store it as msgpack")


def _plain(code: int, data: memoryview) -> Any:
    """The fields of an object that was stored as (module, class, fields); raise ValueError for what is none."""
    if code == ARRAY:
        return "[array]"
    if code not in OBJECTS and code != DELTA:
        raise ValueError(f"nobody knows the extension type {code}")
    held = msgspec.msgpack.decode(data, ext_hook=_plain, strict=False)
    if code == DELTA:
        return held
    if not isinstance(held, list) or len(held) < 3:
        raise ValueError(f"an object of extension type {code} has no module, class and fields")
    fields = held[2]
    if isinstance(fields, dict) and held[0].startswith("langchain") and held[1] in langchain.ROLES:
        return {"type": held[1]} | fields
    return fields


def _channels(at: At, value: Any) -> list[tuple[At, Any]]:
    """The channels of a checkpoint, messages first; the value of a write itself."""
    if isinstance(value, dict) and isinstance(value.get("channel_values"), dict):
        place, held = at / "channel_values", value["channel_values"]
        named = sorted(held, key=lambda name: (name != "messages", str(name)))
        rest = {key: inner for key, inner in value.items() if key != "channel_values"}
        return [(place / str(name), held[name]) for name in named] + [(at, rest)]
    return [(at, value)]


def _messages(at: At, value: Any, depth: int = 0) -> Iterator[tuple[At, Any]]:
    """Every message in a channel, however deep; a call outside of a message is one, too."""
    if depth > MAX_DEPTH:
        raise at.refuse(f"is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _messages(at / index, inner, depth + 1)
    elif isinstance(value, dict):
        if langchain.is_dump(value) or ("lc" not in value and is_item(value)):
            yield at, value
            return
        if value.get("type") == "tool_call" and "name" in value and "args" in value:
            yield at, {"role": "assistant", "content": [value]}
            return
        for name, inner in value.items():
            if name in CALL_FIELDS and isinstance(inner, list | dict) and inner and not _only_calls(inner):
                raise (at / str(name)).refuse("nobody reads this field, and it reads as a call")
            yield from _messages(at / str(name), inner, depth + 1)


def _only_calls(value: Any) -> bool:
    """Whether these are calls as LangGraph hands them to a node, which are read one by one."""
    calls = value if isinstance(value, list) else [value]
    return all(isinstance(each, dict) and each.get("type") == "tool_call" for each in calls)
