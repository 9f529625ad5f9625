"""Broken promises: a person says yes to one thing and another is done, because a model was asked again."""

from __future__ import annotations

from typing import Any

from pytest import MonkeyPatch

from labkit.engines.hybrid import HybridEngine
from labkit.model import ActivityCall, Context, Event, Run, State, Target, Workflow
from labkit.store.protocol import Tx
from tests.mutants import mutant

BREAKS = "what was approved is what is done"


class Purchase(State):
    """What the purchase workflow knows."""

    amount: int = 0
    receipt: str = ""


purchase: Workflow[Purchase] = Workflow(
    "purchase", version="1", state=Purchase, begin=Purchase, targets={"bank": Target(capability="dedup")}
)


def price_of(call: ActivityCall) -> int:
    """Model call: what is to be paid. A drifting model is nine times as dear the second time."""
    return 900 if call.drift and call.number > 1 else 100


@purchase.step
def quote(ctx: Context, state: Purchase) -> Any:
    """Ask the model."""
    state.amount = ctx.activity(price_of)
    return agree


@purchase.step
def agree(ctx: Context, state: Purchase) -> Any:
    """Ask a person, who is not told the amount, and pay."""
    ctx.approval("boss", "shall I pay what was quoted?")
    state.receipt = ctx.effect("bank", "pay", {"amount": state.amount}).id
    return None


@mutant(BREAKS, workflow=purchase, engine="snapshot", drift=True)
def model_asked_in_the_step_that_asks_the_person(patch: MonkeyPatch) -> None:
    """One step asks the model and the person, and pays: after the answer the step runs again, and so does the model."""

    def quote_nothing(ctx: Context, state: Purchase) -> Any:
        return agree

    def agree_and_pay(ctx: Context, state: Purchase) -> Any:
        state.amount = ctx.activity(price_of)
        return agree(ctx, state)

    patch.setitem(purchase.steps, "quote", quote_nothing)
    patch.setitem(purchase.steps, "agree", agree_and_pay)


@mutant(BREAKS, workflow=purchase, engine="hybrid", drift=True)
def journal_without_the_answers_of_models(patch: MonkeyPatch) -> None:
    """A journal records what changes the world and spares the rest: a model that is asked again answers anew."""
    record = HybridEngine.record

    def record_changes(self: HybridEngine, tx: Tx, run: Run[Any], event: Event) -> None:
        if event.kind != "activity":
            record(self, tx, run, event)

    def quote_and_agree(ctx: Context, state: Purchase) -> Any:
        state.amount = ctx.activity(price_of)
        return agree(ctx, state)

    patch.setattr(HybridEngine, "record", record_changes)
    patch.setitem(purchase.steps, "quote", quote_and_agree)
