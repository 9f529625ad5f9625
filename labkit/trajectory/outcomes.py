"""How a result ended its call, judged by its text."""

from __future__ import annotations

import re

import msgspec

ERROR_TEXT = re.compile(r"\s*error\b", re.I)
UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError)


def outcome_of(text: str, *, marked_error: bool) -> str:
    """One of `answered` and `failed`: it is marked as an error, its text begins with "error", or its JSON says so.

    JSON says so by an `error` that holds anything, or by a true `is_error` or `isError`.
    """
    if marked_error or ERROR_TEXT.match(text):
        return "failed"
    if not text.lstrip().startswith("{"):
        return "answered"
    try:
        answer = msgspec.json.decode(text)
    except UNREADABLE:
        return "answered"
    marked = answer.get("error") or True in (answer.get("is_error"), answer.get("isError"))
    return "failed" if marked else "answered"
