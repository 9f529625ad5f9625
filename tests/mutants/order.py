"""A small workflow without an approval: a fault-free run is never loaded a second time, a recovered one always is."""

from __future__ import annotations

from typing import Any

import msgspec

from labkit.model import ActivityCall, Context, State, Target, Workflow


class OrderState(State):
    """What an order knows so far."""

    price: int = 0
    stock: int = 0
    box: str = ""
    receipts: list[str] = msgspec.field(default_factory=list)


order: Workflow[OrderState] = Workflow(
    "order",
    version="1.0.0",
    state=OrderState,
    begin=OrderState,
    targets={"payments": Target(capability="dedup"), "parcels": Target(capability="lookup")},
)


def price_of(call: ActivityCall) -> int:
    """What the goods cost."""
    return 40


def stock_of(call: ActivityCall) -> int:
    """How many are left."""
    return 7


def box_for(call: ActivityCall, stock: int) -> str:
    """The box to send them in."""
    return f"box {stock}"


@order.step
def quote(ctx: Context, state: OrderState) -> Any:
    """Ask for price and stock."""
    state.price = ctx.activity(price_of)
    state.stock = ctx.activity(stock_of)
    return pay


@order.step
def pay(ctx: Context, state: OrderState) -> Any:
    """Effect: take the money."""
    state.receipts.append(ctx.effect("payments", "charge", {"amount": state.price}).id)
    return pack


@order.step
def pack(ctx: Context, state: OrderState) -> Any:
    """Choose a box."""
    state.box = ctx.activity(box_for, state.stock)
    return ship


@order.step
def ship(ctx: Context, state: OrderState) -> Any:
    """Effect: send the parcel."""
    state.receipts.append(ctx.effect("parcels", "send", {"box": state.box}).id)
    return None
