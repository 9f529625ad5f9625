"""A workflow whose author deals with every error of a call: other processes import it from here."""

from __future__ import annotations

from labkit.errors import EffectRejected, EffectUnknown, ProviderAway
from labkit.model import State, Target, Workflow


class Paid(State):
    """How it was paid."""

    how: str = ""
    met: str = ""


payout: Workflow[Paid] = Workflow(
    "payout",
    version="1",
    state=Paid,
    begin=Paid,
    targets={"bank": Target(capability="dedup"), "post": Target(capability="neither")},
)


@payout.step
def pay(ctx, state):
    """Pay by the bank; when it says no, or nobody is there, by post; when it says nothing, once more."""
    try:
        state.how = ctx.effect("bank", "pay", {"amount": 5}).id
    except (EffectRejected, ProviderAway) as error:
        state.met = type(error).__name__
        return by_post
    except EffectUnknown as error:
        state.met = type(error).__name__
        state.how = ctx.effect("bank", "pay", {"amount": 5}).id
    return end


@payout.step
def by_post(ctx, state):
    """Pay by post."""
    state.how = ctx.effect("post", "pay", {"amount": 5}).id
    return end


@payout.step
def end(ctx, state):
    """Nothing more."""
