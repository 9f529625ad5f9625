"""What a workflow author writes and sees: a state, steps, a context, and the run that carries them.

A workflow is an explicit state machine. A step is a plain function `(ctx, state) -> next`: it changes the typed state
in place, reaches the world only through `ctx`, and returns the next step, `None` (completed) or `Done(...)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from labkit.authoring import check_workflow, place_of, problem_of
from labkit.calls import CAPABILITIES as CAPABILITIES
from labkit.calls import ActivityCall as ActivityCall
from labkit.calls import Decision as Decision
from labkit.calls import Order as Order
from labkit.calls import Receipt as Receipt
from labkit.calls import Target as Target
from labkit.errors import InvalidInput, UnknownStep

TERMINAL = ("completed", "cancelled", "failed")
WAITING = ("waiting_for_approval", "waiting_for_timer", "waiting_for_person")
STATUSES = ("running", *WAITING, "quarantined", *TERMINAL)
OUTCOME = ("status", "reason", "completed_steps", "position", "budgets", "data")


class State(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Base of a workflow's own state: typed fields with defaults, plain data only, never a client or a secret."""


S = TypeVar("S", bound=State)


class Budgets(msgspec.Struct, kw_only=True):
    """What a run may still spend: `steps_remaining` (count) and `cost_remaining` (currency units of model cost)."""

    steps_remaining: int = 100
    cost_remaining: float = 1.0


class ApprovalRef(msgspec.Struct, kw_only=True):
    """The approval that a run asked for last."""

    request_id: str
    required_role: str


class Run(msgspec.Struct, Generic[S], kw_only=True, forbid_unknown_fields=True):
    """One execution of a workflow: everything that a new process needs in order to go on.

    `state_version` counts durable writes, `fence` is the last owner's fencing token, `position` counts completed
    steps, `origin` is the run whose effects this run shares (itself, unless it is a fork), `policy` is theirs.
    """

    tenant_id: str
    workflow_id: str
    workflow_version: str
    run_id: str
    origin: str
    policy: str
    state_version: int = 0
    fence: int = 0
    status: str = "running"
    reason: str = ""
    closing: str = ""
    next_transition: str | None
    input_refs: list[str] = msgspec.field(default_factory=list)
    completed_steps: list[str] = msgspec.field(default_factory=list)
    position: int = 0
    pending_effects: list[str] = msgspec.field(default_factory=list)
    approval: ApprovalRef | None = None
    budgets: Budgets = msgspec.field(default_factory=Budgets)
    checkpoint_schema: int = 1
    created_at: str = ""
    data: S

    def outcome(self) -> dict[str, Any]:
        """What must be the same whatever the engine and however often it crashed: status, steps, budgets, data."""
        return {name: msgspec.to_builtins(getattr(self, name)) for name in OUTCOME}


class Event(NamedTuple):
    """One row of a journal: `kind` is began, activity, effect, approval, timer, now, random,
    artifact, failed, completed or closed."""

    seq: int
    kind: str
    step: str
    name: str
    payload: bytes


class Moment(NamedTuple):
    """A point in a run's history that can be read and forked: what was written, and how many bytes."""

    state_version: int
    kind: str
    step: str
    name: str
    size: int


class Done(NamedTuple):
    """Returned by a step to close the run as `completed`, `cancelled` or `failed`, with a reason."""

    status: str
    reason: str = ""


class Context(Protocol):
    """The only door between a step and the world. What it returns is the same live and in replay."""

    run: Run[Any]

    def activity(
        self, function: Callable[..., Any], *args: Any, cost: float = 0.0, may_change: tuple[str, ...] = ()
    ) -> Any:
        """Call `function(call, *args)`: not deterministic, safe to repeat. `cost` is taken from the run's budget.

        `may_change` names parameters of `function` whose arguments may differ from the recorded call: else it is Drift.
        """
        ...

    def effect(
        self,
        target: str,
        operation: str,
        request: dict[str, Any],
        *,
        once_per: tuple[str, ...] = (),
        may_change: tuple[str, ...] = (),
    ) -> Receipt:
        """Change the outside world once, under the lab's effect policy; raise EffectRejected on a refusal.

        `once_per` names the fields of `request` that are the business identity, `may_change` those that may differ
        from the recorded request (any other difference is Drift). Left empty, both are as the target declares them.
        """
        ...

    def approval(self, role: str, question: str, about: dict[str, Any] | None = None) -> Decision:
        """Ask a person with `role` once; the run waits, across processes, until there is a decision.

        The decision holds for this question `about` this content only; `about` is plain data, shown to the person.
        """
        ...

    def sleep_until(self, when: str) -> None:
        """Wait durably until the ISO 8601 time `when`."""
        ...

    def now(self) -> str:
        """The time as ISO 8601 text, recorded where the engine records calls."""
        ...

    def random(self) -> float:
        """A random number in [0, 1), recorded where the engine records calls."""
        ...

    def artifact(self, content: str) -> str:
        """Store large text once, outside the state; return its reference `sha256:...`."""
        ...


Step = Callable[[Any, Any], Any]


class Workflow(Generic[S]):
    """A named, versioned state machine.

    `begin(**inputs)` checks the inputs (raising InvalidInput) and returns the first state; `tenant_of(**inputs)`,
    when given, names the tenant that they belong to; `example` are inputs to try it with. A run starts at the step
    registered first. `schema` is the version of the state's shape.
    """

    def __init__(
        self,
        name: str,
        *,
        version: str,
        state: type[S],
        begin: Callable[..., S],
        tenant_of: Callable[..., str] | None = None,
        example: dict[str, Any] | None = None,
        schema: int = 1,
        targets: dict[str, Target] | None = None,
        budgets: Budgets | None = None,
        max_state_bytes: int = 64_000,
    ) -> None:
        check_workflow(name, state, targets or {}, CAPABILITIES)
        self.name, self.version, self.state, self.begin, self.schema = name, version, state, begin, schema
        self.tenant_of, self.example = tenant_of, example or {}
        self.targets, self.budgets, self.max_state_bytes = targets or {}, budgets or Budgets(), max_state_bytes
        self.steps: dict[str, Step] = {}

    def step(self, function: Step) -> Step:
        """Register a plain function of (ctx, state) under its name; raise InvalidInput if it is unfit."""
        wrong = problem_of(function, taken=self.steps)
        if wrong:
            raise InvalidInput(
                f"workflow {self.name}: {wrong} ({place_of(function)})",
                safe="nothing was run",
                next="write def name(ctx, state): ...; asynchronous code belongs in an activity, with asyncio.run",
            )
        self.steps[function.__name__] = function
        return function

    @property
    def first(self) -> str:
        """The name of the step where a run starts."""
        return next(iter(self.steps))

    def find(self, name: str) -> Step:
        """The step called `name`; raise UnknownStep when this version does not have it."""
        if name not in self.steps:
            raise UnknownStep(
                f"workflow {self.name} {self.version} has no step {name!r}; it has {', '.join(self.steps)}",
                safe="the run is untouched",
                next="run the workflow version that wrote it, or migrate the run",
            )
        return self.steps[name]
