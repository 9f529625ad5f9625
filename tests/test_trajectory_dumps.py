"""What frameworks and clients really write around their messages, and what must not vanish in it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from labkit.errors import InvalidInput
from labkit.trajectory.read import read

FUNCTION = {"name": "pay", "arguments": '{"n": 1}'}
OPENAI = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": FUNCTION}]}
TOOL_USE = {"type": "tool_use", "id": "1", "name": "pay", "input": {"n": 1}}
BEDROCK = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "name": "pay", "input": {"n": 1}}}]}
PIECE = {"name": "pay", "args": '{"n": 1}', "id": "1", "index": 0, "type": "tool_call_chunk"}
CHUNK = {
    "type": "AIMessageChunk",
    "content": "",
    "tool_calls": [{"name": "pay", "args": {"n": 1}, "id": "1", "type": "tool_call"}],
    "tool_call_chunks": [PIECE],
    "chunk_position": "last",
}
GEMINI = {"role": "model", "parts": [{"functionCall": {"name": "pay", "args": {"n": 1}}}]}
GOAL = {"action_checks": [{"action": {"name": "pay", "arguments": {"n": 1}}, "action_match": True}]}


def reading(folder: Path, *lines: Any) -> list[tuple[str, str, str]]:
    """Name, outcome and arguments of every call in a file with these lines."""
    (folder / "own.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    calls = [call for run in read(folder / "own.jsonl") for call in run.calls]
    return [(call.name, call.outcome, json.dumps(call.arguments)) for call in calls]


@pytest.mark.parametrize(
    "lines",
    [
        [{"output": {"message": BEDROCK}, "stopReason": "tool_use", "ResponseMetadata": {"RequestId": "r"}}],
        [{"messages": [BEDROCK], "toolConfig": {"tools": [{"toolSpec": {"name": "pay"}}]}}],
        [{"candidates": [{"content": GEMINI, "finishReason": "STOP"}], "usageMetadata": {"x": "y"}}],
        [{"request": {"messages": [{"role": "user", "content": "x"}]}, "response": {"choices": [{"message": OPENAI}]}}],
        [{"model": "m", "message": OPENAI, "done_reason": "stop"}],
        [{"type": "assistant", "uuid": "u", "sessionId": "s", "message": {"role": "assistant", "content": [TOOL_USE]}}],
        [{"content": GEMINI, "author": "agent", "invocationId": "i"}],
        [{"messages": [{"role": "assistant", "content": [TOOL_USE], "container": {"id": "c"}}], "betas": ["b"]}],
        [{"role": "assistant", "content": json.dumps([{"type": "text", "text": "I pay"}, TOOL_USE])}],
        [{"simulations": [{"id": "s", "messages": [OPENAI | {"raw_data": {"message": OPENAI}}], "reward_info": GOAL}]}],
        [CHUNK],
        [{"type": "chat", "data": {"role": "user", "content": "x"}}, {"type": "AIMessageChunk", "data": CHUNK}],
    ],
)
def test_what_stands_around_the_messages_is_no_reason_to_refuse_them(tmp_path: Path, lines: list[Any]) -> None:
    assert reading(tmp_path, *lines) == [("pay", "unanswered", '{"n": 1}')]


def test_a_tool_of_the_provider_is_not_taken_for_an_event_that_has_an_action(tmp_path: Path) -> None:
    drawn = {"type": "image_generation_call", "id": "g", "status": "completed", "action": "generate", "result": "aa"}
    assert [call[:2] for call in reading(tmp_path, drawn)] == [("image_generation", "answered")]


def test_pieces_of_a_streamed_call_are_refused_as_what_they_are(tmp_path: Path) -> None:
    rest = {"type": "AIMessageChunk", "content": "", "tool_call_chunks": [PIECE | {"name": None, "id": None}]}
    with pytest.raises(InvalidInput, match=r"tool_call_chunks\[0\]: is a piece of a streamed call"):
        reading(tmp_path, CHUNK, rest)


def test_arguments_that_state_one_field_twice_are_read_as_their_reader_does_and_noted(tmp_path: Path) -> None:
    twice = {"role": "assistant", "function_call": {"name": "pay", "arguments": '{"n": 1, "n": 2}'}}
    (tmp_path / "own.json").write_text(json.dumps(twice), "utf-8")
    (call,) = read(tmp_path / "own.json")[0].calls
    assert call.arguments == {"n": 2}
    assert call.notes == ["its arguments state 'n' twice; the last one is read"]


def test_colours_of_a_terminal_do_not_hide_what_a_result_says(tmp_path: Path) -> None:
    result = {"role": "tool", "tool_call_id": "1", "content": "\x1b[31mError: request timed out\x1b[0m"}
    assert [call[:2] for call in reading(tmp_path, OPENAI, result)] == [("pay", "timed out")]


def test_a_pipe_in_a_folder_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "runs.jsonl")
    with pytest.raises(InvalidInput, match=r"runs\.jsonl: is no file"):
        read(tmp_path)


def span(title: str, begins: int, error: Any = False, **named: Any) -> dict[str, Any]:
    """A span of one nanosecond; two underscores in a name stand for a dot."""
    held = [{"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in named.items()]
    times = {"startTimeUnixNano": str(begins), "endTimeUnixNano": str(begins + 1)}
    return times | {"traceId": "t", "name": title, "attributes": held, "status": {"code": 2} if error else {}}


def trace(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def asking(*numbers: int) -> str:
    """A message that asks for these payments, the first of them called 1."""
    parts = [{"type": "tool_call", "id": str(n), "name": "pay", "arguments": {"n": n}} for n in numbers]
    return json.dumps([{"role": "assistant", "parts": parts}])


HISTORY = json.dumps([*json.loads(asking(1)), {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1"}]}])
SPANS = [
    {"openinference__span__kind": "TOOL", "tool__name": "pay", "input__value": '{"n": 1}', "output__value": "paid"},
    {"traceloop__span__kind": "tool", "traceloop__entity__name": "pay", "traceloop__entity__input": '{"n": 1}'},
    {"gen_ai__tool__name": "pay", "tool_arguments": '{"n": 1}', "tool_response": "paid"},
    {
        "gen_ai__operation__name": "execute_tool",
        "gen_ai__tool__name": "pay",
        "gen_ai__tool__call__arguments": '{"n": 1}',
    },
]


@pytest.mark.parametrize("named", SPANS)
def test_the_span_of_a_tool_is_a_call_in_every_convention_and_the_same_one_wherever_it_is_told(
    tmp_path: Path, named: dict[str, str]
) -> None:
    ran = span("pay.tool", 5, **named)
    expected = [("pay", "answered", '{"n": 1}')]
    assert reading(tmp_path, trace(ran)) == expected
    before, after = (
        span("chat", 1, gen_ai__output__messages=asking(1)),
        span("chat", 9, gen_ai__input__messages=HISTORY),
    )
    for told in ([before, ran], [ran, after], [before, ran, after]):
        assert reading(tmp_path, trace(*told)) == expected


def test_a_span_without_an_id_answers_the_call_that_it_can_mean_and_no_other(tmp_path: Path) -> None:
    both = span("chat", 1, gen_ai__output__messages=asking(1, 2))
    second = span("execute_tool pay", 5, error=True, gen_ai__tool__call__arguments='{"n": 2}')
    assert [call[1] for call in reading(tmp_path, trace(both, second))] == ["unanswered", "failed"]
    either = span("execute_tool pay", 5, error=True)
    assert [call[1] for call in reading(tmp_path, trace(both, either))] == ["unclear", "unclear"]


def test_an_array_in_a_trace_that_is_none_is_refused_with_its_place(tmp_path: Path) -> None:
    bad = {"traceId": "t", "attributes": [{"key": "a", "value": {"arrayValue": {"values": 5}}}]}
    with pytest.raises(InvalidInput, match=r"arrayValue\.values: Expected `array`"):
        reading(tmp_path, trace(bad))


def test_a_call_that_only_the_body_of_a_request_states_is_refused_and_not_left_out(tmp_path: Path) -> None:
    body: dict[str, Any] = {
        "openinference__span__kind": "LLM",
        "output__value": json.dumps({"choices": [{"message": OPENAI}]}),
    }
    said = span("chat", 9, gen_ai__output__messages='[{"role": "assistant", "parts": []}]')
    with pytest.raises(InvalidInput, match=r"output\.value: reads as a call, and nothing else"):
        reading(tmp_path, trace(span("llm", 1, **body), said))
    stated = span("chat", 1, gen_ai__output__messages=asking(1), **body)
    assert len(reading(tmp_path, trace(stated, said))) == 1


USER, PAID = {"role": "user", "content": "x"}, {"role": "tool", "tool_call_id": "1", "content": "paid"}


def test_a_log_of_requests_is_one_run_for_each_history_that_grows_in_it(tmp_path: Path) -> None:
    first = {"request": {"messages": [USER]}, "response": {"choices": [{"message": OPENAI}]}}
    second = {
        "request": {"messages": [USER, OPENAI, PAID]},
        "response": {"choices": [{"message": {"role": "assistant"}}]},
    }
    assert [call[1] for call in reading(tmp_path, first, second)] == ["answered"]
    assert [call[1] for call in reading(tmp_path, {"messages": [USER, OPENAI]}, first, second)] == ["answered"]


def test_two_runs_are_not_taken_for_one_that_grows(tmp_path: Path) -> None:
    short, long = {"messages": [USER, OPENAI]}, {"messages": [USER, OPENAI, PAID]}
    in_doubt = ["unanswered", "answered"]
    other = {"messages": [USER | {"content": "y"}, OPENAI, PAID]}
    assert [call[1] for call in reading(tmp_path, short, other)] == in_doubt
    assert [call[1] for call in reading(tmp_path, short | {"id": "a"}, long | {"id": "b"})] == in_doubt
    unnamed = {"messages": [USER, {"role": "assistant", "function_call": FUNCTION}]}
    answered = {"messages": [*unnamed["messages"], {"role": "function", "name": "pay", "content": "paid"}]}
    assert [call[1] for call in reading(tmp_path, unnamed, answered)] == in_doubt


def test_equal_records_without_an_id_are_runs_of_their_own(tmp_path: Path) -> None:
    assert len(reading(tmp_path, *[{"messages": [USER, OPENAI, PAID]}] * 3)) == 3
