"""Activities and effects that fail: a step may go on without them, and every new process is told the same story."""

from __future__ import annotations

from typing import Any

import pytest
from workflows import Rig, broken, taps_of, think, workflow

from labkit.bench.launch import last_words
from labkit.coordination import approvals
from labkit.errors import ActivityFailed, EffectRejected, EffectUnknown
from labkit.model import ActivityCall
from labkit.provider.faults import Fault


def refused(call: ActivityCall) -> str:
    """A model that does not accept our key."""
    raise EffectRejected("unauthenticated", "the model does not know us")


def leaking(call: ActivityCall) -> str:
    """An error that shows a key."""
    raise ValueError("wrong key sk-" + "a1" * 12)


def first(ctx, state) -> Any:
    """Ask a broken model, then a refusing one, then do without."""
    for model in (broken, refused):
        try:
            state.log.append(ctx.activity(model))
        except (ActivityFailed, EffectRejected) as failed:
            state.log.append(failed.what)
    state.log.append(ctx.activity(think, "plan B"))
    return second


def second(ctx, state) -> Any:
    """Fail once more, as the last thing that the step does."""
    try:
        ctx.activity(broken)
    except ActivityFailed as failed:
        state.log.append(failed.what)
    return third


def third(ctx, state) -> None:
    """Ask a person."""
    state.log.append(ctx.approval("boss", "?").verdict)


def test_a_step_that_goes_on_after_a_failure_is_told_the_same_wherever_its_process_dies(engine):
    def failing() -> Rig:
        return Rig(workflow(first, second, third), engine)

    expected = failing().drive().outcome()
    down = "activity first/broken failed: ConnectionError: the model is down"
    assert expected["data"]["log"][:3] == [down, "the model does not know us", "thought about plan B"]
    for at in taps_of(failing):
        rig = failing()
        rig.crash(at)
        assert rig.drive().outcome() == rig.process().read("r").outcome() == expected, at


@pytest.mark.parametrize("policy", ["bare", "keyed"])
def test_so_is_a_step_that_goes_on_after_an_effect_without_a_clear_answer(engine, policy):
    def pay(ctx, state):
        try:
            ctx.effect("bank", "pay", {})
        except EffectUnknown:
            state.log.append("nobody knows")
        state.log.append(ctx.activity(think, "it over"))
        return third

    rig = Rig(workflow(pay, third), engine, policy, faults=[Fault("bank", "pay", 1, "fail_before")])
    rig.crash("third/wait:before#1")
    assert rig.process().read("r").data.log[:2] == ["nobody knows", "thought about it over"]
    assert rig.drive().data.log == ["nobody knows", "thought about it over", "approved"]
    assert rig.outside("effect") == 0


def test_a_failure_that_nobody_catches_is_forgotten_and_the_activity_called_again(engine):
    answers = iter([ConnectionError("down"), ConnectionError("down"), "at last"])

    def ask(ctx, state):
        state.log.append(ctx.activity(recovering))

    def recovering(call: ActivityCall) -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return f"{answer}, at call {call.number}"

    rig = Rig(workflow(ask), engine)
    rig.process().begin("r", {})
    history = rig.process().parts.engine.history("r")
    for _ in range(2):
        with pytest.raises(ActivityFailed, match="ask/recovering failed: ConnectionError: down"):
            rig.process().resume("r")
        assert rig.process().parts.engine.history("r") == history
    assert rig.drive().data.log == ["at last, at call 3"]


def test_a_model_that_refuses_us_fails_the_run_and_it_can_still_be_read(engine):
    def ask(ctx, state):
        ctx.activity(refused)

    rig = Rig(workflow(ask), engine)
    run = rig.drive()
    assert (run.status, run.reason) == ("failed", "the model does not know us")
    assert rig.process().read("r").outcome() == run.outcome()
    assert rig.outside("activity") == 1


def test_a_call_inside_an_activity_is_refused_by_name(engine):
    def ask(ctx, state):
        def outer(call: ActivityCall) -> str:
            return ctx.activity(think, "inside")

        ctx.activity(outer)

    rig = Rig(workflow(ask), engine)
    with pytest.raises(ActivityFailed, match="activity outer makes a call of its own, activity think"):
        rig.drive()


def test_an_error_that_shows_a_secret_is_not_passed_on(engine):
    def ask(ctx, state):
        try:
            ctx.activity(leaking)
        except ActivityFailed as failed:
            state.log.append(failed.what)

    rig = Rig(workflow(ask), engine)
    assert rig.drive().data.log == ["activity ask/leaking failed: ValueError: (withheld, it looks like a secret)"]
    assert b"sk-a1" not in rig.store.image()


def recovering(call: ActivityCall) -> str:
    """A model that is down when it is asked first."""
    if call.number == 1:
        raise ConnectionError("down")
    return "9999.00"


@pytest.mark.parametrize("policy", ["keyed", "ledger", "outbox"])
@pytest.mark.parametrize("engine", ["event-sourced", "hybrid"])
def test_a_failure_is_durable_before_anything_is_done_or_asked_because_of_it(engine, policy):
    def fall_back(ctx, state):
        try:
            state.extra = ctx.activity(recovering)
        except ActivityFailed:
            state.extra = "10.00"
        state.log.append(ctx.effect("bank", "pay", {"amount": state.extra}).id)
        return ask

    def ask(ctx, state):
        try:
            state.extra = ctx.activity(recovering)
        except ActivityFailed:
            state.extra = "20.00"
        state.log.append(ctx.approval("boss", f"pay {state.extra}?").verdict)

    def falling_back() -> Rig:
        return Rig(workflow(fall_back, ask), engine, policy)

    for at in taps_of(falling_back):
        rig = falling_back()
        rig.crash(at)
        out = [entry.request for entry in rig.twin.entries() if entry.kind == "effect"]
        run = rig.drive()
        assert run.status == "completed", at
        done = [entry.request for entry in rig.twin.entries() if entry.kind == "effect"]
        assert done == (out or done[:1]), at
        assert [asked.question for asked in approvals.of_run(rig.store, "r")] == [f"pay {run.data.extra}?"], at


def test_an_activity_cannot_change_the_state_behind_the_journals_back(engine):
    def meddling(call: ActivityCall, log: list[str]) -> int:
        log.append("changed by the activity")
        return len(log)

    def ask(ctx, state):
        state.extra = ctx.activity(meddling, state.log)
        return third

    rig = Rig(workflow(ask, third), engine)
    run = rig.drive()
    assert (run.data.log, run.data.extra) == (["approved"], 1)
    assert rig.process().read("r").data == run.data


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ("", "it printed nothing"),
        ("one\nlast\n", "last"),
        (
            "Traceback (most recent call last):\n  File x\nValueError: no\n  more of it\nException ignored",
            "ValueError: no",
        ),
    ],
)
def test_the_last_words_of_a_process_name_its_error(printed, told):
    assert last_words(printed) == told
