"""OpenTelemetry GenAI messages: the parts that answer calls. Those that ask are read with LangChain's, of one type."""

from __future__ import annotations

from typing import Any

from labkit.trajectory.shapes.entries import Answer, At, Entry, as_text, id_of, the
from labkit.trajectory.shapes.harmless import check_rest

SHAPE = "OpenTelemetry"


def response(at: At, part: dict[str, Any]) -> list[Entry]:
    """A result. Some instrumentations write `result` where the convention says `response`."""
    given = next((name for name in ("response", "result", "server_tool_call_response") if name in part), "response")
    check_rest(at, part, {"type", "id", "name", given})
    held = part.get(given)
    error = isinstance(held, dict) and held.get("status") in ("error", "failed")
    return [Answer(at=at, id=id_of(at, part, "id"), name=the(at, part, "name"), text=as_text(held), error=error)]


PARTS = dict.fromkeys(("tool_call_response", "server_tool_call_response"), response)
