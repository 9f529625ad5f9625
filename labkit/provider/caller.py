"""The caller's side of every World: its taps, and what it refuses before anything is sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from labkit.codec import unstorable
from labkit.errors import InvalidInput, LabError, Unsupported
from labkit.taps import tap


@contextmanager
def answering(label: str) -> Iterator[None]:
    """Tap `before` and `after` around one call to a provider, `after` also when the answer is an error.

    A crash passes without a tap: whoever died saw no answer.
    """
    tap(label, "before")
    try:
        yield
    except LabError:
        tap(label, "after")
        raise
    tap(label, "after")


def plain(value: Any) -> bytes:
    """`value` as JSON; raise InvalidInput for what JSON cannot hold, NaN included."""
    try:
        body = msgspec.json.encode(value)
        why = unstorable(value, "the request") if b"null" in body else ""
    except (TypeError, ValueError, RecursionError) as error:
        why = str(error)
    if why:
        raise InvalidInput(
            f"what is to be sent is not plain data: {why}",
            safe="nothing was sent",
            next="send text, numbers, lists and objects only",
        )
    return body


def capability_of(capabilities: Mapping[str, str], target: str) -> str:
    """The capability of `target`; raise InvalidInput, naming the known targets, when it is not one of them."""
    if target not in capabilities:
        raise InvalidInput(
            f"this world has no target {target!r}; it has {', '.join(capabilities) or 'none'}",
            safe="nothing was done",
            next="name one of these, or create the world with this target",
        )
    return capabilities[target]


def require_lookup(capability: str, target: str) -> None:
    """Raise Unsupported unless `target`, which has this `capability`, can be asked by key."""
    if capability != "lookup":
        raise Unsupported(
            f"{target} cannot be asked by key: its capability is {capability!r}",
            safe="nothing was done",
            next="repeat the call with its key at a dedup target; let a person reconcile at any other",
        )
