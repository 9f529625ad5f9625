"""OpenTelemetry traces: one call is stated by many spans, and is one; a span that nobody can read is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from labkit.errors import InvalidInput
from labkit.trajectory.model import Trajectory
from labkit.trajectory.read import read

Told = list[tuple[str, str, str]]


def reading(folder: Path, *values: Any) -> Trajectory:
    """The one run in a file with these values, one a line."""
    (folder / "own.jsonl").write_text("\n".join(map(json.dumps, values)), "utf-8")
    (found,) = read(folder / "own.jsonl")
    return found


def told(run: Trajectory) -> Told:
    """Name, outcome and arguments, as text, of each call."""
    return [(call.name, call.outcome, json.dumps(call.arguments)) for call in run.calls]


def attributes(**given: Any) -> list[dict[str, Any]]:
    """Attributes of a span; `__` is a dot."""
    return [{"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in given.items()]


def span(name: str, begin: int, end: int, *, error: bool = False, events: Any = (), **given: Any) -> dict[str, Any]:
    """A span of one trace."""
    times = {"startTimeUnixNano": str(begin), "endTimeUnixNano": str(end), "events": list(events)}
    status = {"code": "STATUS_CODE_ERROR"} if error else {}
    return {"traceId": "t1", "spanId": name, "name": name, **times, "status": status, "attributes": attributes(**given)}


def trace(*spans: dict[str, Any]) -> dict[str, Any]:
    """An export of these spans."""
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "x"}, "spans": list(spans)}]}]}


def chat(begin: int, end: int, said: list[Any], then: list[Any]) -> dict[str, Any]:
    """The span of a model call."""
    held = {"gen_ai__input__messages": json.dumps(said), "gen_ai__output__messages": json.dumps(then)}
    return span(f"chat-{begin}", begin, end, gen_ai__operation__name="chat", **held)


def tool(begin: int, end: int, call_id: str, **more: Any) -> dict[str, Any]:
    """The span of a tool."""
    held = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "pay", "gen_ai__tool__call__id": call_id}
    return span(f"tool-{begin}", begin, end, **held, **more)


def asked(*ids: str) -> dict[str, Any]:
    """A message of the model."""
    parts = [{"type": "tool_call", "id": each, "name": "pay", "arguments": {"n": 1}} for each in ids]
    return {"role": "assistant", "parts": parts}


def given(call_id: str, text: str = "paid") -> dict[str, Any]:
    """A result."""
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": text}]}


def test_a_trace_states_a_call_many_times_and_it_is_one(tmp_path: Path) -> None:
    user = {"role": "user", "parts": [{"type": "text", "content": "pay"}]}
    first, second = (
        chat(10, 20, [user], [asked("1", "2")]),
        chat(40, 50, [user, asked("1", "2"), given("1")], [asked("3")]),
    )
    last = chat(
        70, 80, [user, asked("1", "2"), given("1"), asked("3"), given("3")], [{"role": "assistant", "parts": []}]
    )
    whole = span("invoke_agent", 1, 90, gen_ai__output__messages=json.dumps([asked("1", "2"), asked("3")]))
    tools = [tool(21, 30, "1", gen_ai__tool__call__result="paid"), tool(51, 60, "3", gen_ai__tool__call__result="paid")]
    run = reading(tmp_path, trace(whole, last), trace(second, *tools, first))
    assert [(call.id, call.outcome) for call in run.calls] == [
        ("1", "answered"),
        ("2", "unanswered"),
        ("3", "answered"),
    ]
    assert not run.strays
    assert (run.id, run.shapes) == ("t1", ["OpenTelemetry"])


def test_a_tool_that_ran_twice_for_one_call_has_a_second_result(tmp_path: Path) -> None:
    run = reading(
        tmp_path, trace(chat(10, 20, [], [asked("1")]), tool(21, 30, "1"), tool(31, 40, "1"), tool(41, 0, "9"))
    )
    assert [(call.id, call.outcome) for call in run.calls] == [("1", "answered"), ("9", "unanswered")]
    assert [stray.id for stray in run.strays] == ["1"]
    failed = reading(tmp_path, trace(chat(10, 20, [], [asked("1")]), tool(21, 30, "1", error=True)))
    assert failed.calls[0].outcome == "failed"


def test_older_clients_write_events_or_one_attribute_for_each_field(tmp_path: Path) -> None:
    calls = json.dumps([{"id": "1", "type": "function", "function": {"name": "pay", "arguments": '{"n": 1}'}}])
    choice = {"name": "gen_ai.choice", "timeUnixNano": "20", "attributes": attributes(tool_calls=calls, index="0")}
    seen = {"name": "gen_ai.tool.message", "timeUnixNano": "30", "attributes": attributes(id="1", content="paid")}
    assert told(reading(tmp_path, trace(span("chat", 1, 40, events=[choice, seen])))) == [
        ("pay", "answered", '{"n": 1}')
    ]
    flat = {"gen_ai__completion__0__role": "assistant", "gen_ai__completion__0__tool_calls__0__name": "pay"}
    flat |= {
        "gen_ai__completion__0__tool_calls__0__arguments": '{"n": 1}',
        "gen_ai__completion__0__tool_calls__0__id": "1",
    }
    assert told(reading(tmp_path, trace(span("chat", 1, 40, **flat)))) == [("pay", "unanswered", '{"n": 1}')]
    prefix = "llm__output_messages__0__message"
    wrapped = {f"{prefix}__role": "assistant", f"{prefix}__tool_calls__0__tool_call__id": "1"}
    wrapped |= {
        f"{prefix}__tool_calls__0__tool_call__function__{key}": text
        for key, text in (("name", "pay"), ("arguments", "{}"))
    }
    assert told(reading(tmp_path, trace(span("chat", 1, 40, **wrapped)))) == [("pay", "unanswered", "{}")]


@pytest.mark.parametrize(
    ("strange", "why"),
    [
        (span("x", 1, 2, ai__response__toolCalls="[1]"), "ai.response.toolCalls: nobody knows this attribute"),
        (span("x", 1, 2, events=[{"name": "gen_ai.new.message"}]), "nobody knows events named 'gen_ai.new.message'"),
        (span("x", 1, 2, gen_ai__output__messages="[{"), "gen_ai.output.messages: is not JSON"),
        (span("x", 1, 2) | {"attributes": attributes(a="1") * 2}, "the attribute 'a' is there twice"),
        (
            span("x", 1, 2) | {"attributes": [{"key": "a", "value": {"newValue": 1}}]},
            "nobody knows values of kind 'newValue'",
        ),
    ],
)
def test_a_trace_with_something_that_nobody_knows_is_refused(tmp_path: Path, strange: Any, why: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        reading(tmp_path, trace(chat(10, 20, [], [asked("1")]), strange))
    assert why in str(refused.value)
