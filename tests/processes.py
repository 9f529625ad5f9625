"""Workflows whose steps depend on what a process is: its clock, its chance, its memory. Real children import them."""

from __future__ import annotations

from typing import Any

import msgspec

from labkit.model import ActivityCall, Context, State, Target, Workflow

TARGETS = {
    "bank": Target(capability="dedup"),
    "desk": Target(capability="lookup"),
    "post": Target(capability="neither"),
}


class Seen(State):
    """What the steps saw."""

    seen: list[Any] = msgspec.field(default_factory=list)


def flow(name: str) -> Workflow[Seen]:
    """A workflow without steps."""
    return Workflow(name, version="1", state=Seen, begin=Seen, targets=TARGETS)


stamped = flow("stamped")


@stamped.step
def stamp(ctx: Context, state: Seen) -> Any:
    """Time and chance go into the state, and into the request of an effect."""
    state.seen = [ctx.now(), ctx.random()]
    state.seen.append(ctx.effect("bank", "pay", {"at": ctx.now(), "nonce": ctx.random()}).id)
    return None


dated = flow("dated")


@dated.step
def date(ctx: Context, state: Seen) -> Any:
    """Time and chance go into the state only."""
    state.seen = [ctx.now(), ctx.random()]
    state.seen.append(ctx.effect("bank", "pay", {}).id)
    return None


promised = flow("promised")


@promised.step
def promise(ctx: Context, state: Seen) -> Any:
    """A model proposes an amount, a person who is not told agrees, and it is paid."""
    state.seen = [ctx.activity(amount)]
    ctx.approval("boss", "shall I pay?")
    state.seen.append(ctx.effect("bank", "pay", {"amount": state.seen[0]}).id)
    return None


def amount(call: ActivityCall) -> int:
    """What a model proposes; a drifting one changes its mind."""
    return 900 if call.drift and call.number > 1 else 100
