"""What the scenes of the LangGraph probes share: their state, a chain of nodes, and one process's part in a run."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph

from labkit.stacks.probes.langgraph_lives import Life
from labkit.stacks.probes.langgraph_saver import Awaited

Said = dict[str, Any]
PATIENCE = 30.0
"""Seconds that a process or a node waits for another one to arrive."""


class Order(TypedDict, total=False):
    """The state of every graph here."""

    charge: Any
    ship: str
    checks: Annotated[list[str], operator.add]


def graph_of(nodes: dict[str, Any]) -> StateGraph[Any]:
    """A chain of these nodes."""
    graph: StateGraph[Any] = StateGraph(Order)
    graph.add_edge(START, next(iter(nodes)))
    graph.add_sequence(list(nodes.items()))
    return graph


def play(life: Life, app: Any, answer: Any = None) -> Said:
    """Look at the run, do what `life.verb` says, and tell what was found before and after, or the error."""
    if life.awaited:
        app = Awaited(app)
    thread: RunnableConfig = {"configurable": {"thread_id": life.folder}}
    if life.option == "as_node":
        app.update_state(thread, {"charge": "paid, says the bank"}, as_node="charge")
    found, error, result = app.get_state(thread), "", None
    try:
        match life.verb:
            case "start":
                result = app.invoke({"checks": []}, thread, durability=life.durability)
            case "resume":
                given = answer if found.created_at else {"checks": []}  # nothing was saved: begin
                result = app.invoke(given, thread, durability=life.durability)
            case "replay":
                old = next(state for state in app.get_state_history(thread) if state.next == ("ship",))
                result = app.invoke(None, old.config, durability=life.durability)
    except TypeError as raised:
        error = str(raised)
    charge = (found.values or {}).get("charge")
    left = [] if error else list(app.get_state(thread).next)
    return {
        "next": list(found.next),
        "charge": repr(charge),
        "error": error,
        "left": left,
        "result": repr(result),
        "points": len(list(app.get_state_history(thread))),
    }


def wait_for(there: Callable[[], bool]) -> None:
    """Wait until this is so, at most `PATIENCE` seconds."""
    end = time.monotonic() + PATIENCE
    while not there() and time.monotonic() < end:
        time.sleep(0.002)
