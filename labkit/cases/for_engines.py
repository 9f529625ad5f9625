"""Workflows made for the check of an engine: long, with loops, branches, many effects, waits and early ends.

The refund ends before a version has two digits, and each of its steps makes few calls. What an engine gets wrong beyond
that, it gets wrong here. `WORKFLOWS` says how many crashes are tried on each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from labkit.errors import ActivityFailed
from labkit.model import ActivityCall, Context, Done, State, Target, Workflow

LONG, ROUNDS = 14, 6  # steps, so that versions have two digits; rounds of a loop of two steps
LATER = "2026-01-05T12:00:00+00:00"  # a simulated process begins at 09:00, the next one an hour after it died
TARGETS = {
    "shop": Target(capability="dedup"),
    "bank": Target(capability="lookup"),
    "post": Target(capability="neither"),
}


class Noted(State):
    """What the steps noted, in order, and how often a loop was run through."""

    notes: list[str] = msgspec.field(default_factory=list)
    rounds: int = 0
    texts: dict[str, str] = msgspec.field(default_factory=dict)


class Tried(NamedTuple):
    """A workflow, how many crashes are tried on it, and whether two workers are."""

    workflow: Workflow[Noted]
    crashes: int
    two_workers: bool = False


def look_up(call: ActivityCall, about: str) -> str:
    """An activity whose answer depends on what is asked alone."""
    return f"known of {about}"


def out_of_order(call: ActivityCall) -> str:
    """An activity that always fails."""
    raise ConnectionError("nobody answers")


def _look(ctx: Context, state: Noted, about: str) -> None:
    state.notes.append(ctx.activity(look_up, about, cost=0.01))


def _do(ctx: Context, state: Noted, target: str, about: str) -> None:
    state.notes.append(ctx.effect(target, "do", {"about": about}).id)


def _workflow(name: str, *steps: Callable[..., Any]) -> Workflow[Noted]:
    made = Workflow(name, version="1.0.0", state=Noted, begin=Noted, targets=TARGETS)
    for step in steps:
        made.step(step)
    return made


def _long() -> Workflow[Noted]:
    """A line of steps: an activity in each, and an effect in every third."""

    def step_of(number: int) -> Callable[..., Any]:
        def step(ctx: Context, state: Noted) -> Any:
            _look(ctx, state, str(number))
            if number % 3 == 2:
                _do(ctx, state, "shop", str(number))
            return f"s{number + 1}" if number + 1 < LONG else None

        step.__name__ = f"s{number}"
        return step

    return _workflow("long", *map(step_of, range(LONG)))


def _loop() -> Workflow[Noted]:
    """Two steps that are visited again and again, with an effect each time."""

    def ask(ctx: Context, state: Noted) -> Any:
        state.rounds += 1
        _look(ctx, state, str(state.rounds))
        return pay

    def pay(ctx: Context, state: Noted) -> Any:
        _do(ctx, state, "bank", str(state.rounds))
        return ask if state.rounds < ROUNDS else None

    return _workflow("loop", ask, pay)


def _branch() -> Workflow[Noted]:
    """The way depends on what an activity answered; one branch ends early."""

    def choose(ctx: Context, state: Noted) -> Any:
        _look(ctx, state, "the way")
        return right if "way" in state.notes[0] else left

    def left(ctx: Context, state: Noted) -> Any:
        return Done("failed", "the wrong way")

    def right(ctx: Context, state: Noted) -> Any:
        _do(ctx, state, "shop", "right")
        return Done("cancelled", "enough")

    return _workflow("branch", choose, left, right)


def _effects() -> Workflow[Noted]:
    """Many effects in one step, with activities before, between and after them."""

    def all_at_once(ctx: Context, state: Noted) -> Any:
        _look(ctx, state, "what to do")
        for number, target in enumerate(("shop", "bank", "shop", "post")):
            _do(ctx, state, target, str(number))
        _look(ctx, state, "what was done")
        return after

    def after(ctx: Context, state: Noted) -> Any:
        state.notes.append("after")
        return None

    return _workflow("many-effects", all_at_once, after)


def _questions() -> Workflow[Noted]:
    """Two questions in one step, one in the next."""

    def ask_twice(ctx: Context, state: Noted) -> Any:
        _look(ctx, state, "what to ask")
        state.notes += [ctx.approval("boss", f"{number}?").verdict for number in (1, 2)]
        return ask_again

    def ask_again(ctx: Context, state: Noted) -> Any:
        state.notes.append(ctx.approval("boss", "sure?").verdict)
        _do(ctx, state, "bank", "it")
        return None

    return _workflow("questions", ask_twice, ask_again)


def _timer() -> Workflow[Noted]:
    """A wait for a time, with calls on both sides of it."""

    def wait(ctx: Context, state: Noted) -> Any:
        _look(ctx, state, "before")
        ctx.sleep_until(LATER)
        _look(ctx, state, "after")
        return act

    def act(ctx: Context, state: Noted) -> Any:
        _do(ctx, state, "shop", "it")
        return None

    return _workflow("timer", wait, act)


def _every_call() -> Workflow[Noted]:
    """Every kind of call in one step, a failure that is caught among them."""

    def call_all(ctx: Context, state: Noted) -> Any:
        state.texts["when"] = ctx.now()
        state.texts["chance"] = str(ctx.random())
        try:
            ctx.activity(out_of_order)
        except ActivityFailed as failed:
            state.notes.append(failed.what)
        state.texts["text"] = ctx.artifact("a long text")
        _look(ctx, state, "what is left")
        return act

    def act(ctx: Context, state: Noted) -> Any:
        _do(ctx, state, "shop", state.texts["text"])
        return None

    return _workflow("every-call", call_all, act)


WORKFLOWS = {
    each.workflow.name: each
    for each in (
        Tried(_long(), 1),
        Tried(_loop(), 1),
        Tried(_branch(), 2, two_workers=True),
        Tried(_effects(), 1),
        Tried(_questions(), 1),
        Tried(_timer(), 2),
        Tried(_every_call(), 1),
    )
}
