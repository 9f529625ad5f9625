"""Probes of what LangGraph stores: values that cannot be stored, types that change, growth, and how it is removed."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Annotated, Any, TypedDict
from uuid import uuid4

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from labkit.bench.launch import Plain
from labkit.stacks.conformance import Finding
from labkit.stacks.probes.langgraph_lives import DEFAULT, MODULE, STRICT, Services, Stage, judged, launching

ODD = ("lambda", "file", "connection", "lock")
STEPS = (100, 200)
"""How many steps a growing run takes, and how many a longer one."""
KILOBYTE = "x" * 1024


class Growing(TypedDict):
    """A list that each step makes one longer, stored as a whole at each."""

    log: Annotated[list[str], operator.add]


def added(log: list[str], more: Sequence[list[str]]) -> list[str]:
    """The list with what several steps add to it."""
    return [*log, *(line for lines in more for line in lines)]


class GrowingByDelta(TypedDict):
    """The same list in a channel that stores what a step adds, and all at each hundredth (a beta of LangGraph)."""

    log: Annotated[list[str], DeltaChannel(added)]


def refused(folder: Path, services: Services, *, durability: str) -> Finding:
    """A node returns what cannot be stored; is that an error before the next node has its effect?"""
    seen = []
    with launching() as launcher:
        for kind in ODD:
            lived = Stage(launcher, folder / kind)("odd_value", option=kind, durability=durability)
            error = lived.said["error"].split(":")[0][:40]
            seen.append((kind, error, lived.executed["ship"]))
    good = all(error and not shipped for _, error, shipped in seen)
    return judged(good, "; ".join(f"{kind}: {error or 'no error'}, shipped {count}x" for kind, error, count in seen))


def comes_back(
    folder: Path, services: Services, *, option: str, expected: str, environment: dict[str, str] = DEFAULT
) -> Finding:
    """A value is stored by one process and read by another; is it still what it was?"""
    on = Stage(Plain(MODULE), folder)
    on("odd_value", option=option, environment=environment)
    found = on("odd_value", option=option, verb="look", environment=environment).said["charge"]
    return judged(found == expected, f"{expected} came back as {found}")


def grows(folder: Path, services: Services, steps: tuple[int, int] = STEPS, *, state: type) -> Finding:
    """Each step adds a kilobyte to a list; do the bytes that a step costs stay the same in a run twice as long?"""
    folder.mkdir(parents=True)
    each = []
    for count in steps:
        file = folder / f"{count}.sqlite"
        with SqliteSaver.from_conn_string(str(file)) as saver:
            run(saver, "1", count, state)
        each.append(file.stat().st_size / 1024 / count)
    seen = ", ".join(f"{size:.0f} KB a step over {count}" for count, size in zip(steps, each, strict=True))
    return judged(each[1] < 1.5 * each[0], seen)


def kept(folder: Path, services: Services) -> Finding:
    """A thread is used again and again; does the saver let go of old checkpoints by itself?"""
    folder.mkdir(parents=True)
    with SqliteSaver.from_conn_string(str(folder / "checkpoints.sqlite")) as saver:
        counts = []
        for _ in range(5):
            run(saver, "1", 3)
            counts.append(len(list(saver.list(thread("1")))))
    return judged(counts[-1] == counts[0], f"checkpoints after each of five runs: {counts}")


def deleted(folder: Path, services: Services) -> Finding:
    """Does `delete_thread` remove one thread and leave the other; and does the file become smaller?"""
    folder.mkdir(parents=True)
    file = folder / "checkpoints.sqlite"
    with SqliteSaver.from_conn_string(str(file)) as saver:
        for name in ("1", "2"):
            run(saver, name, 20)
        before = len(list(saver.list(thread("2"))))
        saver.delete_thread("1")
        left = [len(list(saver.list(thread(name)))) for name in ("1", "2")]
        free = saver.conn.execute("PRAGMA freelist_count").fetchone()[0]
    return judged(left == [0, before], f"{left[0]} and {left[1]} checkpoints left; {free} pages are free, not returned")


def pruned_sqlite(folder: Path, services: Services) -> Finding:
    """Can the SQLite saver keep the latest checkpoint only?"""
    folder.mkdir(parents=True)
    with SqliteSaver.from_conn_string(str(folder / "checkpoints.sqlite")) as saver:
        return pruned(saver, "1")


def pruned_postgres(folder: Path, services: Services) -> Finding:
    """Can the Postgres saver keep the latest checkpoint only?"""
    if "postgres" not in services:
        return Finding("not run", "no postgres server")
    with PostgresSaver.from_conn_string(services["postgres"]) as saver:
        saver.setup()
        try:
            return pruned(saver, str(folder))
        finally:
            saver.delete_thread(str(folder))


def set_up_together(folder: Path, services: Services) -> Finding:
    """Three connections find a database without tables and call `setup` at once, as workers do; do all succeed?"""
    if "postgres" not in services:
        return Finding("not run", "no postgres server")
    schema, together = f"probe_{uuid4().hex}", Barrier(3)
    address = make_conninfo(services["postgres"], options=f"-c search_path={schema}")

    def set_up(number: int) -> str:
        with PostgresSaver.from_conn_string(address) as saver:
            together.wait()
            try:
                saver.setup()
            except psycopg.Error as error:
                return type(error).__name__
        return "done"

    with psycopg.connect(services["postgres"], autocommit=True) as connection, ThreadPoolExecutor(3) as pool:
        connection.execute(SQL("CREATE SCHEMA {}").format(Identifier(schema)))
        try:
            ends = sorted(pool.map(set_up, range(3)))
        finally:
            connection.execute(SQL("DROP SCHEMA {} CASCADE").format(Identifier(schema)))
    return judged(ends == ["done"] * 3, ", ".join(ends))


def pruned(saver: BaseCheckpointSaver[Any], name: str) -> Finding:
    """Prune a thread, and go on with it."""
    run(saver, name, 5)
    before = len(list(saver.list(thread(name))))
    try:
        saver.prune([name])
    except NotImplementedError:
        return Finding("unsupported", f"{type(saver).__name__}.prune raises NotImplementedError")
    after = len(list(saver.list(thread(name))))
    run(saver, name, 6)
    return judged(after == 1, f"{before} checkpoints became {after}, and the thread went on")


def run(saver: BaseCheckpointSaver[Any], name: str, steps: int, state: type = Growing) -> None:
    """Run a loop on a thread until its list has `steps` entries."""

    def more(state: Any) -> dict[str, list[str]]:
        return {"log": [KILOBYTE]}

    def go_on(state: Any) -> str:
        return END if len(state["log"]) >= steps else "more"

    graph: StateGraph[Any] = StateGraph(state)
    graph.add_node("more", more)
    graph.add_edge(START, "more")
    graph.add_conditional_edges("more", go_on)
    where: RunnableConfig = {**thread(name), "recursion_limit": steps + 5}
    graph.compile(checkpointer=saver).invoke({"log": []}, where, durability="sync")


def thread(name: str) -> RunnableConfig:
    """The configuration that names a thread."""
    return {"configurable": {"thread_id": name}}


STATE: dict[str, Callable[..., Finding]] = {
    "sync: what cannot be stored is refused before the next node": partial(refused, durability="sync"),
    "async: what cannot be stored is refused before the next node": partial(refused, durability="async"),
    "exit: what cannot be stored is refused before the next node": partial(refused, durability="exit"),
    "a tuple comes back as a tuple": partial(comes_back, option="tuple", expected="(1, 2)"),
    "a type of one's own comes back": partial(comes_back, option="own class", expected="Parcel(weight=3)"),
    "with strict msgpack a type of one's own comes back": partial(
        comes_back, option="own class", expected="Parcel(weight=3)", environment=STRICT
    ),
    "a step costs the same in a run twice as long": partial(grows, state=Growing),
    "with DeltaChannel a step costs the same in a run twice as long": partial(grows, state=GrowingByDelta),
    "old checkpoints go away by themselves": kept,
    "SQLite: a thread can be deleted": deleted,
    "SQLite: old checkpoints can be pruned": pruned_sqlite,
    "Postgres: old checkpoints can be pruned": pruned_postgres,
    "Postgres: several processes can set up the tables at once": set_up_together,
}
"""Every probe of this file, by what it would be good to rely on."""
