"""A recorded call is compared with what the code asks now: requests, arguments, questions, targets and operations."""

from __future__ import annotations

from typing import Any

import pytest
from workflows import TARGETS, Rig, workflow

from labkit.errors import ActivityFailed, Drift
from labkit.model import State, Target, Workflow

JOURNALS = ("event-sourced", "hybrid")


def running(code: Any, engine: str, policy: str = "ledger") -> Rig:
    """A rig whose only step, `go`, is this code."""

    def go(ctx: Any, state: Any) -> Any:
        return code(ctx, state)

    return Rig(workflow(go), engine, policy)


def after_deploy(old: Any, new: Any, engine: str, policy: str, at: str) -> Rig:
    """The old code dies at a tap; what goes on is the new code."""
    rig = running(old, engine, policy)
    rig.crash(at)
    rig.workflow = running(new, engine).workflow
    return rig


def drifts(rig: Rig, *mentions: str) -> None:
    """To go on is Drift that mentions all this, and sends nothing."""
    outside = rig.twin.entries()
    with pytest.raises(Drift) as drift:
        rig.drive()
    for text in mentions:
        assert text in drift.value.what, drift.value.what
    assert rig.twin.entries() == outside


def mails(*to: str) -> Any:
    """Code that sends a mail to each of these, in this order."""

    def code(ctx: Any, state: Any) -> Any:
        for each in to:
            ctx.effect("desk", "mail", {"to": each, "text": "hello"})

    return code


@pytest.mark.parametrize("policy", ["bare", "keyed", "ledger", "outbox"])
def test_two_effects_of_one_name_that_a_deploy_swapped_are_drift_with_both_requests(engine, policy):
    at = "go/record:after#1" if policy in ("bare", "keyed") else "go/2/intent:before#1"
    if engine == "snapshot":
        if policy != "ledger":
            return  # nothing is recorded before the step's commit: see labkit/README.md
        at = "go/confirm:after#1"
    rig = after_deploy(mails("a", "b"), mails("b", "a"), engine, policy, at)
    drifts(rig, 'to "a"', 'to "b"', "(not the same: to)")


@pytest.mark.parametrize("policy", ["ledger", "outbox"])
@pytest.mark.parametrize("now", [("post", "send"), ("bank", "hold")])
def test_a_started_effect_is_never_the_answer_to_another_target_or_operation(policy, now):
    def old(ctx: Any, state: Any) -> Any:
        ctx.effect("bank", "pay", {"amount": 1})

    def new(ctx: Any, state: Any) -> Any:
        ctx.effect(*now, {"amount": 1})

    rig = running(old, "snapshot", policy)
    rig.crash("go/commit:after#1" if policy == "outbox" else "go/attempt:after#1")
    rig.workflow = running(new, "snapshot").workflow
    if policy == "outbox":
        rig.fork(0, "f")
        with pytest.raises(Drift, match=rf"as bank\.pay .* now asks for {now[0]}\.{now[1]}"):
            rig.drive("f")
    else:
        drifts(rig, "as bank.pay", f"the code now asks for {now[0]}.{now[1]}")
    assert rig.outside("effect") == 0


def asks(call: Any, about: str, words: int = 10) -> str:
    """A model."""
    return about.upper()


def failing(call: Any, about: str) -> str:
    """A model that is down."""
    raise ConnectionError(about)


def caught(ctx: Any, about: str) -> None:
    """An activity whose failure the step lives with."""
    try:
        ctx.activity(failing, about)
    except ActivityFailed:
        ctx.now()


CHANGED = {  # what is recorded, what the code asks then, what is named
    "an argument": (lambda ctx: ctx.activity(asks, "a"), lambda ctx: ctx.activity(asks, "b"), "argument 1"),
    "one argument more": (lambda ctx: ctx.activity(asks, "a"), lambda ctx: ctx.activity(asks, "a", 3), "argument 2"),
    "of a failed call": (lambda ctx: caught(ctx, "a"), lambda ctx: caught(ctx, "b"), "argument 1"),
    "a time": (
        lambda ctx: ctx.sleep_until("2026-01-05T08:00:00+00:00"),
        lambda ctx: ctx.sleep_until("2026-01-05T08:30:00+00:00"),
        "timer go/2026-01-05T08:30:00+00:00",
    ),
    "a text": (lambda ctx: ctx.artifact("a"), lambda ctx: ctx.artifact("b"), "artifact go/sha256:3e"),
    "a question": (lambda ctx: ctx.approval("boss", "a?"), lambda ctx: ctx.approval("boss", "b?"), "question"),
    "its content": (
        lambda ctx: ctx.approval("boss", "?", {"amount": 100}),
        lambda ctx: ctx.approval("boss", "?", {"amount": 900}),
        "about",
    ),
}


@pytest.mark.parametrize("engine", JOURNALS)
@pytest.mark.parametrize("case", CHANGED)
def test_every_recorded_call_is_compared(engine, case):
    before, then, told = CHANGED[case]

    def code(call: Any) -> Any:
        return lambda ctx, state: call(ctx) and None

    rig = after_deploy(code(before), code(then), engine, "ledger", "go/commit:before#1")
    drifts(rig, told)
    with pytest.raises(Drift):
        rig.process().read("r")


def letter(text: str, **declared: Any) -> Any:
    """Code that has a text written and sends it."""

    def code(ctx: Any, state: Any) -> Any:
        ctx.activity(asks, text, may_change=("about",) if declared else ())
        ctx.effect("desk", "mail", {"to": "a", "text": text}, **declared)
        ctx.now()

    return code


@pytest.mark.parametrize("policy", ["bare", "ledger"])
@pytest.mark.parametrize("engine", JOURNALS)
def test_a_difference_is_harmless_when_the_new_code_declares_it_and_only_then(engine, policy):
    for declared, dies in ({"may_change": ("text",)}, False), ({}, True), ({"may_change": ("to",)}, True):
        new = letter("a longer text of the new release" * 9, **declared)
        rig = after_deploy(
            letter("old"), new, engine, policy, "go/record:before#2" if policy == "ledger" else "go/commit:before#1"
        )
        if dies:
            drifts(rig)
        else:
            assert rig.drive().status == "completed"
            assert [entry.request["text"] for entry in rig.twin.entries() if entry.kind == "effect"] == ["old"]


def test_a_target_may_declare_what_may_change_for_all_its_effects():
    def flow(text: str) -> Any:
        targets = {**TARGETS, "desk": Target(capability="lookup", may_change=("text",))}
        made = Workflow("small", version="1", state=State, begin=State, targets=targets)

        @made.step
        def go(ctx: Any, state: Any) -> Any:
            ctx.effect("desk", "mail", {"to": "a", "text": text})

        return made

    rig = Rig(flow("old"), "snapshot")
    rig.crash("go/attempt:before#1")
    rig.workflow = flow("new")
    assert rig.drive().status == "completed"  # what was planned is what is sent
    assert [entry.request["text"] for entry in rig.twin.entries()] == ["old"]


class Price(State):
    """A price that the code sets to a whole number, and that is stored as 1.0."""

    price: float = 0.0


@pytest.mark.parametrize("policy", ["bare", "ledger"])
def test_a_number_that_was_stored_and_read_back_is_still_the_same(engine, policy):
    made = Workflow("price", version="1", state=Price, begin=Price, targets=TARGETS)

    @made.step
    def first(ctx: Any, state: Price) -> Any:
        state.price = 1
        return second

    @made.step
    def second(ctx: Any, state: Price) -> Any:
        ctx.activity(asks, "a", state.price)
        ctx.effect("desk", "pay", {"price": state.price})
        ctx.activity(asks, "b")

    for at in ("second/record:after#1", "second/commit:before#1", "second/attempt:before#1"):
        if (engine, at[:13]) == ("snapshot", "second/record") or (policy, at[:14]) == ("bare", "second/attempt"):
            continue
        rig = Rig(made, engine, policy)
        rig.crash(at)
        assert rig.drive().status == "completed", at


def test_events_of_before_are_read_and_nothing_is_compared(engine):
    rig = after_deploy(mails("a"), mails("b"), engine, "bare", "go/commit:before#1")
    table = {"event-sourced": "events", "hybrid": "tail_events"}.get(engine)
    if table:
        with rig.store.transaction("test/set") as tx:
            for seq, payload in tx.rows(f"SELECT seq, payload FROM {table} WHERE kind='effect'"):
                assert b"\n" in payload
                tx.execute(f"UPDATE {table} SET payload=? WHERE seq=?", payload.split(b"\n")[0], seq)
    assert rig.drive().status == "completed"
