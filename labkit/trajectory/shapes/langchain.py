"""LangChain and LangGraph messages: how they are dumped, `additional_kwargs`, calls that could not be read, blocks."""

from __future__ import annotations

from typing import Any

from labkit.trajectory.shapes import chat, responses
from labkit.trajectory.shapes.entries import (
    Answer,
    Asked,
    At,
    Entry,
    as_text,
    asked,
    expected,
    id_of,
    in_field,
    kind_of,
    the,
)
from labkit.trajectory.shapes.harmless import check_rest

SHAPE = "LangChain"
ROLES = {
    "human": "user",
    "HumanMessage": "user",
    "HumanMessageChunk": "user",
    "system": "system",
    "SystemMessage": "system",
    "ai": "assistant",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "tool": "tool",
    "ToolMessage": "tool",
    "chat": "assistant",  # its own `role` says more
    "ChatMessage": "assistant",
    "function": "function",
    "FunctionMessage": "function",
    "remove": "remove",
    "RemoveMessage": "remove",
    "ToolMessageChunk": "tool",
    "SystemMessageChunk": "system",
}
"""The role for each type of message."""


def is_dump(value: dict[str, Any]) -> bool:
    """Whether this is a message object as `dumpd` writes it, not an object of another class."""
    name = value.get("id")
    return "lc" in value and "kwargs" in value and isinstance(name, list) and bool(name) and name[-1] in ROLES


def unwrap(at: At, item: dict[str, Any]) -> tuple[At, dict[str, Any]]:
    """The message inside a dump: `{"lc": 1, "id": [.., "AIMessage"], "kwargs": {}}` or `{"type": "ai", "data": {}}`."""
    if "lc" in item and "kwargs" in item:
        check_rest(at, item, {"lc", "type", "id", "kwargs", "name", "graph"})
        held = expected(at / "kwargs", item["kwargs"], dict)
        name = item["id"][-1] if isinstance(item.get("id"), list) and item["id"] else None
        return at / "kwargs", {"type": name} | held if held.get("type") is None else held
    if kind_of(item) in ROLES and isinstance(item.get("data"), dict):
        check_rest(at, item, {"type", "data"})
        return at / "data", {"type": item["type"]} | item["data"]
    return at, item


def additional_kwargs(at: At, value: Any) -> list[Entry]:
    """What the provider's client left there: calls in its own form, beside those in `tool_calls`."""
    held = expected(at, value, dict)
    check_rest(at, held, {"tool_calls", "function_call", "tool_outputs", "__openai_function_call_ids__"})
    found: list[Entry] = []
    if held.get("tool_calls") is not None:
        found += chat.tool_calls(at / "tool_calls", held["tool_calls"])
    if held.get("function_call") is not None:
        found += chat.function_call(at / "function_call", held["function_call"])
    for index, item in enumerate(expected(at / "tool_outputs", held.get("tool_outputs") or [], list)):
        place = at / "tool_outputs" / index
        kind = kind_of(expected(place, item, dict))
        if kind not in responses.ITEMS:
            raise (place / "type").refuse(f"nobody knows items of type {kind!r:.80}")
        found += [e for e in responses.ITEMS[kind](place, item) if isinstance(e, Asked | Answer)]
    return in_field(found, "additional_kwargs")


def invalid_tool_calls(at: At, value: Any) -> list[Entry]:
    """Calls whose arguments the framework could not read: it does not make them."""
    held = expected(at, value, list)
    return [_invalid(at / index, expected(at / index, call, dict)) for index, call in enumerate(held)]


def _invalid(at: At, call: dict[str, Any]) -> Asked:
    check_rest(at, call, {"type", "id", "name", "args", "error", "index"})
    if call.get("name") is None and call.get("id") is None:
        raise at.refuse(chat.FRAGMENT, chat.WHOLE)
    asks = asked(at, id_of(at, call, "id"), call.get("name"), call.get("args"))
    asks.unreadable = asks.unreadable or as_text(call.get("args")) or "{}"
    return asks


def block(at: At, part: dict[str, Any]) -> list[Entry]:
    """A call among the blocks of a content: LangChain writes `args`, OpenTelemetry `arguments`."""
    given = "args" if "args" in part else "arguments"
    check_rest(at, part, {"type", "id", "name", given, "index", "server_tool_call"})
    arguments = part.get(given, part.get("server_tool_call"))
    asks = asked(at, id_of(at, part, "id"), part.get("name"), arguments)
    asks.shape = SHAPE if given == "args" else "OpenTelemetry"
    return [asks]


def invalid_block(at: At, part: dict[str, Any]) -> list[Entry]:
    """A call that could not be read, among the blocks of a content."""
    return [_invalid(at, part)]


def server_result(at: At, part: dict[str, Any]) -> list[Entry]:
    """The result of a tool that the provider ran."""
    check_rest(at, part, {"type", "tool_call_id", "status", "output", "id", "index"})
    call_id, error = id_of(at, part, "tool_call_id"), the(at, part, "status") == "error"
    return [Answer(at=at, id=call_id, text=as_text(part.get("output")), error=error)]


PARTS = {
    **dict.fromkeys(("tool_call", "server_tool_call", "tool_call_chunk", "server_tool_call_chunk"), block),
    "invalid_tool_call": invalid_block,
    "server_tool_result": server_result,
}
