"""The recovery decision: what a new process may do about an effect that an old one left behind.

A pure function of the evidence. It follows the recovery gate of the article "AI Agent state persistence: checkpoints,
recovery and side effects" (2026), with `executing`, `rejected` and `compensated` and the waiting states added.
"""

from __future__ import annotations

import msgspec

from labkit.errors import InvalidInput
from labkit.model import TERMINAL, WAITING

DURABILITIES = ("sync", "async", "exit")
EFFECT_STATUSES = ("none", "planned", "executing", "confirmed", "rejected", "ambiguous", "compensated")
SAFE = "no effect was tried"


class Checkpoint(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The evidence: status of the run and of its effect, the key, attempts made and allowed, and who wrote it."""

    status: str
    effect_status: str
    effect_key: str
    attempts: int
    max_attempts: int
    schema_version: int
    workflow_release: str
    durability_mode: str


def decide(checkpoint: Checkpoint) -> str:
    """`execute`, `advance`, `reconcile` or `stop`; raise InvalidInput when the evidence itself cannot be trusted.

    An effect in doubt is reconciled whatever its budget: to ask is no attempt.
    """
    _check(checkpoint)
    if checkpoint.status != "running":
        return "stop"
    if checkpoint.effect_status == "confirmed":
        return "advance"
    if checkpoint.effect_status in ("ambiguous", "executing"):
        return "reconcile" if checkpoint.effect_key else "stop"
    if checkpoint.effect_status == "planned":
        return "execute" if checkpoint.effect_key and checkpoint.attempts < checkpoint.max_attempts else "stop"
    return "stop"


def _check(checkpoint: Checkpoint) -> None:
    if checkpoint.schema_version < 1 or not checkpoint.workflow_release.strip():
        raise InvalidInput(
            f"checkpoint identity is incomplete: schema_version {checkpoint.schema_version} (expected 1 or more), "
            f"workflow_release {checkpoint.workflow_release!r} (expected a release)",
            safe=SAFE,
            next="find the release and schema that wrote this checkpoint",
        )
    if checkpoint.attempts < 0 or checkpoint.max_attempts < 1:
        raise InvalidInput(
            f"bad attempt budget: attempts {checkpoint.attempts} (expected 0 or more), "
            f"max_attempts {checkpoint.max_attempts} (expected 1 or more)",
            safe=SAFE,
            next="correct attempts and max_attempts",
        )
    _one_of("durability_mode", checkpoint.durability_mode, DURABILITIES)
    _one_of("status", checkpoint.status, ("running", *WAITING, "quarantined", *TERMINAL))
    _one_of("effect_status", checkpoint.effect_status, EFFECT_STATUSES)


def _one_of(field: str, found: str, known: tuple[str, ...]) -> None:
    if found not in known:
        raise InvalidInput(
            f"unknown {field} {found!r}: expected one of {', '.join(known)}", safe=SAFE, next=f"correct {field}"
        )


def selftest() -> str:
    """Decide the four textbook checkpoints; return the line that says whether each came out as expected."""
    base = Checkpoint(
        status="running",
        effect_status="planned",
        effect_key="acme/refund/run-7/send",
        attempts=1,
        max_attempts=3,
        schema_version=2,
        workflow_release="refund-3.2.0",
        durability_mode="sync",
    )
    replace = msgspec.structs.replace
    found = {
        "execute": decide(base) == "execute",
        "reconcile": decide(replace(base, effect_status="ambiguous")) == "reconcile",
        "advance": decide(replace(base, effect_status="confirmed")) == "advance",
        "missing_key_stopped": decide(replace(base, effect_key="")) == "stop",
    }
    return " ".join(f"{name}={str(passed).lower()}" for name, passed in found.items())
