"""Broken workflows: a step reaches past its context."""

from __future__ import annotations

import time
import uuid
from typing import Any

from pytest import MonkeyPatch

from labkit.model import Context
from tests.mutants import mutant
from tests.mutants.order import OrderState, order, pack, pay, price_of, stock_of


@mutant("the recovered result equals that of a fault-free run", workflow=order, engine="event-sourced")
def state_taken_from_the_clock(patch: MonkeyPatch) -> None:
    """`time.time()` inside a step: the replayed step computes something else than the one that was paid for."""

    def quote(ctx: Context, state: OrderState) -> Any:
        state.price = ctx.activity(price_of)
        state.stock = ctx.activity(stock_of)
        state.receipts.append(f"asked at {time.time()}")  # no call is given it: a changed argument would be drift
        return pay

    patch.setitem(order.steps, "quote", quote)


@mutant("every recovery ends", workflow=order, engine="event-sourced")
def order_of_calls_depends_on_the_hour(patch: MonkeyPatch) -> None:
    """Calls are made in the order of a set, or of what finished first: the replay asks for another call."""

    def quote(ctx: Context, state: OrderState) -> Any:
        for activity in (price_of, stock_of) if int(time.time() // 3600) % 2 else (stock_of, price_of):
            ctx.activity(activity)
        return pay

    patch.setitem(order.steps, "quote", quote)


@mutant("every recovery ends", workflow=order, engine="snapshot")
def random_number_in_the_request(patch: MonkeyPatch) -> None:
    """`uuid4()` in the request of an effect: the same key comes with another request after a crash."""

    def pay_once(ctx: Context, state: OrderState) -> Any:
        state.receipts.append(ctx.effect("payments", "charge", {"amount": state.price, "id": uuid.uuid4().hex}).id)
        return pack

    patch.setitem(order.steps, "pay", pay_once)
