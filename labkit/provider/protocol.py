"""What a caller sees of the outside world: `World`, and the `Entry` that it keeps of everything that happened.

Taps are passed on the caller's side, with the label that the caller gives: `before` just before sending, `executed`
when the provider has done it and has not answered yet, `after` when the caller knows how the call ended (answer,
refusal, or no clear answer). A refused call, or one that failed before it was done, has no `executed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from labkit.model import ActivityCall, Order, Receipt

PATIENCE = 2.0
"""Seconds that a caller waits for an answer before the outcome counts as unknown."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One line of a provider's ledger. `seq` counts from 1 without gaps; `at` is ISO 8601 text.

    `kind` is `effect` (done), `refused` (an order turned down for good), `compensation` (an effect undone) or
    `activity` (a call that is safe to repeat). `receipt_id` is empty for `refused` and `activity`. An activity has
    its name as `operation` and no target; a compensation carries the subject of the effect that it undoes and
    `{"receipt_id": ...}` of that effect as its request. `identity` is the order's business identity, if it has one.
    """

    seq: int
    kind: Literal["effect", "activity", "compensation", "refused"]
    target: str
    operation: str
    key: str | None
    subject: str
    request: dict[str, Any]
    receipt_id: str
    at: str
    identity: str = ""


class FaultsImage(NamedTuple):
    """What the faults of a world remember: how often each target and operation was called (no operation: how many calls
    the target will still miss), and how the last call for a subject ended that got no answer, `unclear` or `away`."""

    calls: tuple[tuple[str, str, int], ...] = ()
    heard: Mapping[str, str] = MappingProxyType({})


class World(Protocol):
    """The outside world as a caller sees it. A target that the world does not have raises InvalidInput everywhere."""

    @property
    def drift(self) -> bool:
        """Whether model stand-ins should answer differently on a second call."""
        ...

    def capability(self, target: str) -> str:
        """What `target` can do about repeats: `dedup`, `lookup` or `neither`."""
        ...

    def note_activity(self, subject: str, name: str) -> ActivityCall:
        """Write down that the activity `name` is called for `subject`; return how often that was so far. No taps."""
        ...

    def call(self, order: Order) -> Receipt:
        """Have an effect done; return the receipt. Taps `order.label` before, executed, after.

        A `dedup` target answers a key that it has executed with the first receipt and writes nothing; the same key
        with another operation or request is rejected as `invalid_request`. Raise EffectRejected (for good, nothing
        done, written as `refused`), EffectUnknown (it may or may not have been done) or ProviderAway (nobody was
        there, nothing was done).
        """
        ...

    def lookup(self, target: str, key: str, label: str) -> Receipt | None:
        """Ask a `lookup` target what it did first under `key`; None when it did nothing. Taps before, after.

        Raise Unsupported for a target of another capability, EffectUnknown without a clear answer, ProviderAway
        when nobody is there.
        """
        ...

    def compensate(self, target: str, receipt_id: str, label: str) -> Receipt:
        """Undo the effect with this receipt, once: a repeat returns the first receipt. Taps like a call.

        Raise EffectRejected `gone` when the target knows no such receipt, EffectUnknown without a clear answer,
        ProviderAway when nobody is there.
        """
        ...

    def remembered(self) -> FaultsImage:
        """What it knows of calls because it is told to misbehave; nothing, for any other world."""
        ...

    def entries(self) -> list[Entry]:
        """Everything that happened, oldest first."""
        ...
