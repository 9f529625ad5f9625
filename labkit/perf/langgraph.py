"""LangGraph as its documentation writes it: one node in a loop, the SQLite saver, durability sync."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from labkit.perf.texts import texts
from labkit.perf.watch import Watch

ENDLESS = 10**9


class Work(TypedDict):
    """A counter and a text that changes at each step."""

    done: int
    text: str


def play(folder: Path, size: int, watch: Watch) -> None:
    """Start or resume the loop on thread 1 and let it run until the watch stops it."""
    bodies = texts(size)

    def work(state: Work) -> Work:
        watch.enter(state["done"])
        done = state["done"] + 1
        return Work(done=done, text=bodies[done % len(bodies)])

    graph = StateGraph(Work)
    graph.add_node("work", work)
    graph.add_edge(START, "work")
    graph.add_conditional_edges("work", lambda state: "work", ["work"])
    watch.open()
    with SqliteSaver.from_conn_string(str(folder / "langgraph.db")) as saver:
        app = graph.compile(checkpointer=saver)
        config: RunnableConfig = {"configurable": {"thread_id": "1"}, "recursion_limit": ENDLESS}
        begun = app.get_state(config).next
        app.invoke(None if begun else Work(done=0, text=bodies[0]), config, durability="sync")
