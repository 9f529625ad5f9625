"""The same abstract run in every shape that the reader knows: what went in is what must come out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from abstract_runs import (
    Made,
    Messages,
    Turns,
    answered,
    anthropic,
    as_json,
    bedrock,
    chat,
    gemini,
    marked,
    otel,
    responses,
)


def langchain(calls: list[Made]) -> Messages:
    """LangChain messages, each call stated three times: as a block, in `tool_calls`, in `additional_kwargs`."""
    asked = [{"name": c.name, "args": c.arguments, "id": c.id, "type": "tool_call"} for c in calls]
    blocks = [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.arguments} for c in calls]
    said = {"type": "ai", "content": [{"type": "text", "text": "I see"}, *blocks], "tool_calls": asked}
    kept = {"additional_kwargs": {"tool_calls": chat(calls)[0]["tool_calls"]}, "invalid_tool_calls": [], "id": "run-1"}
    given = [
        {"type": "tool", "tool_call_id": c.id, "name": c.name, "content": c.result, "status": _status(c), "id": None}
        for c in answered(calls)
    ]
    return [said | kept, *given]


def _status(call: Made) -> str:
    return "error" if call.error else "success"


def langchain_dumped(calls: list[Made]) -> Messages:
    """LangChain messages as objects dumped."""
    names = {"ai": "AIMessage", "tool": "ToolMessage"}
    return [
        {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", names[m["type"]]], "kwargs": m}
        for m in langchain(calls)
    ]


def langchain_data(calls: list[Made]) -> Messages:
    """LangChain messages with their fields under `data`; calls in `additional_kwargs` only."""
    said, *given = langchain(calls)
    only = {"type": "ai", "data": {"content": "I see", "additional_kwargs": said["additional_kwargs"]}}
    return [only, *({"type": "tool", "data": each} for each in given)]


def ai_sdk(calls: list[Made]) -> Messages:
    """Vercel AI SDK, UI messages: a tool's part is call and result."""
    parts: list[dict[str, Any]] = [{"type": "step-start"}, {"type": "text", "text": "I see", "state": "done"}]
    for nth, call in enumerate(calls):
        named = {"type": f"tool-{call.name}"} if nth % 2 else {"type": "dynamic-tool", "toolName": call.name}
        part = {**named, "toolCallId": call.id, "input": call.arguments, "state": "input-available"}
        if call.result is not None:
            part |= {"state": "output-available", "output": call.result}
        if call.error:
            part = {**part, "state": "output-error", "errorText": call.result, "output": None}
        parts.append(part)
    return [{"id": "m", "role": "assistant", "parts": parts}]


def ai_sdk_model(calls: list[Made]) -> Messages:
    """Vercel AI SDK, model messages."""
    asked = [{"type": "tool-call", "toolCallId": c.id, "toolName": c.name, "input": c.arguments} for c in calls]
    given = [
        {
            "type": "tool-result",
            "toolCallId": c.id,
            "toolName": c.name,
            "output": {"type": "error-text" if c.error else "text", "value": c.result},
        }
        for c in answered(calls)
    ]
    said = {"role": "assistant", "content": [{"type": "text", "text": "I see"}, *asked]}
    return [said, {"role": "tool", "content": given}] if given else [said]


def ai_sdk_old(calls: list[Made]) -> Messages:
    """Vercel AI SDK 4: `toolInvocations` and parts state the same call."""
    held = []
    for call in calls:
        one = {"toolCallId": call.id, "toolName": call.name, "args": call.arguments, "state": "call"}
        held.append(one if call.result is None else one | {"state": "result", "result": marked(call)})
    parts = [{"type": "tool-invocation", "toolInvocation": each} for each in held]
    return [{"id": "m", "role": "assistant", "content": "", "parts": parts, "toolInvocations": held}]


def pydantic_ai(calls: list[Made]) -> Messages:
    """Pydantic AI messages."""
    asked = [
        {"part_kind": "tool-call", "tool_name": c.name, "args": as_json(c), "tool_call_id": c.id, "id": None}
        for c in calls
    ]
    given = [
        {"part_kind": "retry-prompt", "content": c.result, "tool_name": c.name, "tool_call_id": c.id}
        if c.error
        else {
            "part_kind": "tool-return",
            "content": c.result,
            "tool_name": c.name,
            "tool_call_id": c.id,
            "metadata": None,
        }
        for c in answered(calls)
    ]
    said = {"kind": "response", "parts": [{"part_kind": "text", "content": "I see"}, *asked], "usage": {"requests": 1}}
    return [said, {"kind": "request", "parts": given, "instructions": None}]


def openhands(calls: list[Made]) -> Messages:
    """OpenHands events of the first version; the model's message stands beside each action."""
    held = chat(calls)[0]
    response = {"id": f"resp-{calls[0].id}", "choices": [{"message": held, "finish_reason": "tool_calls"}]}
    events: Messages = []
    for call in calls:
        called = {"tool_call_id": call.id, "function_name": call.name, "model_response": response}
        number = len(events)
        event = {"id": number, "source": "agent", "message": "", "timestamp": "2026-01-01T00:00:00"}
        events.append(event | {"action": "call_tool_mcp", "args": call.arguments, "tool_call_metadata": called})
        if call.result is not None:
            kind = "error" if call.error else "mcp"
            seen = {"observation": kind, "content": call.result, "extras": {}, "cause": number}
            events.append(event | {"id": number + 1, "source": "environment", "tool_call_metadata": called} | seen)
    return events


def openhands_sdk(calls: list[Made]) -> Messages:
    """OpenHands events of the SDK."""
    asked = [
        {
            "kind": "ActionEvent",
            "id": f"a{c.id}",
            "timestamp": "2026-01-01",
            "source": "agent",
            "tool_call_id": c.id,
            "thought": [{"type": "text", "text": "I see"}],
            "action": {"kind": "MCPToolAction", "data": c.arguments},
            "tool_name": c.name,
            "tool_call": {"id": c.id, "name": c.name, "arguments": as_json(c), "origin": "completion"},
            "llm_response_id": f"resp-{calls[0].id}",
        }
        for c in calls
    ]
    given = [
        {
            "kind": "ObservationEvent",
            "id": f"o{c.id}",
            "source": "environment",
            "tool_name": c.name,
            "tool_call_id": c.id,
            "action_id": f"a{c.id}",
            "observation": {"kind": "MCP", "content": [{"type": "text", "text": c.result}], "is_error": c.error},
        }
        for c in answered(calls)
    ]
    return [*asked, *given]


SHAPES: dict[str, Callable[[list[Made]], Messages]] = {
    each.__name__: each
    for each in (
        *(chat, responses, anthropic, bedrock, langchain, langchain_dumped, langchain_data, ai_sdk, ai_sdk_model),
        *(ai_sdk_old, otel, pydantic_ai, openhands, openhands_sdk, gemini),
    )
}


def mixed(turns: Turns, shapes: list[str]) -> Messages:
    """A run whose turns are written in these shapes, one after another."""
    written: Messages = [{"role": "user", "content": "hello"}]
    for turn, shape in zip(turns, shapes, strict=True):
        written += SHAPES[shape](turn)
    return written
