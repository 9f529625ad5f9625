"""What a call returns or sends is refused where JSON cannot hold it: nothing is turned into null on the way."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from workflows import Rig, workflow

from labkit.errors import InvalidInput, InvalidState
from labkit.model import ActivityCall


def no_number(call: ActivityCall) -> float:
    """An answer that JSON does not know."""
    return math.nan


def no_count(call: ActivityCall) -> int:
    """An answer of another type than is annotated."""
    return "many"  # type: ignore[return-value]


@pytest.mark.parametrize("activity", [no_number, no_count])
def test_an_answer_that_cannot_be_stored_is_refused_and_not_turned_into_nothing(engine, activity):
    rig = Rig(workflow(one_call(lambda ctx, state: ctx.activity(activity))), engine)
    with pytest.raises(InvalidState, match=f"result of activity .*{activity.__name__}.* cannot be stored"):
        rig.drive()


def test_a_request_that_json_cannot_hold_is_never_sent_as_null(engine, policy):
    rig = Rig(workflow(one_call(lambda ctx, state: ctx.effect("bank", "pay", {"amount": math.inf}))), engine, policy)
    with pytest.raises((InvalidState, InvalidInput), match=r"amount.*inf"):
        rig.drive()
    assert rig.twin.entries() == []


def one_call(act: Callable[[Any, Any], Any]) -> Callable[[Any, Any], None]:
    """A step that only does this."""

    def step(ctx: Any, state: Any) -> None:
        act(ctx, state)

    return step
