"""What a workflow author writes and sees: a state, steps, a context, and the run that carries them.

A workflow is an explicit state machine. A step is a plain function `(ctx, state) -> next`: it changes the typed state
in place, reaches the world only through `ctx`, and returns the next step, `None` (completed) or `Done(...)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from labkit.authoring import check_workflow, problem_of
from labkit.errors import InvalidInput, UnknownStep

TERMINAL = ("completed", "cancelled", "failed")
WAITING = ("waiting_for_approval", "waiting_for_timer", "waiting_for_person")
STATUSES = ("running", *WAITING, "quarantined", *TERMINAL)
OUTCOME = ("status", "reason", "completed_steps", "position", "budgets", "data")
CAPABILITIES = ("dedup", "lookup", "neither")


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


class Receipt(msgspec.Struct, kw_only=True):
    """A provider's answer to an effect. `status` is `done`, or `planned` when an outbox will deliver it later."""

    id: str
    status: str = "done"


class Order(msgspec.Struct, kw_only=True):
    """One effect as it is sent to a provider.

    `key` is the effect key, or None when the policy sends none. `subject` names the logical effect so that a
    report can count duplicates; a provider never uses it to recognise a repeat. `label` is the tap label.
    """

    target: str
    operation: str
    request: dict[str, Any]
    subject: str
    label: str
    key: str | None = None


class Target(msgspec.Struct, kw_only=True):
    """An outside system: what it can do about repeats, and what a person does when nobody knows.

    `capability` is `dedup` (a repeated key returns the first receipt), `lookup` (can be asked by key) or `neither`.
    """

    capability: str
    reconcile: str = "look into the target system by hand"
    compensate: str = "no compensation is known"


class ActivityCall(NamedTuple):
    """Handed to an activity as its first argument: `number` counts from 1 how often the world saw this very call.

    The count outlives processes. `drift` says that a model stand-in should answer a second call differently.
    """

    number: int
    drift: bool = False


class Decision(msgspec.Struct, kw_only=True):
    """A person's answer to an approval: `approved`, `edited` (with `changes`) or `rejected`."""

    verdict: str
    by: str
    changes: dict[str, Any] = msgspec.field(default_factory=dict)


class Context(Protocol):
    """The only door between a step and the world. What it returns is the same live and in replay."""

    run: Run[Any]

    def activity(self, function: Callable[..., Any], *args: Any, cost: float = 0.0) -> Any:
        """Call `function(call, *args)`: not deterministic, safe to repeat. `cost` is taken from the run's budget."""
        ...

    def effect(self, target: str, operation: str, request: dict[str, Any]) -> Receipt:
        """Change the outside world once, under the lab's effect policy; raise EffectRejected on a refusal."""
        ...

    def approval(self, role: str, question: str) -> Decision:
        """Ask a person with `role` once; the run waits, across processes, until there is a decision."""
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
            raise InvalidInput(f"workflow {self.name}: {wrong}")
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
