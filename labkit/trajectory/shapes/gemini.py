"""Gemini contents: parts known by their key, `functionCall` and `functionResponse`, in either spelling."""

from __future__ import annotations

from typing import Any

from labkit.trajectory.shapes.entries import Answer, At, Entry, as_text, asked, expected, id_of, named
from labkit.trajectory.shapes.harmless import check_rest

SHAPE = "Gemini"


def call(at: At, part: dict[str, Any]) -> list[Entry]:
    """A call, which often has no id."""
    key = "functionCall" if "functionCall" in part else "function_call"
    held = expected(at / key, part[key], dict)
    check_rest(at / key, held, {"id", "name", "args"})
    return [asked(at, id_of(at / key, held, "id"), held.get("name"), held.get("args"), name_at=at / key / "name")]


def response(at: At, part: dict[str, Any]) -> list[Entry]:
    """A result, by id or name."""
    key = "functionResponse" if "functionResponse" in part else "function_response"
    held = expected(at / key, part[key], dict)
    check_rest(at / key, held, {"id", "name", "response", "scheduling", "willContinue", "parts"})
    name = named(at / key / "name", held.get("name"))
    return [Answer(at=at, id=id_of(at / key, held, "id"), name=name, text=as_text(held.get("response")))]


KEYS = {"functionCall": call, "function_call": call, "functionResponse": response, "function_response": response}
SILENT = {"inlineData", "inline_data", "fileData", "file_data"}
