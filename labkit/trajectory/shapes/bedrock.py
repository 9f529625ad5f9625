"""Bedrock Converse: parts without a type, known by their only key, `toolUse` and `toolResult`."""

from __future__ import annotations

from typing import Any

from labkit.trajectory.shapes.entries import Answer, At, Entry, as_text, asked, expected, id_of
from labkit.trajectory.shapes.harmless import check_rest

SHAPE = "Bedrock Converse"


def use(at: At, part: dict[str, Any]) -> list[Entry]:
    """A call."""
    place = at / "toolUse"
    held = expected(place, part["toolUse"], dict)
    check_rest(place, held, {"toolUseId", "name", "input"})
    return [asked(at, id_of(place, held, "toolUseId"), held.get("name"), held.get("input"), name_at=place / "name")]


def result(at: At, part: dict[str, Any]) -> list[Entry]:
    """A result."""
    place = at / "toolResult"
    held = expected(place, part["toolResult"], dict)
    check_rest(place, held, {"toolUseId", "content", "status"})
    call_id = id_of(place, held, "toolUseId")
    if not call_id:
        raise (place / "toolUseId").refuse("a result must say by id which call it answers")
    return [Answer(at=at, id=call_id, text=as_text(held.get("content")), error=held.get("status") == "error")]


KEYS = {"toolUse": use, "toolResult": result}
SILENT = {"image", "document", "video", "audio", "reasoningContent", "cachePoint", "guardContent", "citationsContent"}
