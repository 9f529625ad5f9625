"""OpenTelemetry GenAI traces (OTLP JSON): messages on spans and in events, and the spans of tools that ran.

A trace states the same call again and again: in the output of one span, in the input of each later one, in the span of
the tool. It is one call; what a record states more often than all before it did is new.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from labkit.trajectory.shapes.entries import At, Entry, expected
from labkit.trajectory.shapes.message import read_item
from labkit.trajectory.shapes.otel_names import check_attributes, nested, repeating
from labkit.trajectory.shapes.otel_tools import Tools, ran_tool
from labkit.trajectory.shapes.twice import History

SHAPE = "OpenTelemetry"
INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
QUIET_EVENTS = {"gen_ai.user.message", "gen_ai.system.message", "gen_ai.evaluation.result", "exception"}
SPOKEN_EVENTS = {"gen_ai.assistant.message": "assistant", "gen_ai.tool.message": "tool", "gen_ai.choice": "assistant"}
FIRST, THEN, LAST = range(3)  # of what happens at one moment: what was known, what was said, what was done


class Happened(NamedTuple):
    """Something in a trace: `when` (nanoseconds, order), messages that repeat the history, or a tool that ran."""

    when: tuple[int, int]
    at: At
    messages: list[Any]
    tool: dict[str, Any] | None = None
    repeats: bool = False  # an attribute is here that should only repeat calls which others state


def is_trace(record: Any) -> bool:
    """Whether a record is an export of spans or of log records."""
    return isinstance(record, dict) and bool({"resourceSpans", "resourceLogs"} & record.keys())


def traces(records: list[tuple[str, Any]]) -> dict[str, tuple[str, list[Entry]]]:
    """For each trace id, where it begins and what happened in it, in order of time."""
    found: dict[str, list[Happened]] = {}
    for where, record in records:
        for at, span in _each(At(where), record, "resourceSpans", "scopeSpans", "spans"):
            found.setdefault(str(span.get("traceId") or "trace"), []).extend(_span(at, span))
        for at, log in _each(At(where), record, "resourceLogs", "scopeLogs", "logRecords"):
            found.setdefault(str(log.get("traceId") or "trace"), []).extend(_log(at, log))
    told = {trace: (happened[0].at.where, _told(happened)) for trace, happened in found.items() if happened}
    return {trace: each for trace, each in told.items() if each[1]}


def _each(at: At, record: dict[str, Any], *names: str) -> Iterator[tuple[At, dict[str, Any]]]:
    first, *rest = names
    for index, inner in enumerate(expected(at / first, record.get(first) or [], list)):
        place = at / first / index
        expected(place, inner, dict)
        if rest:
            yield from _each(place, inner, *rest)
        else:
            yield place, inner


def _span(at: At, span: dict[str, Any]) -> Iterator[Happened]:
    begins, ends = (_time(at, span, name) for name in ("startTimeUnixNano", "endTimeUnixNano"))
    ends = max(begins, ends)
    place = at / "attributes"
    attributes = _attributes(place, span.get("attributes"))
    yield from _messages(place, attributes, begins, ends)
    if tool := ran_tool(at, span, attributes):
        yield Happened((ends, LAST), at, [], tool)
    if name := repeating(attributes):
        yield Happened((ends, LAST), place / name, [], repeats=True)
    for index, event in enumerate(expected(at / "events", span.get("events") or [], list)):
        here = at / "events" / index
        held = _attributes(here / "attributes", expected(here, event, dict).get("attributes"))
        when = _time(here, event, "timeUnixNano") or ends
        yield from _event(here, str(event.get("name")), held, when)


def _log(at: At, log: dict[str, Any]) -> Iterator[Happened]:
    attributes = _attributes(at / "attributes", log.get("attributes"))
    name = log.get("eventName") or attributes.get("event.name") or ""
    body = _value(at / "body", log.get("body") or {})
    held = attributes | body if isinstance(body, dict) else attributes
    yield from _event(at, str(name), held, _time(at, log, "timeUnixNano", "observedTimeUnixNano"))


def _event(at: At, name: str, held: dict[str, Any], when: int) -> Iterator[Happened]:
    if name in SPOKEN_EVENTS:
        given = held.get("message") or held
        message = expected(at / "message", _parsed(at, given) if isinstance(given, str) else given, dict)
        kept = {
            key: message[key] for key in ("role", "content", "tool_calls", "id", "name") if message.get(key) is not None
        }
        if isinstance(kept.get("tool_calls"), str):
            kept["tool_calls"] = _parsed(at / "tool_calls", kept["tool_calls"])
        yield Happened((when, THEN if name == "gen_ai.choice" else FIRST), at, [{"role": SPOKEN_EVENTS[name]} | kept])
    elif name.startswith("gen_ai.") and name not in QUIET_EVENTS:
        if name != "gen_ai.client.inference.operation.details":
            raise (at / "name").refuse(f"nobody knows events named {name[:80]!r}")
        yield from _messages(at, held, when, when)


def _messages(at: At, attributes: dict[str, Any], begins: int, ends: int) -> Iterator[Happened]:
    """What attributes state: messages as JSON or values, or an attribute a field, as older clients write them."""
    check_attributes(at, attributes)
    for when, order, names in ((begins, FIRST, (INPUT,)), (ends, THEN, (OUTPUT,))):
        for name in names:
            if name in attributes:
                held = attributes[name]
                parsed = _parsed(at / name, held) if isinstance(held, str) else held
                yield Happened((when, order), at / name, expected(at / name, parsed, list))
    for name, messages in nested(attributes).items():
        first = name.endswith(("prompt", "input_messages"))
        yield Happened((begins, FIRST) if first else (ends, THEN), at / name, messages)


def _told(happened: list[Happened]) -> list[Entry]:
    """The entries of a trace in order of time, each call and result once."""
    history = History()
    tools = Tools()
    entries: list[Entry] = []
    for each in sorted(happened, key=lambda one: one.when):
        if each.tool is not None:
            entries += tools.span(each.at, each.tool)
            continue
        read = [read_item(each.at / index, message) for index, message in enumerate(each.messages)]
        entries += tools.told(history.restate(read))
    alone = next((each.at for each in happened if each.repeats), None)
    if alone and not tools.calls:
        raise alone.refuse("reads as a call, and nothing else in this trace states it", "record the messages, too")
    return entries


def _time(at: At, holder: dict[str, Any], *names: str) -> int:
    """Nanoseconds, which OTLP writes as text; 0 where there are none."""
    for name in names:
        if value := holder.get(name):
            text = str(expected(at / name, value, str, int))
            if not (text.isascii() and text.isdecimal()) or len(text) > 30:
                raise (at / name).refuse(f"{text[:80]!r} is no time in nanoseconds")
            return int(text)
    return 0


def _attributes(at: At, value: Any) -> dict[str, Any]:
    found = {}
    for index, each in enumerate(expected(at, value or [], list)):
        place = at / index
        key = expected(place / "key", expected(place, each, dict).get("key"), str)
        if key in found:
            raise place.refuse(f"the attribute {key!r} is there twice")
        found[key] = _value(place / "value", each.get("value"))
    return found


def _value(at: At, value: Any) -> Any:
    """The plain data in an OTLP value."""
    held = expected(at, value or {}, dict)
    for kind in ("arrayValue", "kvlistValue"):
        if kind in held:
            values = expected(at / kind, held[kind] or {}, dict).get("values") or []
            listed = expected(at / kind / "values", values, list)
            return [_value(at, each) for each in listed] if kind == "arrayValue" else _attributes(at, listed)
    for kind in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
        if kind in held:
            return held[kind]
    if "intValue" in held:
        return str(expected(at, held["intValue"], str, int))
    if held:
        raise at.refuse(f"nobody knows values of kind {next(iter(held))[:80]!r}")
    return None


def _parsed(at: At, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise at.refuse(f"is not JSON: {error}") from None
