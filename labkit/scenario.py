"""One way to run a workflow: which inputs, engine, policy and provider. Simulator, bench and notebooks share it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from labkit.clock import Clock, ManualClock, SystemClock
from labkit.coordination import approvals
from labkit.errors import EffectUnknown, InvalidInput, ProviderAway, UnknownRun, known
from labkit.memory import Memory
from labkit.model import CAPABILITIES, Decision, Run, Workflow
from labkit.own_engines import engine_class
from labkit.parts import Parts, assemble
from labkit.provider.faults import AWAY_FOR, Fault
from labkit.provider.ledger import Ledger
from labkit.provider.protocol import World
from labkit.provider.twin import Twin
from labkit.runner import Runner, check_names
from labkit.store import runs
from labkit.store.protocol import Store
from labkit.suspend import timer_of

AS_DECLARED = "as-declared"
PROVIDERS = (*CAPABILITIES, AS_DECLARED)
MANAGER = "manager"
MOST_RESUMED = AWAY_FOR + 1
MOST_WAITS = 30  # a step may ask the time anew at each wake-up, and so never be done


def require_workflow(given: Any) -> Workflow[Any]:
    """`given`, if it is a workflow; raise InvalidInput, which says what to pass, for anything else."""
    if not isinstance(given, Workflow):
        raise InvalidInput(
            f"{repr(given)[:80]} is a {type(given).__name__}, expected a workflow",
            safe="nothing was run or written",
            next="pass the object, not its name: from labkit import refund, or your own Workflow(...)",
        )
    return given


def inputs_for(workflow: Workflow[Any], given: dict[str, Any] | None) -> dict[str, Any]:
    """The inputs that were `given`, or the workflow's example; raise InvalidInput for what is no workflow."""
    require_workflow(workflow)
    if not isinstance(given, Mapping | None):
        raise InvalidInput(f"inputs {given!r}: expected a dict of names and values", safe="nothing was run")
    return dict(given or workflow.example)


def names_of(kind: str, asked: Any, choices: Sequence[str], default: Sequence[str] = ()) -> tuple[str, ...]:
    """The names that were asked for (a sequence, or one name), each once; none means the `default`, or all `choices`.

    Raises InvalidInput for a name that is none of `choices`.
    """
    names = [asked] if isinstance(asked, str) or not isinstance(asked, Iterable) else list(asked)
    return tuple(dict.fromkeys(known(kind, name, choices) for name in names)) or tuple(default or choices)


class Scenario(msgspec.Struct, kw_only=True, frozen=True):
    """What is run: `provider` is a capability that replaces every target's own, or `as-declared`.

    `faults` say when the provider misbehaves.
    """

    workflow: Workflow[Any]
    inputs: dict[str, Any]
    engine: str = "hybrid"
    policy: str = "ledger"
    provider: str = AS_DECLARED
    drift: bool = False
    run_id: str = "run-1"
    faults: tuple[Fault, ...] = ()

    @property
    def again(self) -> int:
        """How often a process resumes the run after a call without a clear answer: never where none is expected."""
        return MOST_RESUMED if self.faults else 0

    @property
    def tenant(self) -> str:
        """The tenant that the inputs belong to; raise InvalidInput when they do not fit the workflow."""
        check_names(self.workflow, self.inputs)
        return self.workflow.tenant_of(**self.inputs) if self.workflow.tenant_of else "acme"

    @property
    def capability(self) -> str | None:
        """The capability that replaces every target's own, or None."""
        return None if known("provider", self.provider, PROVIDERS) == AS_DECLARED else self.provider

    def twin(self, clock: Clock | None = None) -> Twin:
        """A fresh in-process world for this scenario; `clock` tells its time, the machine's by default."""
        time = clock or SystemClock()
        ledger = Ledger(now=lambda: time.now().isoformat())
        targets = self.workflow.targets
        return Twin(targets, capability=self.capability, drift=self.drift, faults=self.faults, ledger=ledger)

    def memory(self) -> Memory:
        """What the code of this scenario can remember: that of its workflow, and of an engine of somebody's own."""
        return Memory(self.workflow, engine_class(self.engine))

    def parts(self, store: Store, world: World, clock: Clock | None = None, process: int = 1) -> Parts:
        """The parts of a runner for this scenario, in the process of this number."""
        names = {"engine": self.engine, "policy": self.policy}
        return assemble(self.workflow, store, world, **names, clock=clock, process=process)

    def runner(
        self, store: Store, world: World, clock: Clock | None = None, owner: str = "worker-1", process: int = 1
    ) -> Runner:
        """A runner for this scenario, in the process of this number."""
        return Runner(self.parts(store, world, clock, process), tenant=self.tenant, owner=owner)


def drive(runner: Runner, run_id: str, inputs: dict[str, Any], *, again: int = 0) -> Run[Any]:
    """What a new process does: begin the run if it is not there, else resume it; approve what it asks for.

    A clock that stands still is moved on to the time that the run waits for; the machine's is not. When a call that no
    step catches got no clear answer, or found nobody, the run is resumed `again` so many times, as a worker's loop
    does. Returns the run when it is closed, waits for something else, or has waited `MOST_WAITS` times in one step.
    """
    store = runner.parts.store
    try:
        runs.header(store, runner.tenant, run_id)
    except UnknownRun:
        runner.begin(run_id, inputs)
    run = _resume(runner, run_id, again)
    waits: Counter[int] = Counter()
    while waits[run.position] < MOST_WAITS and _end_wait(runner, run):
        waits[run.position] += 1
        run = _resume(runner, run_id, again)
    return run


def _resume(runner: Runner, run_id: str, again: int) -> Run[Any]:
    for _ in range(again):
        with suppress(EffectUnknown, ProviderAway):
            return runner.resume(run_id)
    return runner.resume(run_id)


def _end_wait(runner: Runner, run: Run[Any]) -> bool:
    """Give a waiting run what it waits for: a yes, or the time where it is ours to move. False when there is nothing
    to give."""
    clock = runner.parts.clock
    if run.status == "waiting_for_approval":
        return bool(approve_all(runner.parts.store, runner.tenant, run.run_id))
    if run.status == "waiting_for_timer" and isinstance(clock, ManualClock):
        clock.advance_to(timer_of(run.reason))
        return True
    return False


def approve_all(store: Store, tenant: str, run_id: str) -> int:
    """Play the manager: approve every open question of a run; say how many there were."""
    asked = [each for each in approvals.of_run(store, run_id) if each.status == "requested"]
    for each in asked:
        approvals.decide(store, tenant, each.request_id, Decision(verdict="approved", by=MANAGER))
    return len(asked)
