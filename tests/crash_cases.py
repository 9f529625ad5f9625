"""Workflows for the tests of crash points, in a module that reaches little: each simulated process finds it new."""

from __future__ import annotations

from typing import Any

import msgspec

from labkit.model import ActivityCall, Context, Done, State, Target, Workflow

TARGETS = {"bank": Target(capability="dedup"), "post": Target(capability="neither")}


class Notes(State):
    """What the steps wrote down."""

    log: list[str] = msgspec.field(default_factory=list)


def see(call: ActivityCall) -> str:
    """An activity."""
    return "seen"


def look(ctx: Context, state: Notes) -> str:
    """An activity, and on to the payment."""
    ctx.activity(see)
    return "pay"


def idle(ctx: Context, state: Notes) -> None:
    """Nothing."""


def of(name: str, *steps: Any) -> Workflow[Notes]:
    """A workflow of these steps."""
    made: Workflow[Notes] = Workflow(name, version="1", state=Notes, begin=Notes, targets=TARGETS)
    for step in steps:
        made.step(step)
    return made


def two_in_one_step() -> Workflow[Notes]:
    """An activity and two effects in one step."""

    def pay(ctx: Context, state: Notes) -> None:
        ctx.activity(see)
        state.log.append(ctx.effect("bank", "pay", {"to": "a"}).id)
        state.log.append(ctx.effect("post", "send", {"to": "b"}).id)

    return of("two", look, pay)


def loop() -> Workflow[Notes]:
    """A payment in three parts, with a check between them."""

    def pay(ctx: Context, state: Notes) -> str:
        state.log.append(ctx.effect("bank", "pay", {"part": len(state.log)}).id)
        return "check"

    def check(ctx: Context, state: Notes) -> str | Done:
        return "pay" if len(state.log) < 3 else Done("completed")

    return of("loop", look, pay, check)


def clock() -> Workflow[Notes]:
    """A payment that keeps the time."""

    def pay(ctx: Context, state: Notes) -> None:
        state.log += [str(ctx.now()), ctx.effect("bank", "pay", {}).id]

    return of("clock", pay)
