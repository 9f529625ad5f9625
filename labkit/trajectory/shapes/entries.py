"""What a reader makes of one message, item or event: calls asked for, results, words; each with its place."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec

from labkit.errors import InvalidInput

MAX_NAME = 200  # characters of an id or a tool name
JSON_TYPES = {dict: "object", list: "array", str: "str", bool: "bool", int: "int", float: "float", type(None): "null"}


def refused(where: str, field: str, why: str, next: str = "") -> InvalidInput:
    """The error for one place of a recording: `line 3: messages[4].role: why`."""
    return InvalidInput(
        ": ".join(part for part in (where, field, why) if part),
        safe="nothing was run or written",
        next=next or "correct the recording; datasets/README.md says what is read",
    )


class At(NamedTuple):
    """A place: `where` is the line, item or file, `path` the fields below it, `messages[4].content[1]`."""

    where: str
    path: str = ""

    def __truediv__(self, part: str | int) -> At:
        """The place of a field, or of an element, below this one."""
        if isinstance(part, int):
            return self._replace(path=f"{self.path}[{part}]")
        return self._replace(path=f"{self.path}.{part}" if self.path else part)

    def refuse(self, why: str, next: str = "") -> InvalidInput:
        """The error that names this place."""
        return refused(self.where, self.path, why, next)

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.path) if part)


class Model(msgspec.Struct):
    """A model call begins here. Those with the same `joins` are one; `+` joins whatever the model did just before."""

    at: At
    joins: str = ""


class Said(msgspec.Struct):
    """Words of the model."""

    text: str


class Asked(msgspec.Struct, kw_only=True):
    """A call, stated in `field` of its message. `unreadable` are arguments that are no JSON object, as text.

    `continues` is the id of a call asked for earlier of which this is the execution, as after an approval.
    """

    at: At
    id: str
    name: str
    arguments: dict[str, Any]
    unreadable: str = ""
    field: str = ""
    shape: str = ""
    continues: str = ""
    notes: list[str] = msgspec.field(default_factory=list)


class Answer(msgspec.Struct, kw_only=True):
    """A result. `error` says that it is marked as one; `outcome` is set where the recording itself names it."""

    at: At
    id: str
    name: str = ""
    text: str
    error: bool = False
    outcome: str = ""
    field: str = ""
    shape: str = ""


class Between(msgspec.Struct):
    """Something that is no word of the model: a user's message, a system prompt."""


Entry = Model | Said | Asked | Answer | Between
Reader = Callable[[At, dict[str, Any]], list[Entry]]
"""Reads one part, item or event; raises InvalidInput with its place when it does not fit."""


def expected(at: At, value: Any, *kinds: type) -> Any:
    """`value` when it is of one of these JSON types; raise InvalidInput otherwise."""
    if isinstance(value, kinds) and not (isinstance(value, bool) and bool not in kinds):
        return value
    wanted = " | ".join(JSON_TYPES[kind] for kind in kinds)
    raise at.refuse(f"Expected `{wanted}`, got `{JSON_TYPES.get(type(value), type(value).__name__)}`")


def the(at: At, holder: dict[str, Any], *names: str, default: Any = "") -> Any:
    """The first of these fields that is there and not null, checked to be text when `default` is text."""
    for name in names:
        if (value := holder.get(name)) is not None:
            return expected(at / name, value, str) if isinstance(default, str) else value
    return default


def kind_of(holder: dict[str, Any], name: str = "type") -> str:
    """What an object says that it is; empty where it says nothing that could be a kind."""
    value = holder.get(name)
    return value if isinstance(value, str) else ""


def id_of(at: At, holder: dict[str, Any], *names: str) -> str:
    """The id in the first of these fields, as text; empty where there is none."""
    for name in names:
        if (value := holder.get(name)) not in (None, ""):
            text = str(expected(at / name, value, str, int))
            return text if len(text) <= MAX_NAME and text.isprintable() else named(at / name, text)
    return ""


def named(at: At, text: Any) -> str:
    """`text` when it can be a name; raise InvalidInput otherwise."""
    expected(at, text, str)
    if not text.strip() or len(text) > MAX_NAME or not text.isprintable():
        raise at.refuse(f"{text[:80]!r} is not a name: expected 1 to {MAX_NAME} printable characters")
    return str(text)


def asked(at: At, id: str, name: Any, arguments: Any, *, free: bool = False, name_at: At | None = None) -> Asked:
    """A call. Arguments are an object or JSON text of one; nothing counts as none, `free` text as an argument."""
    twice: list[str] = []
    given, unreadable = _object(arguments, free, twice)
    notes = [f"its arguments state {name!r:.80} twice; the last one is read" for name in twice[:1]]
    name = named(name_at or at / "name", name)
    return Asked(at=at, id=id, name=name, arguments=given, unreadable=unreadable, notes=notes)


def _object(given: Any, free: bool, twice: list[str]) -> tuple[dict[str, Any], str]:
    if given is None or (isinstance(given, str) and not given.strip() and not free):
        return {}, ""
    if isinstance(given, dict):
        return given, ""
    if free and isinstance(given, str):
        return {"input": given}, ""
    if isinstance(given, str):
        try:
            read = json.loads(given, object_pairs_hook=lambda pairs: _last(pairs, twice))
            json.dumps(read, ensure_ascii=False).encode()  # half a character cannot be stored
        except (ValueError, RecursionError):
            return {}, given
        return (read, "") if isinstance(read, dict) else ({}, given)
    return {}, as_text(given)


def _last(pairs: list[tuple[str, Any]], twice: list[str]) -> dict[str, Any]:
    """The object, as JSON readers make it; names that it states more than once go into `twice`."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice += [name for name in found if names.count(name) > 1]
    return found


def as_text(value: Any) -> str:
    """A result as text: text as it is, content parts by their text or `[kind]`, anything else as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list) and value and all(isinstance(part, str) or _is_part(part) for part in value):
        return "\n".join(part if isinstance(part, str) else _part_text(part) for part in value)
    if isinstance(value, dict) and _is_part(value) and isinstance(value.get("text"), str):
        return _part_text(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _is_part(part: Any) -> bool:
    """Whether this is one part of a content: typed, or Bedrock's with a single known key."""
    if not isinstance(part, dict):
        return False
    return isinstance(part.get("type"), str) or (len(part) == 1 and set(part) <= BARE_PARTS)


BARE_PARTS = {"text", "json", "image", "document", "video", "searchResult"}


def _part_text(part: dict[str, Any]) -> str:
    for name in ("text", "json", "value"):
        if part.get(name) is not None:
            return as_text(part[name])
    return f"[{part.get('type') or next(iter(part))}]"


def in_field(entries: Iterable[Entry], field: str) -> list[Entry]:
    """The entries, each call and result marked as stated in this field of its message."""
    found = list(entries)
    for entry in found:
        if isinstance(entry, Asked | Answer):
            entry.field = field
    return found
