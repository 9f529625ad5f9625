"""What single shapes have for themselves: approvals, tools of the provider, states, one call in two fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

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


ASK = {"type": "mcp_approval_request", "id": "q1", "server_label": "bank", "name": "pay", "arguments": '{"n": 1}'}
MCP = {"type": "mcp_call", "id": "m1", "server_label": "bank", "name": "pay", "arguments": '{"n": 1}'}


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([ASK], [("pay", "unanswered", '{"n": 1}')]),
        (
            [ASK, {"type": "mcp_approval_response", "approval_request_id": "q1", "approve": False}],
            [("pay", "not made", '{"n": 1}')],
        ),
        (
            [
                ASK,
                {"type": "mcp_approval_response", "approval_request_id": "q1", "approve": True},
                MCP | {"approval_request_id": "q1", "output": "paid"},
            ],
            [("pay", "answered", '{"n": 1}')],
        ),
        ([MCP | {"output": None, "error": {"message": "no"}}], [("pay", "failed", '{"n": 1}')]),
        ([MCP | {"status": "calling"}], [("pay", "unanswered", '{"n": 1}')]),
        (
            [
                {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "DELETE"},
                {"type": "custom_tool_call_output", "call_id": "c", "output": "3 rows"},
            ],
            [("sql", "answered", '{"input": "DELETE"}')],
        ),
        (
            [
                {
                    "type": "web_search_call",
                    "id": "w",
                    "status": "completed",
                    "action": {"type": "search", "query": "x"},
                },
                {"type": "file_search_call", "id": "f", "status": "searching", "queries": ["x"], "results": None},
                {"type": "code_interpreter_call", "id": "i", "status": "failed", "code": "1/0", "container_id": "k"},
            ],
            [
                ("web_search", "answered", '{"type": "search", "query": "x"}'),
                ("file_search", "unanswered", '{"queries": ["x"]}'),
                ("code_interpreter", "failed", '{"code": "1/0"}'),
            ],
        ),
        (
            [
                {
                    "type": "local_shell_call",
                    "id": "s",
                    "call_id": "c",
                    "status": "completed",
                    "action": {"command": ["rm"]},
                },
                {"type": "computer_call", "call_id": "d", "status": "completed", "action": {"type": "click", "x": 1}},
                {"type": "local_shell_call_output", "id": "c", "output": "ok"},
            ],
            [
                ("local_shell", "answered", '{"command": ["rm"]}'),
                ("computer", "unanswered", '{"type": "click", "x": 1}'),
            ],
        ),
    ],
)
def test_items_of_responses_say_how_far_a_call_came(tmp_path: Path, items: list[Any], expected: Told) -> None:
    run = reading(tmp_path, {"id": "resp", "object": "response", "model": "m", "input": "hello", "output": items})
    assert told(run) == expected
    assert not run.strays


@pytest.mark.parametrize(
    ("part", "outcome"),
    [
        ({"state": "input-available"}, "unanswered"),
        ({"state": "input-streaming"}, "not made"),
        ({"state": "approval-requested", "approval": {"id": "q"}}, "unanswered"),
        ({"state": "approval-responded", "approval": {"id": "q", "approved": True}}, "unanswered"),
        ({"state": "approval-responded", "approval": {"id": "q", "approved": False}}, "not made"),
        ({"state": "output-denied", "approval": {"id": "q", "approved": False}}, "not made"),
        ({"state": "output-error", "errorText": "no"}, "failed"),
        ({"state": "output-available", "output": {"ok": True}}, "answered"),
        ({"state": "output-available", "output": "half", "preliminary": True}, "unanswered"),
    ],
)
def test_the_state_of_a_part_says_how_far_a_call_came(tmp_path: Path, part: dict[str, Any], outcome: str) -> None:
    held = {"type": "tool-pay-out", "toolCallId": "1", "input": {"n": 1}, **part}
    assert told(reading(tmp_path, {"id": "m", "role": "assistant", "parts": [held]})) == [
        ("pay-out", outcome, '{"n": 1}')
    ]


def test_a_call_of_langchain_that_could_not_be_read_was_not_made(tmp_path: Path) -> None:
    bad = {"type": "invalid_tool_call", "id": "1", "name": "pay", "args": '{"n', "error": "bad"}
    raw = {"id": "1", "type": "function", "function": {"name": "pay", "arguments": '{"n'}}
    message = {
        "type": "ai",
        "content": "",
        "tool_calls": [],
        "invalid_tool_calls": [bad],
        "additional_kwargs": {"tool_calls": [raw]},
    }
    run = reading(tmp_path, {"messages": [message]})
    assert told(run) == [("pay", "not made", "{}")]
    assert run.calls[0].unreadable == '{"n'


def test_two_fields_that_disagree_on_a_call_are_one_call_with_a_note(tmp_path: Path) -> None:
    calls = [{"type": "tool_call", "id": "1", "name": "pay", "args": {"n": 1}}]
    message = {
        "type": "ai",
        "content": [{"type": "tool_use", "id": "1", "name": "pay", "input": {"n": 2}}],
        "tool_calls": calls,
    }
    (call,) = reading(tmp_path, {"messages": [message]}).calls
    assert (call.arguments, call.notes) == ({"n": 1}, ["stated with other arguments at messages[0].content[0]"])
    message["content"][0]["name"] = "other"
    assert [call.name for call in reading(tmp_path, {"messages": [message]}).calls] == ["other", "pay"]
