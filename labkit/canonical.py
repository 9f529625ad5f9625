"""Bytes and digests by which two requests are compared: the same whatever the order of fields."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import msgspec

_sorted = msgspec.json.Encoder(order="sorted", enc_hook=lambda value: f"<{type(value).__qualname__}>")
_plain = msgspec.json.Decoder()
_NUMBER = re.compile(rb"\d(\.0|[eE])")  # perhaps a float that is a whole number


def canonical(value: Any) -> bytes:
    """JSON bytes that are the same for equal values: fields sorted, 1.0 as 1. What JSON cannot hold counts by its type.

    To compare with, never to be read back into a typed value.
    """
    try:
        body = _sorted.encode(value)
        return _sorted.encode(_whole(_plain.decode(body))) if _NUMBER.search(body) else body
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        return _sorted.encode(f"<{type(value).__qualname__}>")


def _whole(value: Any) -> Any:
    """`value` with whole numbers instead of floats such as 1.0, which a state may have become by being stored."""
    if isinstance(value, dict):
        return {name: _whole(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def request_hash(request: dict[str, Any]) -> str:
    """SHA-256 (hex) of the request in canonical form: sorted keys, no spaces."""
    return hashlib.sha256(msgspec.json.encode(request, order="sorted")).hexdigest()
