"""Spans of tools that ran: how the conventions name what is in them, and which call of a message each of them ran.

Several conventions write no id of the call. Such a span ran the one open call of its name that it can mean, by its
arguments if need be; a call that only a span tells of is a call of its own.
"""

from __future__ import annotations

import json
from typing import Any

from labkit.trajectory.shapes.entries import Answer, Asked, At, Entry, Model, as_text, asked, expected
from labkit.trajectory.shapes.twice import key_of

SHAPE = "OpenTelemetry"
KINDS = {"openinference.span.kind": "tool", "traceloop.span.kind": "tool", "gen_ai.operation.name": "execute_tool"}
MARKS = ("gen_ai.tool.call.id", "gen_ai.tool.name", "tool.name")
NAMES = ("gen_ai.tool.name", "tool.name", "traceloop.entity.name")
IDS = ("gen_ai.tool.call.id", "tool_call.id", "tool.id")
GIVEN = ("gen_ai.tool.call.arguments", "tool_arguments", "input.value", "traceloop.entity.input", "tool.parameters")
RESULTS = ("gen_ai.tool.call.result", "tool_response", "output.value", "traceloop.entity.output")
PREFIX = "execute_tool "


def ran_tool(at: At, span: dict[str, Any], attributes: dict[str, Any]) -> dict[str, Any] | None:
    """Name, id, arguments, result and failure that the span of a tool states; None for a span of another kind."""
    title = str(span.get("name") or "")
    kinds = (str(attributes.get(key) or "").casefold() == kind for key, kind in KINDS.items())
    if not (any(kinds) or any(attributes.get(key) for key in MARKS) or title.startswith(PREFIX)):
        return None
    status = expected(at / "status", span.get("status") or {}, dict).get("code")
    return {
        "name": _first(attributes, NAMES) or title.removeprefix(PREFIX).removesuffix(".tool") or None,
        "id": str(_first(attributes, IDS) or ""),
        "arguments": _arguments(_first(attributes, GIVEN)),
        "result": _first(attributes, RESULTS),
        "failed": status in (2, "STATUS_CODE_ERROR") or "error.type" in attributes,
        "ended": span.get("endTimeUnixNano") not in (None, "", "0", 0),
    }


def _first(attributes: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((attributes[name] for name in names if attributes.get(name) not in (None, "")), None)


def _arguments(given: Any) -> Any:
    """An object, or any other value as the one argument: the tool ran, so they were readable to it."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return {"input": given}
    return given if isinstance(given, dict | None) else {"input": given}


class Tools:
    """The calls of one trace as messages and spans state them, each once."""

    def __init__(self) -> None:
        self.calls: list[Asked] = []
        self._lone: list[tuple[Asked, Answer | None]] = []  # stated by a span only, so far
        self._ran: set[int] = set()
        self._answered: set[str] = set()

    def told(self, new: list[Entry]) -> list[Entry]:
        """What messages state anew, without what spans have stated before."""
        kept: list[Entry] = []
        for entry in new:
            if isinstance(entry, Asked):
                if self._is_lone(entry):
                    continue
                self.calls.append(entry)
            elif isinstance(entry, Answer) and entry.id:
                if entry.id in self._answered:
                    continue
                self._answered.add(entry.id)
                self._ran |= {id(call) for call in self.calls if call.id == entry.id}
            kept.append(entry)
        return kept

    def _is_lone(self, stated: Asked) -> bool:
        """Whether a span told of this call before; what the message says beyond it is added."""
        for pair in self._lone:
            call, answer = pair
            nameless = call.id.startswith("span at ")
            equal = call.name == stated.name and (not call.arguments or key_of(call)[2] == key_of(stated)[2])
            if not (equal if nameless else call.id == stated.id):
                continue
            self._lone.remove(pair)
            call.id = stated.id or call.id
            call.arguments = call.arguments or stated.arguments
            if answer is not None:
                answer.id = call.id
                self._answered.add(call.id)
            return True
        return False

    def span(self, at: At, held: dict[str, Any]) -> list[Entry]:
        """The result of a call that a message asked for, or a call that only this span tells of."""
        call_id, name = held["id"], str(held["name"])
        mine = [call for call in self.calls if call.id == call_id] if call_id else self._open(name, held["arguments"])
        found: list[Entry] = []
        lone: Asked | None = None
        if not mine:
            place = at / "attributes" / NAMES[0]
            lone = asked(at, call_id or f"span at {at.path}", held["name"], held["arguments"], name_at=place)
            lone.shape = SHAPE
            self.calls.append(lone)
            found, mine = [Model(at, "+"), lone], [lone]
        one = mine[0].id if len(mine) == 1 or call_id else ""
        answer = Answer(
            at=at,
            id=one,
            name="" if one else name,
            text=as_text(held["result"]),
            error=held["failed"],
            shape=SHAPE,
        )
        if held["ended"]:
            found.append(answer)
            self._answered |= {one} if one else set()
            self._ran |= {id(call) for call in mine} if one else set()
        if lone is not None:
            self._lone.append((lone, answer if held["ended"] else None))
        return found

    def _open(self, name: str, arguments: dict[str, Any] | None) -> list[Asked]:
        """The calls of this name that nothing has run yet; of several, those with the arguments of the span."""
        waiting = [call for call in self.calls if call.name == name and id(call) not in self._ran]
        equal = [call for call in waiting if call.arguments == (arguments or {})]
        return equal or waiting
