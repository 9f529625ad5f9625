"""Vercel AI SDK: parts of UI messages (`tool-NAME`, `dynamic-tool`, `tool-invocation`) and of model messages."""

from __future__ import annotations

import json
from typing import Any

from labkit.trajectory.shapes.entries import Answer, Asked, At, Entry, as_text, asked, expected, id_of, the
from labkit.trajectory.shapes.harmless import check_rest

SHAPE = "AI SDK"
META = {"type", "toolCallId", "toolName", "providerExecuted", "dynamic", "title", "invalid", "step", "toolMetadata"}
WAITS = ("input-available", "call", "approval-requested", "approval-responded")
STREAMS = ("input-streaming", "partial-call")
STATES = (*WAITS, *STREAMS, "output-available", "result", "output-error", "output-denied")
ERRORS = ("error-text", "error-json")


def call(at: At, part: dict[str, Any]) -> list[Entry]:
    """`tool-call` of a model message."""
    check_rest(at, part, META | {"args", "input", "error"})
    return [_asked(at, part, part.get("toolName"))]


def result(at: At, part: dict[str, Any]) -> list[Entry]:
    """`tool-result` and `tool-error` of a model message; `output` says of itself whether it is an error."""
    check_rest(
        at,
        part,
        META | {"args", "input", "result", "output", "error", "isError", "preliminary", "experimental_content"},
    )
    held = part.get("output", part.get("result", part.get("error")))
    kind = held.get("type") if isinstance(held, dict) else None
    text = as_text(held.get("value", held.get("reason", held)) if isinstance(held, dict) and kind else held)
    error = part["type"] == "tool-error" or kind in ERRORS or part.get("isError") is True
    return [_answer(at, part, text, error=error, outcome="not made" if kind == "execution-denied" else "")]


def invocation(at: At, part: dict[str, Any]) -> list[Entry]:
    """`tool-invocation`: call, state and result in an object of its own."""
    check_rest(at, part, {"type", "toolInvocation"})
    return tool(at, expected(at / "toolInvocation", part.get("toolInvocation"), dict), None)


def invocations(at: At, value: Any) -> list[Entry]:
    """`toolInvocations` of a message, from before there were parts."""
    held = expected(at, value, list)
    return [e for index, each in enumerate(held) for e in tool(at / index, expected(at / index, each, dict), None)]


def ui_tool(at: At, part: dict[str, Any]) -> list[Entry]:
    """`tool-NAME`, or `dynamic-tool` with its name in a field."""
    return tool(at, part, None if part["type"] == "dynamic-tool" else str(part["type"]).removeprefix("tool-"))


def tool(at: At, part: dict[str, Any], name: str | None) -> list[Entry]:
    """A call and how far it came: `state` tells."""
    outputs = {"output", "result", "errorText", "rawInput", "preliminary", "approval"}
    check_rest(at, part, META | outputs | {"state", "args", "input"})
    state = the(at, part, "state")
    if state not in STATES:
        raise (at / "state").refuse(f"{state[:80]!r} is unknown: expected one of {', '.join(STATES)}")
    asks = _asked(at, part, name or part.get("toolName"))
    if state in STREAMS:
        asks.unreadable = asks.unreadable or json.dumps(asks.arguments, ensure_ascii=False)
        asks.notes.append("the arguments were still being written")
    if state == "approval-requested":
        asks.notes.append("waits for an approval")
    if state == "output-denied" or (state == "approval-responded" and _refused(part)):
        return [asks, _answer(at, part, "refused by a person", outcome="not made")]
    if state == "output-error":
        return [asks, _answer(at, part, the(at, part, "errorText"), error=True)]
    if state in ("output-available", "result") and part.get("preliminary") is not True:
        return [asks, _answer(at, part, as_text(part.get("output", part.get("result"))))]
    return [asks]


def _refused(part: dict[str, Any]) -> bool:
    approval = part.get("approval")
    return isinstance(approval, dict) and approval.get("approved") is False


def _asked(at: At, part: dict[str, Any], name: Any) -> Asked:
    given = next((part[field] for field in ("input", "args", "rawInput") if part.get(field) is not None), None)
    return asked(at, id_of(at, part, "toolCallId"), name, given, name_at=at / "toolName")


def _answer(at: At, part: dict[str, Any], text: str, *, error: bool = False, outcome: str = "") -> Answer:
    call_id = id_of(at, part, "toolCallId")
    if not call_id:
        raise (at / "toolCallId").refuse("a result must say by id which call it answers")
    return Answer(at=at, id=call_id, text=text, error=error, outcome=outcome)


PARTS = {
    "tool-call": call,
    "tool-result": result,
    "tool-error": result,
    "tool-invocation": invocation,
    "dynamic-tool": ui_tool,
}
SILENT = {"step-start", "source", "source-url", "source-document", "tool-approval-request", "tool-approval-response"}
