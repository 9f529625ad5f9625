"""LangGraph: the graph or the functional API, with SQLite's saver or Postgres's, in one of the durability modes.

Written as its documentation writes it. A graph has a node for each step and a checkpoint after each; an entrypoint has
a task for each, and finds one that has run again by its name and by its position among the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, Literal, NamedTuple, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from psycopg.errors import DeadlockDetected, DuplicateObject, DuplicateTable, UniqueViolation

from labkit.stacks.base import Desk, Facts, Place, Restored, Stack, Standing


class Refund(TypedDict, total=False):
    """The graph's state: the desk's facts, a channel each."""

    request: int
    case: dict[str, Any]
    note: str
    verdict: dict[str, Any]
    fraud: str
    draft: dict[str, Any]
    approved: bool
    refund_receipt: str
    mail_receipt: str
    ticket_receipt: str


class Saver(NamedTuple):
    """A checkpointer: how it is opened, and what it needs."""

    open: Callable[[Place], AbstractContextManager[BaseCheckpointSaver[Any]]]
    packages: tuple[str, ...]
    services: tuple[str, ...] = ()


class Graph(Stack):
    """The graph API, with a saver and in a durability mode."""

    def __init__(self, name: str, saver: Saver, durability: Literal["sync", "async", "exit"] = "sync") -> None:
        self.name, self.saver, self.durability = name, saver, durability
        self.packages = ("langgraph", "langgraph-checkpoint", *saver.packages)
        self.services = saver.services

    def start(self, desk: Desk, place: Place) -> Standing:
        """Invoke the graph with its input; it ends, or returns at the interrupt."""
        with self.app(desk, place) as app:
            return self._invoke(app, place, {"request": desk.case})

    def approve(self, desk: Desk, place: Place) -> Standing:
        """Answer the interrupt."""
        with self.app(desk, place) as app:
            return self._invoke(app, place, Command(resume=True))

    def resume(self, desk: Desk, place: Place) -> Standing:
        """Invoke with no input on the same thread: it goes on from the last checkpoint. Without one it begins."""
        with self.app(desk, place) as app:
            saved = app.get_state(config(place)).created_at
            return self._invoke(app, place, None if saved else {"request": desk.case})

    def restored(self, desk: Desk, place: Place) -> Restored:
        """The latest state, and the node that it names as the next."""
        with self.app(desk, place) as app:
            state = app.get_state(config(place))
            return Restored(state.values or {}, " ".join(state.next))

    def history(self, desk: Desk, place: Place) -> list[str]:
        """The checkpoints: the id of each, and the node that comes next."""
        with self.app(desk, place) as app:
            states = list(app.get_state_history(config(place)))[::-1]
        return [f"{state.config['configurable']['checkpoint_id']} {' '.join(state.next) or 'end'}" for state in states]

    def fork(self, desk: Desk, place: Place, point: str) -> Standing:
        """Branch off an old checkpoint with `update_state` and go on from there; the branch is the thread's latest."""
        with self.app(desk, place) as app:
            old = config(place, checkpoint_ns="", checkpoint_id=point.split()[0])
            return self._invoke(app, place, None, app.update_state(old, None))

    @contextmanager
    def app(self, desk: Desk, place: Place) -> Iterator[Any]:
        """The compiled graph on its checkpointer."""
        with self.saver.open(place) as saver:
            yield graph_of(desk).compile(checkpointer=saver)

    def _invoke(self, app: Any, place: Place, given: Any, where: RunnableConfig | None = None) -> Standing:
        """Invoke, and tell where that ended: `next` names what is left, and nothing left counts as the end."""
        result = app.invoke(given, where or config(place), durability=self.durability)
        if asked := result.get("__interrupt__"):
            return Standing("waiting", dict(result), str(asked[0].value))
        left = app.get_state(config(place)).next
        return Standing("failed" if left else "completed", result, f"next: {', '.join(left)}" if left else "")


class Functional(Graph):
    """The functional API: a task of its own for each step."""

    @contextmanager
    def app(self, desk: Desk, place: Place) -> Iterator[Any]:
        """The entrypoint on its checkpointer."""
        with self.saver.open(place) as saver:

            @entrypoint(checkpointer=saver)
            def refund(given: Facts) -> Facts:
                facts = given
                for step in desk.plan:
                    if step == "manager_approval":
                        facts = {**facts, "approved": interrupt(desk.question(facts))}
                    facts = facts | call(step, facts).result()
                return facts

            call = self.calls(desk)
            yield refund

    def calls(self, desk: Desk) -> Any:
        """A function of a step and the facts that returns a future: each step is a task with its name."""
        tasks: dict[str, Any] = {step: task(name=step)(partial(desk.do, step)) for step in desk.plan}
        return lambda step, facts: tasks[step](facts)

    def fork(self, desk: Desk, place: Place, point: str) -> Standing:
        """There is no checkpoint between two tasks."""
        raise self.lacks("fork", "an entrypoint has a checkpoint where it begins and one where it has ended")


class SharedTask(Functional):
    """The same with one task that every step goes through, as a helper like `call_tool(name, ...)` would be."""

    def calls(self, desk: Desk) -> Any:
        """The task."""
        call_tool: Any = task(name="call_tool")
        return call_tool(desk.do)


@contextmanager
def on_postgres(place: Place) -> Iterator[BaseCheckpointSaver[Any]]:
    """The saver in Postgres; `setup` makes or migrates its tables."""
    with PostgresSaver.from_conn_string(place.services["postgres"]) as saver:
        set_up(saver)
        yield saver


SQLITE = Saver(
    lambda place: SqliteSaver.from_conn_string(f"{place.folder}/checkpoints.sqlite"), ("langgraph-checkpoint-sqlite",)
)
POSTGRES = Saver(on_postgres, ("langgraph-checkpoint-postgres", "psycopg"), ("postgres",))
STACKS = (
    Graph("langgraph", SQLITE),
    Graph("langgraph-async", SQLITE, "async"),
    Graph("langgraph-exit", SQLITE, "exit"),
    Graph("langgraph-postgres", POSTGRES),
    Graph("langgraph-postgres-async", POSTGRES, "async"),
    Graph("langgraph-postgres-exit", POSTGRES, "exit"),
    Functional("langgraph-functional", SQLITE),
    Functional("langgraph-postgres-functional", POSTGRES),
    SharedTask("langgraph-shared", SQLITE),
)


def graph_of(desk: Desk) -> StateGraph[Any]:
    """A chain of nodes, one for each step of the desk's plan."""
    graph: StateGraph[Any] = StateGraph(Refund)
    graph.add_edge(START, desk.plan[0])
    graph.add_sequence([(step, node_of(desk, step)) for step in desk.plan])
    return graph


def node_of(desk: Desk, step: str) -> Any:
    """The function of one node; the approval's asks the manager first."""

    def node(state: Refund) -> Facts:
        facts: Facts = dict(state)
        if step == "manager_approval":
            facts["approved"] = interrupt(desk.question(facts))
        return desk.do(step, facts)

    return node


def config(place: Place, **more: str) -> RunnableConfig:
    """Which thread: the run in its folder, for many runs may share one Postgres."""
    return {"configurable": {"thread_id": str(place.folder / place.run_id), **more}}


def set_up(saver: PostgresSaver) -> None:
    """Make the tables; again when another process was at it too, for then one of them fails."""
    try:
        saver.setup()
    except (UniqueViolation, DuplicateObject, DuplicateTable, DeadlockDetected):
        set_up(saver)
