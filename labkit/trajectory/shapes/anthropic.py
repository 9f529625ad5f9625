"""Anthropic Messages: `tool_use` and `tool_result` blocks, also those of tools that the provider runs."""

from __future__ import annotations

from typing import Any

from labkit.trajectory.shapes.entries import Answer, At, Entry, as_text, asked, id_of
from labkit.trajectory.shapes.harmless import check_rest

SHAPE = "Anthropic"


def use(at: At, part: dict[str, Any]) -> list[Entry]:
    """A call; one that was still being streamed has its arguments as `partial_json`."""
    check_rest(at, part, {"type", "id", "name", "input", "partial_json", "server_name", "caller"})
    given = part.get("input") or part.get("partial_json") or part.get("input")
    return [asked(at, id_of(at, part, "id"), part.get("name"), given)]


def result(at: At, part: dict[str, Any]) -> list[Entry]:
    """A result; the provider's own tools report an error by the type of the content."""
    check_rest(at, part, {"type", "tool_use_id", "content", "is_error", "caller"})
    call_id = id_of(at, part, "tool_use_id")
    if not call_id:
        raise (at / "tool_use_id").refuse("a result must say by id which call it answers")
    content = part.get("content")
    failed = isinstance(content, dict) and str(content.get("type")).endswith("_error")
    return [Answer(at=at, id=call_id, text=as_text(content), error=failed or part.get("is_error") is True)]


RESULTS = (
    *("tool_result", "mcp_tool_result", "web_search_tool_result", "web_fetch_tool_result"),
    *("code_execution_tool_result", "bash_code_execution_tool_result", "text_editor_code_execution_tool_result"),
    *("tool_search_tool_result", "advisor_tool_result"),
)
PARTS = {
    **dict.fromkeys(("tool_use", "server_tool_use", "mcp_tool_use"), use),
    **dict.fromkeys(RESULTS, result),
}
