"""The JSON values in a text: lines, one value over many lines, or several one after another, each with its line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from labkit.trajectory.shapes.entries import refused

SPACE = re.compile(r"\s*")
HALF = re.compile(r"\\u[dD][89a-fA-F]")


class _Twice(ValueError):
    """A field is there twice in one object: one of the two would vanish."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Twice(f"the field {twice[:80]!r} is there twice in one object")
    return found


_decoder = json.JSONDecoder(object_pairs_hook=_object)


def values(text: str, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Each value with its place, `line 3`; raise InvalidInput that names the line of what is no JSON.

    `prefix` stands before each place, as in `runs/a.jsonl: line 3`.
    """
    halves = HALF.search(text)
    at, line = SPACE.match(text, 0).end(), 1  # type: ignore[union-attr]
    line += text.count("\n", 0, at)
    while at < len(text):
        where = f"{prefix}line {line}"
        try:
            value, end = _decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise _unreadable(where, text, at, error) from None
        if halves:
            _check_halves(where, value)
        yield where, value
        following = SPACE.match(text, end).end()  # type: ignore[union-attr]
        if following < len(text) and following == end and text[end - 1].isalnum():
            raise refused(where, "", "is not JSON: a value must end before the next begins")
        line += text.count("\n", at, following)
        at = following


def _unreadable(where: str, text: str, at: int, error: Exception) -> Exception:
    if isinstance(error, _Twice):
        return refused(where, "", str(error), "leave one of the two")
    found = getattr(error, "pos", at)
    rest = text[found:].strip()
    cut = not rest or (str(error).startswith("Unterminated string") and "\n" not in text[found:].rstrip("\n"))
    if text[at] == "[":
        return refused(where, "", f"the JSON array that begins here cannot be read: {_why(error, text, cut)}")
    if cut:
        why = "the record ends in the middle: what was recorded last is not known"
        return refused(where, "", why, "complete the record; if you take it out, what it asked for stays unknown")
    return refused(where, "", f"is not JSON: {_why(error, text, cut)}", "complete the record or take it out")


def _why(error: Exception, text: str, cut: bool) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if cut:
        return "it ends in the middle"
    return f"{getattr(error, 'msg', error)}, at line {text.count(chr(10), 0, getattr(error, 'pos', 0)) + 1}"


def _check_halves(where: str, value: Any) -> None:
    """Raise InvalidInput for an escaped half of a character: it cannot be printed or stored."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise refused(where, "", "is not JSON: it holds half a character (a lone surrogate)") from None
