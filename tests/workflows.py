"""Small workflows for the core's tests, and a rig that runs them and lets their process die at any tap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from labkit.clock import ManualClock
from labkit.effects import ledger
from labkit.errors import ActivityFailed, LabError, UnknownRun
from labkit.model import ActivityCall, Context, Done, Run, State, Target, Workflow
from labkit.parts import assemble
from labkit.provider.faults import Fault
from labkit.provider.twin import Twin
from labkit.runner import Runner
from labkit.scenario import approve_all
from labkit.store import runs
from labkit.store.sqlite import SqliteStore
from labkit.taps import Crash, Tap, TapCounter, listening

TARGETS = {
    "bank": Target(capability="dedup"),
    "desk": Target(capability="lookup", reconcile="ask the desk", compensate="call the desk"),
    "post": Target(capability="neither"),
}
LATER = "2026-01-05T18:00:00+00:00"  # the rig's clock starts at 09:00
SOON = "2026-01-05T10:30:00+00:00"
ALWAYS_REFUSED = [Fault("bank", "refused", nth, "refuse") for nth in range(1, 20)]


class Notes(State):
    """What the steps of a chain wrote down, and a field for whatever a test wants to store."""

    log: list[str] = msgspec.field(default_factory=list)
    extra: Any = None


def think(call: ActivityCall, about: str) -> str:
    """An activity whose answer does not depend on how often it was asked."""
    return f"thought about {about}"


def broken(call: ActivityCall) -> str:
    """An activity that never works."""
    raise ConnectionError("the model is down")


def make_call(ctx: Context, call: str, about: str) -> str:
    """One call of a step: think, fail, keep, ask, sleep, nap, now, random, or an effect named `target.operation`."""
    if call == "think":
        return ctx.activity(think, about, cost=0.01)
    if call == "fail":
        try:
            return ctx.activity(broken)
        except ActivityFailed as failed:
            return failed.what
    if call == "keep":
        return ctx.artifact(f"long text about {about}")
    if call == "ask":
        return ctx.approval("boss", f"{about}?").verdict
    if call in ("sleep", "nap"):
        ctx.sleep_until(LATER if call == "sleep" else SOON)
        return "slept"
    if call in ("now", "random"):
        return str(ctx.now() if call == "now" else ctx.random())
    target, operation = call.split(".")
    return ctx.effect(target, operation, {"about": about}).id


def workflow(*steps: Callable[..., Any], name: str = "small", **options: Any) -> Workflow[Notes]:
    """A workflow of these steps, with three targets: bank (dedup), desk (lookup) and post (neither)."""
    made: Workflow[Notes] = Workflow(name, version="1", state=Notes, begin=Notes, targets=TARGETS, **options)
    for step in steps:
        made.step(step)
    return made


def chain(plan: Sequence[Sequence[str]], closing: Done | None = None, **options: Any) -> Workflow[Notes]:
    """A workflow of steps s0, s1, ...: `plan` says which calls each makes; the last step returns `closing`."""

    def step_of(number: int) -> Callable[..., Any]:
        def step(ctx: Context, state: Notes) -> Any:
            for nth, call in enumerate(plan[number]):
                state.log.append(make_call(ctx, call, f"{number}.{nth}"))
            return f"s{number + 1}" if number + 1 < len(plan) else closing

        step.__name__ = f"s{number}"
        return step

    return workflow(*map(step_of, range(len(plan))), **options)


def loop(times: int, *calls: str) -> Workflow[Notes]:
    """A workflow of one step, s0, that makes these calls and comes back to itself until it was there `times` times."""

    def s0(ctx: Context, state: Notes) -> Any:
        state.extra = (state.extra or 0) + 1
        for nth, call in enumerate(calls):
            state.log.append(make_call(ctx, call, f"{state.extra}.{nth}"))
        return s0 if state.extra < times else None

    return workflow(s0)


@contextmanager
def dying(at: str | int | None) -> Iterator[list[Tap]]:
    """A process that is dead from the tap `at` on (its name, or its number from 0); yields the taps it passed."""
    count, dead = TapCounter(), False
    passed: list[Tap] = []

    def listener(label: str, phase: str) -> None:
        nonlocal dead
        passed.append(count(label, phase))
        dead = dead or at in (str(passed[-1]), len(passed) - 1)
        if dead:
            raise Crash(str(passed[-1]))

    with listening(listener):
        yield passed


class Rig:
    """One database, one provider, one clock. Every `process()` is a new runner on them, as after a restart."""

    def __init__(
        self,
        workflow: Workflow[Any],
        engine: str = "hybrid",
        policy: str = "ledger",
        provider: str | None = None,
        faults: Iterable[Fault] = (),
    ) -> None:
        self.workflow, self.engine, self.policy = workflow, engine, policy
        self.provider, self.faults = provider, list(faults)
        self.store, self.clock = SqliteStore(), ManualClock()
        self.twin = Twin(workflow.targets, capability=provider, faults=self.faults)
        self.inputs: dict[str, Any] = {}

    def process(self, owner: str = "worker-1", tenant: str = "acme") -> Runner:
        """A new process."""
        parts = assemble(self.workflow, self.store, self.twin, engine=self.engine, policy=self.policy, clock=self.clock)
        return Runner(parts, tenant=tenant, owner=owner)

    def drive(self, run_id: str = "r") -> Run[Any]:
        """What one process does: begin or resume, approve what is asked, let time pass, until nothing moves."""
        runner = self.process()
        try:
            runs.header(self.store, runner.tenant, run_id)
        except UnknownRun:
            runner.begin(run_id, self.inputs)
        for _ in range(40):
            run = runner.resume(run_id)
            if run.status not in ("waiting_for_approval", "waiting_for_timer"):
                return run
            if run.status == "waiting_for_timer":
                self.clock.advance(3600)
            approve_all(self.store, runner.tenant, run_id)
        raise AssertionError(f"run {run_id} waits for ever: {run.status}, {run.reason}")

    def crash(self, at: str | int, run_id: str = "r") -> bool:
        """Let a process drive the run and die at a tap; False when it was done before that."""
        with dying(at):
            try:
                self.drive(run_id)
            except Crash:
                return True
        assert isinstance(at, int), f"the process never came to {at}"
        return False

    def fork(self, at: int, new_id: str, run_id: str = "r") -> None:
        """Fork a run through the engine alone."""
        engine = self.process().parts.engine
        with self.store.transaction("run/fork") as tx:
            engine.fork(tx, run_id, at, new_id)

    def executed(self) -> Counter[str]:
        """How often the provider executed each logical effect."""
        return Counter(entry.subject for entry in self.twin.entries() if entry.kind == "effect")

    def outside(self, kind: str) -> int:
        """How many of the provider's entries are of this kind."""
        return sum(entry.kind == kind for entry in self.twin.entries())

    def effects(self) -> list[ledger.Entry]:
        """Our own ledger of run r."""
        return ledger.entries(self.store, "r")


def taps_of(make: Callable[[], Rig]) -> list[str]:
    """The taps that one undisturbed process passes."""
    with dying(None) as passed:
        make().drive()
    return [str(tap) for tap in passed]


def refused(rig: Rig, kind: type[LabError], act: Callable[[], Any], *mentions: str) -> None:
    """`act` raises an error of this kind that mentions all this, and neither our database nor the world has changed."""
    image, outside = rig.store.image(), rig.twin.entries()
    with pytest.raises(kind) as caught:
        act()
    for text in mentions:
        assert text in str(caught.value)
    assert rig.store.image() == image
    assert rig.twin.entries() == outside
