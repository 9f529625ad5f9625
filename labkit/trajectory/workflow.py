"""Turns a recorded trajectory into a workflow: a step for each model call, each reading tool call and each effect.

Each call is a step of its own, so that a crash can be told call by call. The workflow plays the recording again: a
model that is asked twice answers the same. Arguments and results stay in the recording; what is stored refers to them.
"""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Any, NamedTuple

import msgspec

from labkit.errors import InvalidInput
from labkit.model import CAPABILITIES, ActivityCall, Budgets, Context, State, Step, Target, Workflow
from labkit.trajectory.model import ToolCall, Trajectory

MAX_STEPS = 250  # all crashes of all steps are explored: work grows with the square, memory with the cube
SLUG_LENGTH = 40  # characters of a name inside the name of a step or workflow


class Planned(NamedTuple):
    """One step to be. `kind` is `model` (with the steps `asked` for), `activity` or `effect` (with the tool `call`)."""

    step: str
    kind: str
    call: ToolCall | None = None
    asked: tuple[str, ...] = ()


class Replayed(State):
    """How far a run is: the steps that the model asked for last, and how many results and receipts came back."""

    asked: list[str] = msgspec.field(default_factory=list)
    results: int = 0
    receipts: int = 0


def ask_model(call: ActivityCall, asked: tuple[str, ...]) -> list[str]:
    """Model call: answers as recorded, with the steps of the tool calls that it asks for."""
    return list(asked)


def run_tool(call: ActivityCall, step: str) -> str:
    """A tool call that only reads: returns a reference to its recorded result."""
    return f"result of {step}"


def begin() -> Replayed:
    """The state that every trajectory begins with."""
    return Replayed()


def plan(trajectory: Trajectory, effects: Set[str]) -> list[Planned]:
    """The steps in the order in which they were recorded: `t03_model`, `t03_1_book_reservation`, ...

    A call that was never made has none: its tool was not asked.
    """
    width = max(2, len(str(len(trajectory.turns))))
    planned: list[Planned] = []
    for number, turn in enumerate(trajectory.turns, 1):
        place = f"t{number:0{width}}"
        calls = [
            Planned(f"{place}_{nth}_{_slug(call.name)}", "effect" if call.name in effects else "activity", call)
            for nth, call in enumerate(turn.calls, 1)
            if call.made
        ]
        planned += [Planned(f"{place}_model", "model", asked=tuple(each.step for each in calls)), *calls]
    return planned


def as_workflow(trajectory: Trajectory, effects: Set[str], provider: str = "neither") -> Workflow[Replayed]:
    """A workflow that makes the recorded calls again, those named in `effects` as effects of a target of that name.

    `provider` is what every target can do about repeats; `neither` by default, because a recording does not say.
    Raises InvalidInput for another capability, or for more than MAX_STEPS steps.
    """
    planned = plan(trajectory, effects)
    if provider not in CAPABILITIES:
        raise InvalidInput(f"there is no provider {provider!r}: expected one of {', '.join(CAPABILITIES)}")
    if len(planned) > MAX_STEPS:
        raise InvalidInput(
            f"trajectory {trajectory.id} has {len(planned):,} model and tool calls, the limit is {MAX_STEPS}",
            safe="nothing was run",
            next="labkit trajectory without --effect says what has happened; to crash it, split it, or leave it out",
        )
    targets = {each.call.name for each in planned if each.call and each.kind == "effect"}
    workflow = Workflow(
        f"trajectory-{_slug(trajectory.id)}",
        version="1.0.0",
        state=Replayed,
        begin=begin,
        targets={name: _target(name, provider) for name in sorted(targets)},
        budgets=Budgets(steps_remaining=len(planned) + 1),
    )
    for each, following in zip(planned, [*planned[1:], None], strict=True):
        workflow.step(_step(each, following.step if following else None))
    return workflow


def _slug(name: str) -> str:
    return re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")[:SLUG_LENGTH] or "unnamed"


def _target(name: str, provider: str) -> Target:
    return Target(capability=provider, reconcile=f"ask whoever runs {name} whether this call arrived")


def _step(planned: Planned, following: str | None) -> Step:
    """The function of one planned step; it leads to the step named `following`."""

    def step(ctx: Context, state: Replayed) -> Any:
        if planned.kind == "model":
            state.asked = ctx.activity(ask_model, planned.asked)
        elif planned.kind == "effect" and planned.call:
            ctx.effect(planned.call.name, "call", {"recorded": planned.step})
            state.receipts += 1
        else:
            ctx.activity(run_tool, planned.step)
            state.results += 1
        return following

    step.__name__ = planned.step
    return step
