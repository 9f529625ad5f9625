"""What goes out to the world and what comes back: targets, orders and receipts, activity calls, decisions."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

CAPABILITIES = ("dedup", "lookup", "neither")


class Receipt(msgspec.Struct, kw_only=True):
    """A provider's answer to an effect. `status` is `done`, or `planned` when an outbox will deliver it later."""

    id: str
    status: str = "done"


class Order(msgspec.Struct, kw_only=True):
    """One effect as it is sent to a provider.

    `key` is the effect key, or None when the policy sends none. `subject` names the logical effect so that a
    report can count duplicates; a provider never uses it to recognise a repeat. `label` is the tap label. `identity`
    is the business identity: canonical JSON of target, operation and the fields named in `once_per`, empty without.
    """

    target: str
    operation: str
    request: dict[str, Any]
    subject: str
    label: str
    key: str | None = None
    identity: str = ""


class Target(msgspec.Struct, kw_only=True):
    """An outside system: what it can do about repeats, and what a person does when nobody knows.

    `capability` is `dedup` (a repeated key returns the first receipt), `lookup` (can be asked by key) or `neither`.
    `once_per` names the request fields that make two of its effects one for the customer, `may_change` those that may
    differ from what was recorded when a run goes on with newer code.
    """

    capability: str
    reconcile: str = "look into the target system by hand"
    compensate: str = "no compensation is known"
    once_per: tuple[str, ...] = ()
    may_change: tuple[str, ...] = ()


class ActivityCall(NamedTuple):
    """Handed to an activity as its first argument: `number` counts from 1 how often the world saw this very call.

    The count outlives processes. `drift` says that a model stand-in should answer a second call differently.
    """

    number: int
    drift: bool = False


class Decision(msgspec.Struct, kw_only=True):
    """A person's answer to an approval: `approved`, `edited` (with `changes`) or `rejected`."""

    verdict: str
    by: str
    changes: dict[str, Any] = msgspec.field(default_factory=dict)
