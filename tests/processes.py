"""Workflows whose steps depend on what a process is: its clock, its chance, its memory. Real children import them."""

from __future__ import annotations

from typing import Any

from labkit.model import Context, State, Target, Workflow

TARGETS = {
    "bank": Target(capability="dedup"),
    "desk": Target(capability="lookup"),
    "post": Target(capability="neither"),
}


class Seen(State):
    """What the steps saw."""

    seen: list[Any] = []


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
