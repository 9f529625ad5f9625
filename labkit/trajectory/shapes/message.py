"""Reads one message, item or event, of whatever shape: its fields and parts say which reader it is for.

Nothing is guessed: a part, field or type that no reader knows is refused with its place.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from labkit.trajectory.shapes import (
    ai_sdk,
    anthropic,
    bedrock,
    chat,
    gemini,
    langchain,
    openhands,
    otel_parts,
    pydantic_ai,
    responses,
)
from labkit.trajectory.shapes.entries import (
    Answer,
    Asked,
    At,
    Between,
    Entry,
    Model,
    Said,
    as_text,
    expected,
    in_field,
    kind_of,
)
from labkit.trajectory.shapes.harmless import check_rest
from labkit.trajectory.shapes.twice import stated_once

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
OTHER_ROLES = {"model": "assistant", "human": "user", "ai": "assistant", "platform": "system", "data": "user"}
KINDS = {"request": "user", "response": "assistant"}  # of Pydantic AI
WORDS = {"text", "input_text", "output_text", "refusal"}
SILENT = {
    *(
        "thinking",
        "redacted_thinking",
        "reasoning",
        "reasoning_text",
        "summary_text",
        "redacted-reasoning",
        "text-plain",
    ),
    *("image", "image_url", "input_image", "input_audio", "audio", "video", "file", "input_file", "document", "media"),
    *("search_result", "citation", "container_upload", "blob", "uri", "model_context", "compaction_summary", "json"),
    *("reasoning-file", "connector_text"),
}
TYPED: dict[str, tuple[str, Callable[[At, dict[str, Any]], list[Entry]]]] = {
    kind: (module.SHAPE, reader)
    for module in (anthropic, ai_sdk, langchain, otel_parts, responses)
    for kind, reader in (module.ITEMS if module is responses else module.PARTS).items()
}
BARE = {key: (module.SHAPE, reader) for module in (bedrock, gemini) for key, reader in module.KEYS.items()}
BARE_SILENT = bedrock.SILENT | gemini.SILENT
FIELDS: dict[str, tuple[str, Callable[[At, Any], list[Entry]]]] = {
    "tool_calls": (chat.SHAPE, chat.tool_calls),
    "function_call": (chat.SHAPE, chat.function_call),
    "additional_kwargs": (langchain.SHAPE, langchain.additional_kwargs),
    "invalid_tool_calls": (langchain.SHAPE, langchain.invalid_tool_calls),
    "tool_call_chunks": (langchain.SHAPE, chat.tool_calls),
    "raw_data": (chat.SHAPE, chat.raw_data),
    "toolInvocations": (ai_sdk.SHAPE, ai_sdk.invocations),
}
HELD = {"content", "parts", "role", "type", "lc_attributes", "tool_call_id", "revisionId", "tool_messages", "is_error"}


def is_item(value: dict[str, Any]) -> bool:
    """Whether an object is a message, an item or an event, and no record of a whole run."""
    if _wrapped(value) or "role" in value or ("lc" in value and "kwargs" in value) or openhands.is_event(value):
        return True
    kind = kind_of(value)
    if kind in responses.ITEMS or (kind in langchain.ROLES and {"content", "data"} & value.keys()):
        return True
    return kind_of(value, "kind") in KINDS and "parts" in value


def _wrapped(value: dict[str, Any]) -> str:
    """The field that holds the message, in a line of a log with other things beside it; empty if none does."""
    if "role" in value:
        return ""
    found = (name for name in ("message", "content") if isinstance(value.get(name), dict) and "role" in value[name])
    return next(found, "")


def read_item(at: At, value: Any) -> list[Entry]:
    """The entries of one message, item or event; raise InvalidInput with the place of what nobody knows."""
    if field := _wrapped(expected(at, value, dict)):
        check_rest(at, value, {field, "type"})
        return read_item(at / field, value[field])
    at, item = langchain.unwrap(at, value)
    if openhands.is_event(item):
        return _shaped(openhands.SHAPE, openhands.event(at, item))
    kind = kind_of(item)
    if "role" not in item and kind in responses.ITEMS:
        return _shaped(responses.SHAPE, responses.ITEMS[kind](at, item))
    role = _role(at, item)
    if role == "remove":  # takes a message out of the history; what it asked for was asked for all the same
        return [Between()]
    found = _result(at, item) if role in ("tool", "function") else _fields(at, item)
    asks = role == "assistant" or any(isinstance(entry, Asked) for entry in found)
    return [Model(at), *found] if asks else [Between(), *(each for each in found if not isinstance(each, Said))]


def _role(at: At, item: dict[str, Any]) -> str:
    given = item.get("role")
    if given is None and "parts" in item and kind_of(item, "kind") in KINDS:
        return KINDS[item["kind"]]
    if given is None and kind_of(item) in langchain.ROLES:
        return langchain.ROLES[item["type"]]
    if given is None:
        if item.get("type") is None:
            raise at.refuse("Object missing required field `role`, and no shape without one is known that fits")
        raise (at / "type").refuse(f"nobody knows messages of type {item.get('type')!r:.80}")
    role = expected(at / "role", given, str)
    role = OTHER_ROLES.get(role, role)
    if role not in ROLES:
        raise (at / "role").refuse(f"{role[:80]!r} is unknown: expected {', '.join(ROLES)}")
    return role


def _result(at: At, item: dict[str, Any]) -> list[Entry]:
    """A message that holds a result, or several as parts."""
    content = item.get("content", item.get("parts"))
    if isinstance(content, list) and any(_is_call_part(part) for part in content):
        return _fields(at, item)
    if "parts" in item:
        return _fields(at, item)
    shape = langchain.SHAPE if "role" not in item else chat.SHAPE
    return _shaped(shape, chat.result(at, item))


def _is_call_part(part: Any) -> bool:
    return isinstance(part, dict) and (kind_of(part) in TYPED or bool(BARE.keys() & part.keys()))


def _fields(at: At, item: dict[str, Any]) -> list[Entry]:
    """The entries of all fields that can hold some; a call that several of them state counts once."""
    check_rest(at, item, HELD | FIELDS.keys())
    found: list[Entry] = []
    content = _spelled(expected(at / "content", item.get("content"), str, list, type(None)))
    if isinstance(content, str):
        found.append(Said(content))
    for name, parts in (("content", content), ("parts", item.get("parts"))):
        if not isinstance(parts, str | None):
            listed = expected(at / name, parts, list)
            found += in_field((e for i, part in enumerate(listed) for e in read_part(at / name / i, part)), name)
    for name, (shape, reader) in FIELDS.items():
        if item.get(name) is not None:
            shape = langchain.SHAPE if shape == chat.SHAPE and "role" not in item else shape
            found += in_field(_shaped(shape, reader(at / name, item[name])), name)
    return stated_once(found)


def _spelled(content: Any) -> Any:
    """The parts in a content that a log keeps as JSON text, if a call or result is among them; else the content."""
    if not isinstance(content, str) or not content.lstrip().startswith("[{"):
        return content
    try:
        parts = json.loads(content)
    except (ValueError, RecursionError):
        return content
    return parts if any(_is_call_part(part) for part in parts) else content


def read_part(at: At, part: Any) -> list[Entry]:
    """The entries of one part of a content; raise InvalidInput for a kind that nobody knows."""
    if isinstance(part, str):
        return [Said(part)]
    expected(at, part, dict)
    if isinstance(kind := part.get("part_kind"), str):
        if kind not in pydantic_ai.PARTS:
            raise (at / "part_kind").refuse(f"nobody knows parts of kind {kind[:80]!r}")
        return _shaped(pydantic_ai.SHAPE, pydantic_ai.PARTS[kind](at, part))
    if part.get("type") is None:
        return _bare(at, part)
    kind = expected(at / "type", part["type"], str)
    if kind == "non_standard":
        check_rest(at, part, {"type", "value"})
        return read_part(at / "value", part.get("value"))
    if kind in TYPED:
        shape, reader = TYPED[kind]
        return _shaped(shape, [each for each in reader(at, part) if not isinstance(each, Model | Between)])
    if kind in WORDS | SILENT | ai_sdk.SILENT or kind.startswith("data-"):
        return _words(at, part, kind)
    if kind.startswith("tool-") and "state" in part:
        return _shaped(ai_sdk.SHAPE, ai_sdk.ui_tool(at, part))
    raise (at / "type").refuse(f"nobody knows parts of type {kind[:80]!r}")


MEDIA = {"image_url", "input_audio", "file", "data", "image", "url", "content", "context", "mime_type", "mediaType"}
SPOKEN = MEDIA | {"type", "text", "refusal", "source", "base64", "video", "audio", "document", "filename", "media_type"}
WHOLE = SPOKEN | {
    "modality",
    "uri",
    "details",
    "detail",
    "file_data",
    "json",
    "filePart",
    "approvalId",
    "approved",
    "reason",
}


def _words(at: At, part: dict[str, Any], kind: str) -> list[Entry]:
    """A part that asks for nothing."""
    check_rest(at, part, WHOLE | {"toolCallId", "mimeType", "files"})
    text = part.get("text") or part.get("refusal") or part.get("content")
    return [Said(as_text(text))] if kind in WORDS else []


def _bare(at: At, part: dict[str, Any]) -> list[Entry]:
    """A part without a type is known by its key; keys that hold nothing do not count."""
    held = {key: value for key, value in part.items() if value is not None}
    for key in held:
        if key in BARE:
            check_rest(at, held, {key})
            return _shaped(BARE[key][0], BARE[key][1](at, held))
    if held.keys() & BARE_SILENT:
        check_rest(at, held, BARE_SILENT)
        return []
    if isinstance(held.get("text"), str):
        check_rest(at, held, {"text"})
        return [Said(held["text"])]
    raise at.refuse(f"nobody knows a part with {', '.join(map(repr, list(held)[:5])) or 'nothing in it'}")


def _shaped(shape: str, entries: list[Entry]) -> list[Entry]:
    """The entries, marked with the shape that they were written in."""
    for entry in entries:
        if isinstance(entry, Asked | Answer):
            entry.shape = entry.shape or shape
    return entries
