"""A ctx belongs to one visit to a step and to its thread; a step is a plain function."""

from __future__ import annotations

import asyncio
import functools
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from workflows import Rig, workflow

from labkit.errors import InvalidInput, LabError, StepFailed
from labkit.sim import explore

KEPT: list[Any] = []


def pay(ctx: Any) -> Any:
    """The effect that each of them tries."""
    return ctx.effect("bank", "pay", {"order": 1})


def from_a_pool(ctx: Any, state: Any) -> Any:
    """Effects in threads, waited for."""
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: pay(ctx), range(2)))


def from_a_thread_that_nobody_asks(ctx: Any, state: Any) -> Any:
    """An effect in a thread whose error is lost."""

    def work() -> None:
        with suppress(LabError):
            pay(ctx)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def from_a_task_on_another_thread(ctx: Any, state: Any) -> Any:
    """An effect in a task whose loop runs elsewhere."""

    async def task() -> Any:
        return await asyncio.to_thread(pay, ctx)

    asyncio.run(task())


def kept_for_later(ctx: Any, state: Any) -> Any:
    """A ctx that outlives its step, with an error that is swallowed."""
    KEPT.append(ctx)
    if len(state.log) == 1:
        with suppress(LabError):
            pay(KEPT[-2])
        return None
    state.log.append("once more")
    return kept_for_later


MISUSES = [from_a_pool, from_a_thread_that_nobody_asks, from_a_task_on_another_thread, kept_for_later]


@pytest.mark.parametrize("step", MISUSES, ids=lambda step: step.__name__)
def test_a_ctx_used_from_elsewhere_is_refused_by_name_and_nothing_is_sent(engine, policy, step):
    for _ in range(3):  # threads are quicker or slower: what is said is the same
        rig = Rig(workflow(step), engine, policy)
        with pytest.raises(InvalidInput) as told:
            rig.drive()
        assert f"step {step.__name__} of run r: ctx.effect was called" in told.value.what
        assert "after the step had returned" in told.value.what or "from thread" in told.value.what
        assert "call ctx in the step itself" in told.value.next
        assert rig.outside("effect") == 0 and rig.effects() == []


def test_a_ctx_that_was_kept_is_refused_when_the_run_is_over(engine):
    KEPT.clear()

    def keep(ctx: Any, state: Any) -> Any:
        KEPT.append(ctx)

    rig = Rig(workflow(keep), engine)
    assert rig.drive().status == "completed"
    for call in (lambda ctx: ctx.now(), lambda ctx: ctx.random(), lambda ctx: ctx.artifact("x"), pay):
        with pytest.raises(InvalidInput, match="after the step had returned"):
            call(KEPT[0])
    assert rig.outside("effect") == 0


def test_a_task_on_the_steps_own_thread_is_the_step_itself(engine):
    def alone(ctx: Any, state: Any) -> Any:
        async def task() -> Any:
            return pay(ctx).id

        state.log.append(asyncio.run(task()))

    report = explore(workflow(alone), engine=engine)
    assert report.ok, f"{report}\n{report.counterexample}"


async def asynchronous(ctx: Any, state: Any) -> Any:
    """A coroutine function."""


def generating(ctx: Any, state: Any) -> Any:
    """A generator function."""
    yield


class Callable:
    """A callable that is no function."""

    async def __call__(self, ctx: Any, state: Any) -> Any:
        """What a step would do."""


UNFIT = {
    "coroutine": asynchronous,
    "generator": generating,
    "callable": Callable(),
    "partial": functools.partial(pay, 1),
}


@pytest.mark.parametrize("case", UNFIT)
def test_a_step_that_is_no_plain_function_is_refused_with_the_authors_file_and_line(case):
    with pytest.raises(InvalidInput, match=r"expected a plain function.*\(.*test_bound\.py:\d+\)"):
        workflow().step(UNFIT[case])


@pytest.mark.parametrize("inner", [asynchronous, generating], ids=lambda inner: inner.__name__)
def test_a_step_that_only_begins_something_is_a_failed_step_with_file_and_line(engine, inner):
    @functools.wraps(inner)
    def step(ctx: Any, state: Any) -> Any:
        return inner(ctx, state)

    rig = Rig(workflow(step), engine)
    with pytest.raises(StepFailed, match=rf"step {inner.__name__} of run r returned a \w+ .*test_bound\.py:\d+"):
        rig.drive()
    assert rig.process().read("r").completed_steps == []


@pytest.mark.parametrize(
    "function", [functools.partial(pay, 1), lambda call: 1, 42], ids=["partial", "lambda", "number"]
)
def test_an_activity_that_has_no_name_is_refused_before_it_is_called(engine, function):
    def step(ctx: Any, state: Any) -> Any:
        ctx.activity(function)

    rig = Rig(workflow(step), engine)
    with pytest.raises(InvalidInput, match="is no function with a name"):
        rig.drive()
    assert rig.twin.entries() == []
