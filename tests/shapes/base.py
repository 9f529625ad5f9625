"""What the shapes are made of. Nothing here imports a test framework: real processes import it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from labkit.model import ActivityCall, Context, State, Target, Workflow

TARGETS = {
    "bank": Target(capability="dedup"),
    "desk": Target(capability="lookup"),
    "post": Target(capability="neither"),
}


class Notes(State):
    """What the steps wrote down."""

    log: list[str] = msgspec.field(default_factory=list)
    round: int = 0


def shape(begin: Callable[..., Notes], *steps: Callable[..., Any], **options: Any) -> Workflow[Notes]:
    """A workflow of these steps; `begin` belongs to the module that holds the workflow, so that it is found there."""
    made: Workflow[Notes] = Workflow(
        steps[0].__name__, version="1", state=Notes, begin=begin, targets=TARGETS, **options
    )
    for step in steps:
        made.step(step)
    return made


def think(call: ActivityCall, about: str) -> str:
    """An activity whose answer does not depend on how often it was asked."""
    return f"thought about {about}"


def broken(call: ActivityCall) -> str:
    """An activity that never works."""
    raise ConnectionError("the model is down")


def do(ctx: Context, state: Notes, *calls: str) -> None:
    """Make effects, each named `target.operation`, and note their receipts."""
    for call in calls:
        target, operation = call.split(".")
        state.log.append(ctx.effect(target, operation, {"round": state.round}).id)
