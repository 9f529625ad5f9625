"""OpenAI chat completions: `tool_calls` (functions, custom tools), the legacy `function_call`, messages of a tool."""

from __future__ import annotations

from typing import Any

from labkit.trajectory.shapes.entries import Answer, Asked, At, Entry, as_text, asked, expected, id_of, named, the
from labkit.trajectory.shapes.harmless import check_rest

SHAPE = "chat completions"
MAX_PARALLEL = 128  # tool calls in one message
FRAGMENT = "is a piece of a streamed call, whose name stands in another message"
WHOLE = "record the messages as they are once their pieces are added up"
KINDS = ("function", "custom", "tool_call", "server_tool_call", "tool_call_chunk")


def tool_calls(at: At, value: Any) -> list[Entry]:
    """The calls in a list of them, in any of the forms that clients write."""
    calls = expected(at, value, list)
    if len(calls) > MAX_PARALLEL:
        raise at.refuse(f"Expected `array` of length <= {MAX_PARALLEL}")
    return [tool_call(at / index, expected(at / index, call, dict)) for index, call in enumerate(calls)]


def tool_call(at: At, call: dict[str, Any]) -> Asked:
    """One call: its function or custom tool, or name and arguments side by side."""
    kind = the(at, call, "type", default="function")
    if kind not in KINDS:
        raise (at / "type").refuse(f"{kind[:80]!r} is unknown: expected {', '.join(KINDS)}")
    call_id = id_of(at, call, "id", "toolCallId", "call_id")
    for inner, field in (("function", "arguments"), ("custom", "input")):
        if inner in call:
            if kind == "custom" and inner != kind:
                raise (at / "type").refuse(f"is {kind!r}, but the call has a {inner!r}")
            held = expected(at / inner, call[inner], dict)
            check_rest(at, call, {"id", "type", inner, "toolCallId", "call_id"})
            check_rest(at / inner, held, {"name", field, "parsed_arguments"})
            name_at = at / inner / "name"
            return asked(at, call_id, held.get("name"), held.get(field), free=inner == "custom", name_at=name_at)
    name = call.get("name", call.get("toolName"))
    if not name and not call_id and kind in ("tool_call", "tool_call_chunk"):
        raise at.refuse(FRAGMENT, WHOLE)
    if name is None:
        raise at.refuse("Object missing required field `function`")
    given = [field for field in ("args", "arguments", "input") if call.get(field) is not None]
    if len(given) > 1:
        raise (at / given[1]).refuse(f"{given[0]!r} holds the arguments, too")
    check_rest(at, call, {"id", "toolCallId", "call_id", "name", "toolName", "type", "requestor", *given})
    return asked(at, call_id, name, call[given[0]] if given else None)


def function_call(at: At, value: Any) -> list[Entry]:
    """The one call of old recordings, which has no id."""
    call = expected(at, value, dict)
    check_rest(at, call, {"name", "arguments"})
    return [asked(at, "", call.get("name"), call.get("arguments"))]


def raw_data(at: At, value: Any) -> list[Entry]:
    """The provider's own answer beside the message made of it, as in tau2-bench."""
    held = expected(at, value, dict)
    message = expected(at / "message", held.get("message") or {}, dict)
    check_rest(at, held, {"message"})
    check_rest(at / "message", message, {"tool_calls", "function_call"})
    calls, old = message.get("tool_calls"), message.get("function_call")
    found = tool_calls(at / "message" / "tool_calls", calls) if calls else []
    return found + (function_call(at / "message" / "function_call", old) if old else [])


def result(at: At, message: dict[str, Any]) -> list[Entry]:
    """The result in a message of role tool or function; it says by id or name which call it answers."""
    if "tool_messages" in message:  # several in one, as in tau2-bench
        inner = expected(at / "tool_messages", message["tool_messages"], list)
        places = [(at / "tool_messages" / index, each) for index, each in enumerate(inner)]
        return [entry for place, each in places for entry in result(place, expected(place, each, dict))]
    call_id = id_of(at, message, "tool_call_id", "toolCallId", "call_id", "tool_use_id")
    name = the(at, message, "name", "tool_name", "toolName")
    call_id = call_id or ("" if name else id_of(at, message, "id"))
    if not call_id and not name:
        raise (at / "tool_call_id").refuse("a result must say by id or name which call it answers")
    read = {"role", "content", "tool_call_id", "toolCallId", "call_id", "tool_use_id", "tool_name", "toolName"}
    check_rest(at, message, {*read, "is_error", "isError", "requestor", "additional_kwargs", "artifact"})
    error = True in (message.get("is_error"), message.get("isError"), message.get("error"))
    return [
        Answer(
            at=at,
            id=call_id,
            name=named(at / "name", name) if name else "",
            text=as_text(message.get("content")),
            error=error or message.get("status") == "error",
        )
    ]
