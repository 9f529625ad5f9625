"""The LangGraph plugin of Temporal: each node of a graph is an activity. Tried only where it is installed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph
from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import Worker

from labkit.stacks.conformance import Finding
from labkit.stacks.probes.temporal_lives import Promises, Stage, judged
from labkit.stacks.probes.temporal_scenes import OPTIONS, World

THERE = find_spec("temporalio.langgraph") is not None
if THERE:
    with workflow.unsafe.imports_passed_through():
        plugin: Any = import_module("temporalio.langgraph")

promise = Promises()
worlds: list[World] = []  # the one of this process; the plugin takes only nodes that can be imported by name


class Receipts(TypedDict, total=False):
    """What the graph knows."""

    paid: str
    shipped: str


@workflow.defn
class GraphOrder:
    """The order as a graph of two nodes."""

    @workflow.run
    async def run(self) -> Any:
        """Return the state at the end."""
        return await plugin.graph("order").compile().ainvoke({})


@promise("a node of a graph that had completed is not executed again after a kill")
async def node_stays(stage: Stage) -> Finding:
    """The worker dies at the entry of the second node."""
    return await ordered(stage, "ship entered")


@promise("a node of a graph that was killed after its effect is not executed again")
async def node_at_least_once(stage: Stage) -> Finding:
    """The worker dies in the first node, before it returns."""
    return await ordered(stage, "pay executed")


async def ordered(stage: Stage, kill: str) -> Finding:
    """A pass when each node is executed once, although the first worker dies at the place `kill`."""
    stage.module = __name__
    run = await stage.start("GraphOrder")
    await stage.die(kill)
    status, executed = await stage.finish(run), dict(stage.executed)
    return judged(status == "completed" and executed == {"pay": 1, "ship": 1}, f"{status}, executed {executed}")


def missing(folder: Path, services: dict[str, str]) -> Finding:
    """The finding where the plugin is not installed."""
    return Finding("not run", "temporalio-langgraph is not installed")


LANGGRAPH: dict[str, Callable[..., Finding]] = dict(promise) if THERE else dict.fromkeys(promise, missing)


async def pay(state: Receipts) -> Receipts:
    """The first node."""
    return {"paid": worlds[0].pay(1)}


async def ship(state: Receipts) -> Receipts:
    """The second node."""
    return {"shipped": worlds[0].ship(1)}


async def work(address: str, queue: str, outside: str, kill: str) -> None:
    """Be a worker until this process ends."""
    worlds.append(World(Path(outside), kill))
    order = StateGraph(Receipts)
    for name, node in (("pay", pay), ("ship", ship)):
        order.add_node(name, node, metadata={"execute_in": "activity", **OPTIONS})
    order.add_edge(START, "pay")
    order.add_edge("pay", "ship")
    order.add_edge("ship", END)
    async with Worker(
        await Client.connect(address),
        task_queue=queue,
        workflows=[GraphOrder],
        plugins=[plugin.LangGraphPlugin(graphs={"order": order})],
        activity_executor=ThreadPoolExecutor(),
        max_cached_workflows=0,
    ):
        await asyncio.Event().wait()
