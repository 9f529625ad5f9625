"""Pydantic AI: parts with a `part_kind` in messages of kind request and response."""

from __future__ import annotations

from typing import Any

from labkit.trajectory.shapes.entries import Answer, At, Between, Entry, Said, as_text, asked, id_of, the
from labkit.trajectory.shapes.harmless import check_rest

SHAPE = "Pydantic AI"
META = {"part_kind", "tool_name", "tool_call_id", "id", "provider_name", "provider_details", "timestamp", "tool_kind"}
OUTCOMES = {"success": "", "failed": "failed", "denied": "not made", "interrupted": "placeholder"}


def call(at: At, part: dict[str, Any]) -> list[Entry]:
    """A call; arguments are text or an object."""
    check_rest(at, part, META | {"args", "otel_metadata"})
    name_at = at / "tool_name"
    return [asked(at, id_of(at, part, "tool_call_id"), part.get("tool_name"), part.get("args"), name_at=name_at)]


def result(at: At, part: dict[str, Any]) -> list[Entry]:
    """A result, with the outcome that the framework gives it."""
    check_rest(at, part, META | {"content", "metadata", "outcome", "return_kind"})
    outcome = the(at, part, "outcome", default="success")
    if outcome not in OUTCOMES:
        raise (at / "outcome").refuse(f"{outcome[:80]!r} is unknown: expected {', '.join(OUTCOMES)}")
    return [_answer(at, part, error=outcome == "failed", outcome=OUTCOMES[outcome])]


def retry(at: At, part: dict[str, Any]) -> list[Entry]:
    """A call that the framework did not accept, or that failed; without a tool it speaks of the model's words."""
    check_rest(at, part, META | {"content"})
    return [_answer(at, part, error=True)] if part.get("tool_name") else [Between()]


def _answer(at: At, part: dict[str, Any], error: bool, outcome: str = "") -> Answer:
    call_id, name = id_of(at, part, "tool_call_id"), the(at, part, "tool_name")
    if not call_id and not name:
        raise (at / "tool_call_id").refuse("a result must say by id or name which call it answers")
    text = as_text(part.get("content"))
    return Answer(at=at, id=call_id, name=name, text=text, error=error, outcome="" if outcome == "failed" else outcome)


def words(at: At, part: dict[str, Any]) -> list[Entry]:
    """Text, thoughts, files and prompts."""
    check_rest(at, part, META | {"content", "signature", "dynamic_ref", "name"})
    content = part.get("content")
    return [Said(content)] if part["part_kind"] == "text" and isinstance(content, str) else []


PARTS = {
    **dict.fromkeys(("tool-call", "builtin-tool-call", "native-tool-call"), call),
    **dict.fromkeys(("tool-return", "builtin-tool-return", "native-tool-return"), result),
    "retry-prompt": retry,
    **dict.fromkeys(("system-prompt", "user-prompt", "text", "thinking", "file", "instruction"), words),
}
