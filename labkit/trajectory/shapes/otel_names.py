"""Which attributes of a span hold messages or calls, and how older clients spread a message over many of them."""

from __future__ import annotations

import json
import re
from typing import Any

from labkit.trajectory.shapes.entries import At
from labkit.trajectory.shapes.harmless import call_in

FLAT = re.compile(r"(gen_ai\.prompt|gen_ai\.completion|llm\.input_messages|llm\.output_messages)\.(\d+)\.(.+)")
WRAPPERS = {"message", "tool_call", "message_content"}  # of OpenInference: an object around each
READ = re.compile(
    r"gen_ai\.(input|output)\.messages|gen_ai\.tool\.(name|type|description|definitions|call\.(id|arguments|result))|"
    r"tool\.(name|id|description|parameters|json_schema)|tool_call\.id|tool_(arguments|response)|"
    r"gen_ai\.operation\.name|gen_ai\.request\..*|gen_ai\.usage\..*|gen_ai\.response\..*|gen_ai\.event\.content"
)
REPEATS = re.compile(
    r"(input|output)\.value|(traceloop|logfire|openinference|llm\.tools)\b.*|llm\.(invocation|request).*"
)
BODIES = re.compile(r"(input|output)\.value|traceloop\.entity\.(input|output)|logfire\.(request|response)_data|events")
SUSPICIOUS = re.compile(r"tool|function|messages|prompt|completion", re.I)


def check_attributes(at: At, attributes: dict[str, Any]) -> None:
    """Raise InvalidInput for an attribute that, by its name, may hold calls and that nobody reads."""
    for name, value in attributes.items():
        if READ.fullmatch(name) or FLAT.fullmatch(name) or REPEATS.fullmatch(name):
            continue
        if SUSPICIOUS.search(name) and isinstance(value, str | list | dict) and value:
            raise (at / name).refuse("nobody knows this attribute, and its name says that it may hold a call")


def repeating(attributes: dict[str, Any]) -> str:
    """The first attribute with a call in it that other attributes, of this span or another, should state as well."""
    for name, value in attributes.items():
        if BODIES.fullmatch(name) and isinstance(value, str):
            try:
                if call_in(json.loads(value)):
                    return name
            except (ValueError, RecursionError):
                continue
    return ""


def nested(attributes: dict[str, Any]) -> dict[str, list[Any]]:
    """The messages that are spread over attributes such as `gen_ai.completion.0.tool_calls.1.name`."""
    found: dict[str, dict[int, Any]] = {}
    for name, value in attributes.items():
        if match := FLAT.fullmatch(name):
            _put(found.setdefault(match[1], {}).setdefault(int(match[2]), {}), match[3].split("."), value)
    return {name: [_plain(message) for _, message in sorted(held.items())] for name, held in found.items()}


def _put(holder: dict[Any, Any], path: list[str], value: Any) -> None:
    for part in path[:-1]:
        inner = holder.setdefault(part, {})
        if not isinstance(inner, dict):
            return
        holder = inner
    holder[path[-1]] = value


def _plain(value: Any) -> Any:
    """Lists where the keys are numbers, and no wrappers."""
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and (only := next(iter(value))) in WRAPPERS and isinstance(value[only], dict):
        return _plain(value[only])
    if value and all(key.isdigit() for key in value):
        return [_plain(value[key]) for key in sorted(value, key=int)]
    return {key: _plain(inner) for key, inner in value.items()}
