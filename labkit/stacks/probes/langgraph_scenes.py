"""What a process of the LangGraph probes does. Each scene takes its `Life` and returns what it has to say.

The graph of most of them charges a customer and then ships the goods: two nodes, an effect each.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from labkit.stacks.probes.langgraph_lives import Life
from labkit.stacks.probes.langgraph_play import Order, Said, graph_of, play, wait_for
from labkit.stacks.probes.langgraph_saver import saver_of

PAUSE = 0.2
"""Seconds that a slow node takes: ages for the write of a checkpoint, which is what is measured."""


class Parcel(NamedTuple):
    """A type of the user's own."""

    weight: int


def chain(life: Life) -> Said:
    """Charge, then ship. `option`: the code was changed (`renamed`, `inserted`), the two processes `meet` in the
    second node, or a person says with `as_node` that the first one is done."""

    def charge(state: Order) -> Order:
        life.act("charge")
        life.die_at("charge")
        return {"charge": "paid"}

    def ship(state: Order) -> Order:
        life.die_at("ship")
        if life.option == "meet":
            (Path(life.folder) / f"here-{life.number}").touch()
            wait_for(lambda: len(list(Path(life.folder).glob("here-*"))) == 2)
        life.act("ship")
        return {"ship": "sent"}

    def check(state: Order) -> Order:
        life.act("check")
        return {"checks": ["checked"]}

    nodes: dict[str, Callable[[Order], Order]] = {"charge": charge, "ship": ship}
    if life.option == "renamed":
        nodes = {"charge": charge, "deliver": ship}
    if life.option == "inserted":
        nodes = {"check": check, "charge": charge, "ship": ship}
    with saver_of(life) as saver:
        return play(life, graph_of(nodes).compile(checkpointer=saver))


def slow(life: Life) -> Said:
    """Charge, then a second node that is killed after a pause: a coroutine that `awaits` or `blocks` (`option`), or a
    `function` that blocks."""

    async def charge(state: Order) -> Order:
        life.act("charge")
        return {"charge": "paid"}

    def ships() -> Order:
        life.die_at("ship")
        life.act("ship")
        return {"ship": "sent"}

    def function(state: Order) -> Order:
        time.sleep(PAUSE)
        return ships()

    async def blocks(state: Order) -> Order:
        time.sleep(PAUSE)
        return ships()

    async def awaits(state: Order) -> Order:
        await asyncio.sleep(PAUSE)
        return ships()

    ship = {"function": function, "blocks": blocks, "awaits": awaits}[life.option]
    with saver_of(life) as saver:
        return play(life, graph_of({"charge": charge, "ship": ship}).compile(checkpointer=saver))


def long_node(life: Life) -> Said:
    """One node with two effects, which dies between them."""

    def node(state: Order) -> Order:
        life.act("charge")
        life.die_at("middle")
        life.act("ship")
        return {"ship": "sent"}

    with saver_of(life) as saver:
        return play(life, graph_of({"node": node}).compile(checkpointer=saver))


def fan(life: Life) -> Said:
    """Two parallel checks: one is done and saved (`exit` saves nothing), then the other one dies.

    What a node wrote counts only with the checkpoint before it, which `async` may save later.
    """
    with saver_of(life) as saver:

        def quick(state: Order) -> Order:
            life.act("quick")
            return {"checks": ["quick"]}

        def done() -> bool:
            if life.durability == "exit":
                return life.outside.exists() and life.outside.stat().st_size > 0  # opened is not yet written
            return saver.written.is_set() and 0 in saver.kept

        def slow(state: Order) -> Order:
            if life.kill:
                wait_for(done)
            life.die_at("slow")
            life.act("slow")
            return {"checks": ["slow"]}

        graph: StateGraph[Any] = StateGraph(Order)
        for name, node in (("quick", quick), ("slow", slow)):
            graph.add_node(name, node)
            graph.add_edge(START, name)
        return play(life, graph.compile(checkpointer=saver))


def functional(life: Life) -> Said:
    """An entrypoint that charges in a task, and is killed when it has the result: at once, or 5 ms later."""

    @task
    def charge() -> str:
        life.act("charge")
        return "paid"

    with saver_of(life) as saver:

        @entrypoint(checkpointer=saver)
        def order(given: Said) -> str:
            result = charge().result()
            life.die_at("at once")
            time.sleep(0.005)  # what is measured
            life.die_at("5 ms later")
            return result

        return play(life, order)


def functional_awaited(life: Life) -> Said:
    """The same with coroutines: the task is awaited."""

    @task
    async def charge() -> str:
        life.act("charge")
        return "paid"

    with saver_of(life) as saver:

        @entrypoint(checkpointer=saver)
        async def order(given: Said) -> str:
            result = await charge()
            life.die_at("at once")
            await asyncio.sleep(0.005)  # what is measured
            life.die_at("5 ms later")
            return result

        return play(life, order)


def shared(life: Life) -> Said:
    """An entrypoint whose tools share one task; the changed code (`inserted`) calls another tool first."""

    @task
    def call_tool(name: str) -> str:
        life.act(name)
        return f"result of {name}"

    with saver_of(life) as saver:

        @entrypoint(checkpointer=saver)
        def order(given: Said) -> Said:
            tools = ("check", "charge") if life.option == "inserted" else ("charge",)
            results = {name: call_tool(name).result() for name in tools}
            if life.kill:
                saver.written.wait()
            life.die_at("end")
            return results

        return play(life, order)


def asking(life: Life) -> Said:
    """A node that charges, then asks a person, then ships."""

    def node(state: Order) -> Order:
        life.act("charge")
        answer = interrupt("ship it?")
        life.act("ship")
        return {"ship": answer}

    with saver_of(life) as saver:
        app = graph_of({"node": node}).compile(checkpointer=saver)
        return play(life, app, Command(resume="yes"))


def odd_value(life: Life) -> Said:
    """The first node returns a value that can hardly be stored, named by `option`; the second one ships."""
    values: dict[str, Callable[[], Any]] = {
        "lambda": lambda: lambda: None,
        "file": lambda: (Path(life.folder) / "some.txt").open("w"),
        "connection": lambda: sqlite3.connect(":memory:"),
        "lock": threading.Lock,
        "tuple": lambda: (1, 2),
        "own class": lambda: Parcel(3),
    }

    def charge(state: Order) -> Order:
        return {"charge": values[life.option]()}

    def ship(state: Order) -> Order:
        life.act("ship")
        return {"ship": type(state["charge"]).__name__}

    with saver_of(life) as saver:
        return play(life, graph_of({"charge": charge, "ship": ship}).compile(checkpointer=saver))
