"""Shapes of one step or two: what is called in it, in which order, and what goes into it."""

from __future__ import annotations

from typing import Any

from labkit.errors import ActivityFailed, EffectRejected
from labkit.model import ActivityCall, Context
from tests.shapes.base import Notes, broken, do, shape, think


def begin() -> Notes:
    """Nothing noted yet."""
    return Notes()


def think_and_pay(ctx: Context, state: Notes) -> Any:
    """An activity, then an effect with what it said: the commonest step there is."""
    thought = ctx.activity(think, "paying")
    state.log.append(ctx.effect("bank", "pay", {"why": thought}).id)


def pay_and_think(ctx: Context, state: Notes) -> Any:
    """An effect, then an activity."""
    do(ctx, state, "bank.pay")
    state.log.append(ctx.activity(think, "having paid"))


def pay_between_thoughts(ctx: Context, state: Notes) -> Any:
    """Activities around each of two effects."""
    for about in ("one", "two"):
        state.log.append(ctx.activity(think, about))
        do(ctx, state, "desk.open")
    state.log.append(ctx.activity(think, "the end"))


def two_at_once(ctx: Context, state: Notes) -> Any:
    """Two effects on two targets in one step."""
    do(ctx, state, "bank.pay", "post.send")


def twice_the_same(ctx: Context, state: Notes) -> Any:
    """Two effects on one target in one step."""
    do(ctx, state, "post.send", "post.print")


def three_in_a_row(ctx: Context, state: Notes) -> Any:
    """A list of effects, as if they were made side by side."""
    do(ctx, state, "desk.open", "bank.pay", "post.send")


def only_pay(ctx: Context, state: Notes) -> Any:
    """One effect and nothing else."""
    do(ctx, state, "bank.pay")


def look(ctx: Context, state: Notes) -> Any:
    """Nothing but thinking."""
    state.log.append(ctx.activity(think, "nothing"))
    return rest


def rest(ctx: Context, state: Notes) -> Any:
    """A step without any call."""
    state.round += 1


def pay_last(ctx: Context, state: Notes) -> Any:
    """Thinks first, in a step of its own."""
    state.log.append(ctx.activity(think, "later"))
    return send


def send(ctx: Context, state: Notes) -> Any:
    """An effect in the last step."""
    do(ctx, state, "post.send")


def survive(ctx: Context, state: Notes) -> Any:
    """A failed activity is caught, and an effect made instead."""
    try:
        state.log.append(ctx.activity(broken))
    except ActivityFailed as failed:
        state.log.append(failed.what)
        do(ctx, state, "desk.open")


def fall_back(ctx: Context, state: Notes) -> Any:
    """A refused effect is caught, and another one made instead."""
    try:
        do(ctx, state, "bank.pay")
    except EffectRejected as refused:
        state.log.append(refused.reason)
        do(ctx, state, "post.send")


def be_refused(ctx: Context, state: Notes) -> Any:
    """A refused effect that nobody catches, after one that is done."""
    do(ctx, state, "post.send", "bank.pay", "desk.open")


def file_it(ctx: Context, state: Notes) -> Any:
    """A text of its own, by reference, before the effect that sends it."""
    state.log.append(ctx.artifact("a letter " * 500))
    do(ctx, state, "post.send")
    state.log.append(ctx.artifact("a copy " * 500))


def note_time(ctx: Context, state: Notes) -> Any:
    """Time and chance go into the state, not into the request."""
    state.log += [ctx.now(), str(ctx.random())]
    do(ctx, state, "bank.pay")
    state.log.append(str(ctx.random()))


def send_time(ctx: Context, state: Notes) -> Any:
    """Time and chance go into the request: another one in each process, unless they were recorded."""
    state.log.append(ctx.effect("bank", "pay", {"at": ctx.now(), "nonce": ctx.random()}).id)


def write_much(ctx: Context, state: Notes) -> Any:
    """A long request, with what JSON has to escape."""
    lines = [{"line": number, "text": f'"{number}" ÄÖ€ \n\t\\ {"x" * 60}'} for number in range(100)]
    state.log.append(ctx.effect("post", "send", {"lines": lines}).id)


def with_helpers(ctx: Context, state: Notes) -> Any:
    """Calls are made two functions further down."""
    _outer(ctx, state)
    return only_pay


def _outer(ctx: Context, state: Notes) -> None:
    def inner(target: str) -> None:
        state.log.append(ctx.activity(think, target))
        state.log.append(ctx.effect(target, "note", {"by": "helper"}).id)

    inner("desk")
    inner("post")


class Agent:
    """An agent whose method is the activity."""

    def __init__(self, name: str) -> None:
        self.name = name

    def decide(self, call: ActivityCall, question: str) -> bool:
        """Always the same answer."""
        return len(question) > len(self.name)


def ask_agent(ctx: Context, state: Notes) -> Any:
    """A method of an object is the activity."""
    if ctx.activity(Agent("a").decide, "shall we pay?"):
        do(ctx, state, "bank.pay")


think_pay = shape(begin, think_and_pay)
pay_think = shape(begin, pay_and_think)
alternate = shape(begin, pay_between_thoughts)
two_targets = shape(begin, two_at_once)
two_effects = shape(begin, twice_the_same)
effect_list = shape(begin, three_in_a_row)
single = shape(begin, only_pay)
no_effect = shape(begin, look, rest)
last_step = shape(begin, pay_last, send)
caught_activity = shape(begin, survive)
caught_refusal = shape(begin, fall_back)
refusal = shape(begin, be_refused)
artifacts = shape(begin, file_it)
time_in_state = shape(begin, note_time)
time_in_request = shape(begin, send_time)
long_request = shape(begin, write_much)
helpers = shape(begin, with_helpers, only_pay)
class_based = shape(begin, ask_agent)
