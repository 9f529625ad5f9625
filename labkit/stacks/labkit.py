"""The lab's own three engines as stacks: the same workflow, a step of it for each step of the desk.

Effects go through `ctx.effect` under the policy `bare`: what makes them safe is, as for every stack, the caller's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from labkit.cases.desk import EFFECTS, RECEIPTS
from labkit.errors import UnknownRun
from labkit.model import ActivityCall, Done, Order, Receipt, Run, State, Step, Target, Workflow
from labkit.parts import assemble
from labkit.provider.twin import Twin
from labkit.runner import Runner
from labkit.scenario import approve_all
from labkit.stacks.base import Desk, Facts, Place, Restored, Stack, Standing
from labkit.store.sqlite import SqliteStore

TENANT = "acme"
TARGETS = {"desk": Target(capability="neither")}
FACT_OF = dict(zip(EFFECTS, RECEIPTS, strict=True)) | {"notify_customer": "mail_receipt"}


class Known(State):
    """What the run knows: the desk's facts."""

    facts: dict[str, Any] = msgspec.field(default_factory=dict)


class Counter(Twin):
    """The world as the engine sees it: whatever is ordered is done by the desk."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(TARGETS)
        self._desk = desk

    def call(self, order: Order) -> Receipt:
        """Let the desk do the step that is named as the operation, and hand its receipt on."""
        added = self._desk.do(order.operation, order.request)
        return Receipt(id=added[FACT_OF[order.operation]])


class Engine(Stack):
    """One of our engines on a SQLite file of the run's."""

    def __init__(self, engine: str) -> None:
        self.name, self._engine = f"labkit-{engine}", engine

    def start(self, desk: Desk, place: Place) -> Standing:
        """Begin the run; an id that is taken is refused."""
        with self._runner(desk, place) as runner:
            return standing(runner.start(place.run_id, {}))

    def approve(self, desk: Desk, place: Place) -> Standing:
        """Decide the open question and resume."""
        with self._runner(desk, place) as runner:
            approve_all(runner.parts.store, TENANT, place.run_id)
            return standing(runner.resume(place.run_id))

    def resume(self, desk: Desk, place: Place) -> Standing:
        """Resume the run by its id; begin it when there is none."""
        with self._runner(desk, place) as runner:
            try:
                return standing(runner.resume(place.run_id))
            except UnknownRun:
                return standing(runner.start(place.run_id, {}))

    def restored(self, desk: Desk, place: Place) -> Restored:
        """Read the run as far as it is recorded."""
        with self._runner(desk, place) as runner:
            try:
                run = runner.read(place.run_id)
            except UnknownRun:
                return Restored({}, desk.plan[0])
            return Restored(run.data.facts, run.next_transition or "")

    def history(self, desk: Desk, place: Place) -> list[str]:
        """Every durable write that is kept: state version, step, and what was written."""
        with self._runner(desk, place) as runner:
            moments = runner.parts.engine.history(place.run_id)
            return [f"{each.state_version} {each.step} {each.kind} {each.name}".strip() for each in moments]

    def fork(self, desk: Desk, place: Place, point: str) -> Standing:
        """Copy the run as it was at a state version, and take the copy as far as it goes."""
        with self._runner(desk, place) as runner:
            copy = f"{place.run_id}-fork"
            runner.fork(place.run_id, int(point.split()[0]), copy)
            return standing(runner.resume(copy))

    @contextmanager
    def _runner(self, desk: Desk, place: Place) -> Iterator[Runner]:
        store = SqliteStore(place.folder / "labkit.db")
        try:
            parts = assemble(workflow_of(desk), store, Counter(desk), engine=self._engine, policy="bare")
            yield Runner(parts, tenant=TENANT)
        finally:
            store.close()


def workflow_of(desk: Desk) -> Workflow[Known]:
    """The desk's plan as a workflow of ours."""
    book = Workflow("desk", version="1", state=Known, begin=Known, targets=TARGETS)
    for name, following in zip(desk.plan, (*desk.plan[1:], None), strict=True):
        book.step(step_of(desk, name, following))
    return book


def step_of(desk: Desk, name: str, following: str | None) -> Step:
    """The step called `name`, which leads to the one called `following`, or to the end."""

    def work(call: ActivityCall, facts: Facts) -> Facts:
        return desk.do(name, facts)

    def step(ctx: Any, state: Known) -> Any:
        if name in FACT_OF:
            state.facts[FACT_OF[name]] = ctx.effect("desk", name, state.facts).id
        elif name == "manager_approval":
            decision = ctx.approval("refund_manager", desk.question(state.facts))
            if decision.verdict != "approved":
                return Done("cancelled", f"{decision.verdict} by {decision.by}")
            state.facts |= ctx.activity(work, state.facts | {"approved": True})
        else:
            state.facts |= ctx.activity(work, state.facts)
        return following

    step.__name__ = name
    return step


def standing(run: Run[Known]) -> Standing:
    """How one of our runs stands."""
    if run.status == "completed":
        return Standing("completed", run.data.facts)
    waits = run.status == "waiting_for_approval"
    return Standing("waiting" if waits else "failed", run.data.facts, f"{run.status}: {run.reason}")


STACKS = (Engine("snapshot"), Engine("event-sourced"), Engine("hybrid"))
