"""Shapes of several steps, and of waiting: loops, branches, early ends, approvals, timers."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from labkit.model import Budgets, Context, Done
from tests.shapes.base import Notes, do, shape, think

SOON, LATER, LATEST = (f"2026-01-0{day}T18:00:00+00:00" for day in (5, 6, 7))  # simulated runs begin on the 5th


def begin() -> Notes:
    """Nothing noted yet."""
    return Notes()


def pay(ctx: Context, state: Notes) -> Any:
    """One effect, and the end."""
    do(ctx, state, "bank.pay")


def go_round(ctx: Context, state: Notes) -> Any:
    """A loop with an effect in each round."""
    state.round += 1
    do(ctx, state, "desk.open")
    return go_round if state.round < 3 else None


def go_round_twice(ctx: Context, state: Notes) -> Any:
    """A loop with an activity and two effects in each round, then another step."""
    state.round += 1
    state.log.append(ctx.activity(think, f"round {state.round}"))
    do(ctx, state, "post.send", "bank.pay")
    return go_round_twice if state.round < 2 else pay


def choose(ctx: Context, state: Notes) -> Any:
    """Where to go is what an activity said."""
    state.log.append(ctx.activity(think, "left"))
    return send if "left" in state.log[-1] else pay


def send(ctx: Context, state: Notes) -> Any:
    """Another effect, and the end."""
    do(ctx, state, "post.send")


def leave_early(ctx: Context, state: Notes) -> Any:
    """Ends before the step that pays."""
    do(ctx, state, "desk.open")
    return Done("completed", "nothing to pay") if state.log else pay


def give_up(ctx: Context, state: Notes) -> Any:
    """Pays and cancels itself."""
    do(ctx, state, "bank.pay")
    return Done("cancelled", "changed my mind")


def fail(ctx: Context, state: Notes) -> Any:
    """Sends and fails by itself."""
    do(ctx, state, "post.send")
    return Done("failed", "no stock")


def ask_then_pay(ctx: Context, state: Notes) -> Any:
    """A question, and the effect that it allows, in one step."""
    decision = ctx.approval("boss", "pay?")
    state.log.append(ctx.effect("bank", "pay", {"amount": decision.changes.get("amount", 5)}).id)


def pay_then_ask(ctx: Context, state: Notes) -> Any:
    """An effect, then a question, in one step: a snapshot engine runs the step again after the answer."""
    do(ctx, state, "bank.pay")
    state.log.append(ctx.approval("boss", "was that right?").verdict)


def ask_twice(ctx: Context, state: Notes) -> Any:
    """Two questions in one step, thoughts between them."""
    state.log.append(ctx.approval("boss", "one?").verdict)
    state.log.append(ctx.activity(think, "it"))
    state.log.append(ctx.approval("owner", "two?").verdict)
    return send


def sleep_then_pay(ctx: Context, state: Notes) -> Any:
    """A timer, then the effect, in one step."""
    ctx.sleep_until(SOON)
    do(ctx, state, "bank.pay")


def pay_sleep_send(ctx: Context, state: Notes) -> Any:
    """A timer between two effects of one step."""
    do(ctx, state, "bank.pay")
    ctx.sleep_until(SOON)
    do(ctx, state, "post.send")


def pay_then_sleep(ctx: Context, state: Notes) -> Any:
    """A timer after the effect; the run ends when it wakes up."""
    do(ctx, state, "desk.open")
    ctx.sleep_until(SOON)


def note_time(ctx: Context, state: Notes) -> Any:
    """Keeps the time three seconds from now."""
    state.log.append((datetime.fromisoformat(ctx.now()) + timedelta(seconds=3)).isoformat())
    return sleep


def sleep(ctx: Context, state: Notes) -> Any:
    """Sleeps until the time that was kept."""
    ctx.sleep_until(state.log[0])
    return pay


def doze(ctx: Context, state: Notes) -> Any:
    """Asks the time anew whenever it wakes up: a snapshot engine never lets it sleep enough."""
    ctx.sleep_until((datetime.fromisoformat(ctx.now()) + timedelta(seconds=3)).isoformat())
    return pay


def sleep_often(ctx: Context, state: Notes) -> Any:
    """Three timers in one step, an effect after each: the second one is over when the first is."""
    for when in (SOON, SOON, LATER):
        ctx.sleep_until(when)
        do(ctx, state, "bank.pay")
    return sleep_on


def sleep_on(ctx: Context, state: Notes) -> Any:
    """A timer alone in its step."""
    ctx.sleep_until(LATEST)
    return pay


def wait_for_all(ctx: Context, state: Notes) -> Any:
    """A question, a timer and effects in one step."""
    state.log.append(ctx.activity(think, "it"))
    state.log.append(ctx.approval("boss", "go?").verdict)
    do(ctx, state, "desk.open")
    ctx.sleep_until(SOON)
    do(ctx, state, "desk.close")


def first_pay(ctx: Context, state: Notes) -> Any:
    """An effect at the beginning of a long run."""
    do(ctx, state, "bank.pay")
    return count


def count(ctx: Context, state: Notes) -> Any:
    """Ten steps that do nothing but count."""
    state.round += 1
    return count if state.round < 10 else send


def spend(ctx: Context, state: Notes) -> Any:
    """The second thought costs more than is left; the effect before it is done, the one after it never."""
    state.log.append(ctx.activity(think, "cheap", cost=0.5))
    do(ctx, state, "post.send")
    state.log.append(ctx.activity(think, "dear", cost=0.9))
    do(ctx, state, "bank.pay")


loop = shape(begin, go_round)
big_loop = shape(begin, go_round_twice, pay)
branch = shape(begin, choose, pay, send)
early_end = shape(begin, leave_early, pay)
cancelled = shape(begin, give_up)
failed = shape(begin, fail)
approval_effect = shape(begin, ask_then_pay)
effect_approval = shape(begin, pay_then_ask)
two_approvals = shape(begin, ask_twice, send)
timer_effect = shape(begin, sleep_then_pay)
timer_between = shape(begin, pay_sleep_send)
timer_after = shape(begin, pay_then_sleep)
three_seconds = shape(begin, note_time, sleep, pay)
restless = shape(begin, doze, pay)
many_timers = shape(begin, sleep_often, sleep_on, pay)
all_waits = shape(begin, wait_for_all)
long_run = shape(begin, first_pay, count, send)
money_spent = shape(begin, spend, budgets=Budgets(cost_remaining=1.0))
