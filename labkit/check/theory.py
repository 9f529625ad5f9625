"""What theory expects of a crash, written from the protocols and not from the engines.

The rule table says what one crash in one window does to the effect at hand, for each policy and provider. The
matrix compares it, schedule by schedule, with what was observed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from labkit.check.windows import windows
from labkit.taps import Tap

CLEAN, REPEATS, AMBIGUOUS, IF_TRIED = "clean", "repeats", "ambiguous", "ambiguous if marked as tried"
_SAFE = {"W1": CLEAN, "W2": CLEAN, "W3": CLEAN, "W4": CLEAN, "W5": CLEAN, "between": CLEAN}
_TWICE = {**_SAFE, "W3": REPEATS, "W4": REPEATS}
_NOBODY_KNOWS = {**_SAFE, "W2": IF_TRIED, "W3": AMBIGUOUS, "W4": AMBIGUOUS}

RULES: dict[tuple[str, str], dict[str, str]] = {
    ("bare", "dedup"): _TWICE,  # without a key there is nothing to recognise a repeat by
    ("bare", "lookup"): _TWICE,
    ("bare", "neither"): _TWICE,
    ("keyed", "dedup"): _SAFE,  # the provider returns the first receipt
    ("keyed", "lookup"): _TWICE,  # it could be asked, but nobody asks
    ("keyed", "neither"): _TWICE,
    ("ledger", "dedup"): _SAFE,  # the intent leads to the same key again
    ("ledger", "lookup"): _SAFE,  # the provider is asked before anything is repeated
    ("ledger", "neither"): _NOBODY_KNOWS,  # stops instead of guessing
    ("outbox", "dedup"): _SAFE,
    ("outbox", "lookup"): _SAFE,
    ("outbox", "neither"): _NOBODY_KNOWS,
}
TRACKS = ("ledger", "outbox")  # policies whose own database knows of an effect before it is tried


class Crashed(NamedTuple):
    """One crash of a schedule: the tap, its window in that process, and whether an attempt had been marked."""

    tap: Tap
    window: str
    tried: bool


def possible_crashes(taps: Sequence[Tap]) -> list[Crashed]:
    """Every tap that one process passed, as a crash."""
    tried = [tap.operation == "call" or (tap.operation, tap.phase) == ("attempt", "after") for tap in taps]
    return [Crashed(*crash) for crash in zip(taps, windows(taps), tried, strict=True)]


class Expected(NamedTuple):
    """What theory expects of one schedule."""

    duplicated: bool
    ambiguous: bool
    untracked: bool
    activities_repeated: int
    lost: bool = False  # no protocol here ever closes a run without its effects


FORESEEN = {
    "duplicated": ("no duplicate effect", "the recovered result equals that of a fault-free run"),
    "untracked": ("no untracked effect",),
}


def foreseen(expected: Expected) -> set[str]:
    """The invariants that theory says a schedule breaks; any other that it breaks is unexpected."""
    return {name for count, names in FORESEEN.items() if getattr(expected, count) for name in names}


def expect(
    crashes: Sequence[Crashed], engine: str, policy: str, capability: dict[str, str], activities: dict[str, int]
) -> Expected | None:
    """What should follow from `crashes`, in order; None for a policy that theory has no rules for.

    `capability` says, for each effect's step, what its provider can do; `activities` how many activity calls a step
    makes. An ambiguous effect stops the run, so that later crashes find nothing left to break.
    """
    if (policy, "dedup") not in RULES:
        return None
    duplicated = untracked = False
    repeated = 0
    for crash in crashes:
        step = crash.tap.step
        repeated += _lost_activities(crash.tap, engine, activities)
        if step not in capability or crash.window not in ("W2", "W3", "W4"):
            continue
        outcome = RULES[policy, capability[step]][crash.window]
        if outcome == AMBIGUOUS or (outcome == IF_TRIED and crash.tried):
            return Expected(duplicated, True, untracked, repeated)
        duplicated |= outcome == REPEATS
        untracked |= crash.window in ("W3", "W4") and policy not in TRACKS
    return Expected(duplicated, False, untracked, repeated)


def _lost_activities(tap: Tap, engine: str, activities: dict[str, int]) -> int:
    """Activity results that exist but are not durable at `tap`: a whole step's with snapshots, one with a journal."""
    if tap.phase != "before" or tap.step not in activities:
        return 0
    if engine == "snapshot":
        return activities[tap.step] if tap.operation == "commit" else 0
    return 1 if tap.operation == "record" else 0
