"""What a log can be: calls without results, results without calls, ids used again, arguments that are no JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.trajectory.model import Trajectory
from labkit.trajectory.read import read

USER = {"role": "user", "content": "hello"}


def asks(*calls: tuple[str, str], arguments: str = "{}") -> dict[str, Any]:
    """An assistant message that asks for calls, each given as (id, tool name)."""
    asked = [{"id": i, "type": "function", "function": {"name": n, "arguments": arguments}} for i, n in calls]
    return {"role": "assistant", "content": None, "tool_calls": asked}


def answer(call_id: str | None, content: str, **more: Any) -> dict[str, Any]:
    """A tool message."""
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


def reading(folder: Path, *messages: dict[str, Any]) -> Trajectory:
    """The run that the reader makes of these messages."""
    (folder / "run.json").write_text(json.dumps(messages), "utf-8")
    (found,) = read(folder / "run.json")
    return found


A, B = ("1", "a"), ("1", "b")
NO_JSON = '{"order": "AB-1'


@pytest.mark.parametrize(
    ("messages", "calls", "strays"),
    [
        # no result; a result that nobody asked for; one that came too early
        ([asks(A), USER], ["a unanswered"], []),
        ([asks(A), answer("2", "x")], ["a unanswered"], ["2 x"]),
        ([answer("1", "x"), asks(A)], ["a unclear"], ["1 x"]),
        ([asks(A), answer("1", "x", name="b")], ["a unclear"], ["1 x"]),
        # one id in one message
        ([asks(A, B), answer("1", "x")], ["a unclear", "b unclear"], []),
        ([asks(A, B), answer("1", "x"), answer("1", "y")], ["a unclear", "b unclear"], []),
        ([asks(A, B), answer("1", "x", name="b")], ["a unanswered", "b answered x"], []),
        ([asks(A, A), answer("1", "x")], ["a unclear", "a unclear"], []),
        ([asks(A, A), answer("1", "x"), answer("1", "y")], ["a answered x", "a answered y"], []),
        ([asks(A, A), answer("1", "x"), answer("1", "Error: y")], ["a unclear", "a unclear"], []),
        ([asks(A, A), answer("1", "x"), answer("1", "y"), answer("1", "z")], ["a answered x", "a answered y"], ["1 z"]),
        # one id in two turns
        ([asks(A), answer("1", "x"), asks(B), answer("1", "y")], ["a answered x", "b answered y"], []),
        ([asks(A), asks(B), answer("1", "y")], ["a unclear", "b unclear"], []),
        ([asks(A), asks(B), answer("1", "y", name="b")], ["a unanswered", "b answered y"], []),
        ([asks(A), answer("1", "x"), asks(B)], ["a answered x", "b unanswered"], []),
        # an interrupted batch that is issued again, with ids of its own and with the same ones
        (
            [asks(A, ("2", "b")), asks(("3", "a"), ("4", "b")), answer("3", "x"), answer("4", "y")],
            ["a unanswered", "b unanswered", "a answered x", "b answered y"],
            [],
        ),
        ([asks(A, ("2", "b")), asks(A, ("2", "b")), answer("1", "x")], ["a unclear", "b unanswered"] * 2, []),
        # a second result
        ([asks(A), answer("1", "x"), answer("1", "x")], ["a answered x"], ["1 x"]),
        ([asks(A), answer("1", "x"), answer("1", "Error: no")], ["a unclear"], ["1 Error: no"]),
        ([asks(A), answer("1", "Error: timed out"), answer("1", "x")], ["a answered x"], []),
        ([asks(A), answer("1", "Tool result missing"), answer("1", "x")], ["a answered x"], []),
        # arguments that are no JSON
        ([asks(A, arguments=NO_JSON), answer("1", "Error: invalid JSON")], ["a not made"], []),
        ([asks(A, arguments=NO_JSON)], ["a not made"], []),
        ([asks(A, arguments=NO_JSON), answer("1", "x")], ["a answered x"], []),
        ([asks(A, arguments=NO_JSON), answer("1", "Error: timed out")], ["a timed out"], []),
        # calls without ids, known by name
        (
            [{"role": "assistant", "function_call": {"name": "a"}}, {"role": "function", "name": "a", "content": "x"}],
            ["a answered x"],
            [],
        ),
        ([asks(("", "a"), ("", "b")), answer(None, "x", name="b")], ["a unanswered", "b answered x"], []),
        ([asks(("", "a")), asks(("", "a")), answer(None, "x", name="a")], ["a unclear", "a unclear"], []),
    ],
)
def test_each_log_is_read_as_what_it_is(
    tmp_path: Path, messages: list[dict[str, Any]], calls: list[str], strays: list[str]
) -> None:
    found = reading(tmp_path, USER, *messages, {"role": "assistant", "content": "done"})
    shown = [f"{c.name} {c.outcome}" + (f" {c.result}" if c.outcome == "answered" else "") for c in found.calls]
    assert shown == calls
    assert [f"{stray.id} {stray.text}" for stray in found.strays] == strays


def test_a_doubt_names_all_its_places(tmp_path: Path) -> None:
    found = reading(tmp_path, asks(A), asks(B), answer("1", "refunded"))
    for call in found.calls:
        (note,) = call.notes
        assert all(place in note for place in ("messages[0].tool_calls[0]", "messages[1].tool_calls[0]", "messages[2]"))
        assert "refunded" in note and call.result is None


@pytest.mark.parametrize("given", ["[1]", "{a", "17", '"text"', '{"a":' * 9_999, '{"a": "\\ud800"}'])
def test_arguments_that_are_no_object_are_kept_as_text(tmp_path: Path, given: str) -> None:
    (call,) = reading(tmp_path, asks(A, arguments=given), answer("1", "x")).calls
    assert (call.arguments, call.unreadable, call.outcome) == ({}, given, "answered")
    assert call.notes == ["its arguments cannot be read"]


IDS = st.sampled_from(["1", "2", ""])
NAMES = st.sampled_from(["a", "b"])
STEPS = st.one_of(
    st.lists(st.tuples(IDS, NAMES), min_size=1, max_size=3).map(lambda calls: asks(*calls)),
    st.builds(
        lambda i, n, t: answer(i or None, t, **({} if i and n is None else {"name": n or "a"})),
        IDS,
        NAMES | st.none(),
        st.sampled_from(["x", "Error: no", "Error: timed out"]),
    ),
)


@settings(max_examples=300, deadline=None)
@given(steps=st.lists(STEPS, max_size=8))
def test_a_result_is_given_only_to_the_call_that_it_must_belong_to(
    tmp_path_factory: pytest.TempPathFactory, steps: list[dict[str, Any]]
) -> None:
    """No call and no result vanishes, and none is given a result that names another id or another tool."""
    for number, step in enumerate(steps):
        if step["role"] == "tool":
            step["content"] += f" #{number}"
    found = reading(tmp_path_factory.getbasetemp(), *steps, {"role": "assistant", "content": "done"})
    asked = [(c["id"], c["function"]["name"]) for step in steps for c in step.get("tool_calls", [])]
    assert [(call.id, call.name) for call in found.calls] == asked
    told = json.dumps([[c.result, c.notes] for c in found.calls]) + json.dumps([s.text for s in found.strays])
    answers = {step["content"]: step for step in steps if step["role"] == "tool"}
    assert all(f"{text}" in told for text in answers)
    for call in found.calls:
        if call.result is not None:
            given_to = answers[call.result]
            assert call.id in ("", given_to["tool_call_id"]) or not given_to["tool_call_id"]
            assert given_to.get("name", call.name) == call.name
        assert call.in_doubt or call.result is not None
