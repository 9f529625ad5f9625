"""An abstract run, and how the interfaces of model providers write it."""

from __future__ import annotations

import json
from typing import Any, NamedTuple


class Made(NamedTuple):
    """One call of an abstract run. `result` is None for a call without one; `error` marks it as failed."""

    id: str
    name: str
    arguments: dict[str, Any]
    result: str | None
    error: bool = False


Turns = list[list[Made]]
Messages = list[dict[str, Any]]


def as_json(call: Made) -> str:
    """The arguments as JSON text."""
    return json.dumps(call.arguments)


def answered(calls: list[Made]) -> list[Made]:
    """Those calls that have a result."""
    return [call for call in calls if call.result is not None]


def chat(calls: list[Made]) -> Messages:
    """OpenAI chat completions."""
    asked = [{"id": c.id, "type": "function", "function": {"name": c.name, "arguments": as_json(c)}} for c in calls]
    said = {"role": "assistant", "content": "I see", "refusal": None, "tool_calls": asked}
    return [said, *({"role": "tool", "tool_call_id": c.id, "content": marked(c)} for c in answered(calls))]


def marked(call: Made) -> str | None:
    """A result in a shape that has no mark for errors."""
    return f"Error: {call.result}" if call.error else call.result


def responses(calls: list[Made]) -> Messages:
    """OpenAI Responses items."""
    asked = [
        {"type": "function_call", "id": f"fc_{c.id}", "call_id": c.id, "name": c.name, "arguments": as_json(c)}
        for c in calls
    ]
    given = [{"type": "function_call_output", "call_id": c.id, "output": marked(c)} for c in answered(calls)]
    content = [{"type": "output_text", "text": "I see", "annotations": []}]
    said = {"type": "message", "id": "msg", "role": "assistant", "status": "completed", "content": content}
    return [{"type": "reasoning", "id": "rs", "summary": []}, said, *asked, *given]


def anthropic(calls: list[Made]) -> Messages:
    """Anthropic Messages."""
    asked = [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.arguments} for c in calls]
    given = [
        {
            "type": "tool_result",
            "tool_use_id": c.id,
            "content": [{"type": "text", "text": c.result}],
            "is_error": c.error,
        }
        for c in answered(calls)
    ]
    said = [{"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "text", "text": "I see"}]
    return [{"role": "assistant", "content": [*said, *asked]}, {"role": "user", "content": given}]


def bedrock(calls: list[Made]) -> Messages:
    """Bedrock Converse."""
    asked = [{"toolUse": {"toolUseId": c.id, "name": c.name, "input": c.arguments}} for c in calls]
    given = [
        {
            "toolResult": {
                "toolUseId": c.id,
                "content": [{"text": c.result}],
                "status": "error" if c.error else "success",
            }
        }
        for c in answered(calls)
    ]
    return [{"role": "assistant", "content": [{"text": "I see"}, *asked]}, {"role": "user", "content": given}]


def otel(calls: list[Made]) -> Messages:
    """The messages that OpenTelemetry puts into attributes."""
    asked = [{"type": "tool_call", "id": c.id, "name": c.name, "arguments": c.arguments} for c in calls]
    given = [{"type": "tool_call_response", "id": c.id, "response": marked(c)} for c in answered(calls)]
    said = {"role": "assistant", "parts": [{"type": "text", "content": "I see"}, *asked], "finish_reason": "tool_call"}
    return [said, {"role": "tool", "parts": given}]


def gemini(calls: list[Made]) -> Messages:
    """Gemini contents."""
    asked = [{"functionCall": {"id": c.id, "name": c.name, "args": c.arguments}} for c in calls]
    given = [
        {"functionResponse": {"id": c.id, "name": c.name, "response": {"error" if c.error else "output": c.result}}}
        for c in answered(calls)
    ]
    return [{"role": "model", "parts": [{"text": "I see"}, *asked]}, {"role": "user", "parts": given}]
