"""Our engines through the real runner: one step, repeated, whose state changes each time."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from labkit.errors import UnknownRun
from labkit.model import ActivityCall, Budgets, State, Workflow
from labkit.parts import assemble
from labkit.perf.texts import texts
from labkit.perf.watch import Watch
from labkit.provider.twin import Twin
from labkit.runner import Runner
from labkit.store.sqlite import SqliteStore

ENDLESS = 10**9
RUN = "perf-1"
DATABASE = "lab.db"


class Work(State):
    """A counter and a text that changes at each step."""

    done: int = 0
    text: str = ""


def workload(size: int, watch: Watch, *, activity: bool) -> Workflow[Work]:
    """A workflow that repeats one step for ever, its state `size` bytes long; with `activity` a call gets the text."""
    bodies = texts(size - len('{"done":100000,"text":""}'))
    workflow = Workflow(
        "perf", version="1", state=Work, begin=lambda: Work(text=bodies[0]), budgets=Budgets(steps_remaining=ENDLESS)
    )

    def answer(call: ActivityCall, number: int) -> str:
        return bodies[number % len(bodies)]

    @workflow.step
    def work(ctx: Any, state: Work) -> str:
        watch.enter(state.done)
        state.done += 1
        state.text = ctx.activity(answer, state.done) if activity else bodies[state.done % len(bodies)]
        return "work"

    return workflow


def runner(store: SqliteStore, engine: str, workflow: Workflow[Work]) -> Runner:
    """A runner of the workload that calls nobody: policy bare, a world without targets."""
    return Runner(assemble(workflow, store, Twin({}), engine=engine, policy="bare"))


def play(
    folder: Path, size: int, watch: Watch, *, engine: str, activity: bool = False, synchronous: str = "FULL"
) -> None:
    """Start or resume the workload on `engine` and let it run until the watch stops it."""
    workflow = workload(size, watch, activity=activity)
    watch.open()
    with closing(SqliteStore(folder / DATABASE, synchronous=synchronous)) as store:
        worker = runner(store, engine, workflow)
        try:
            worker.resume(RUN)
        except UnknownRun:
            worker.start(RUN, {})
