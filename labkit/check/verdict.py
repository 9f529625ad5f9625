"""The one rule for a verdict, and the words for its reasons: simulator, bench, matrix, lab and widget share them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from labkit.check.evidence import Evidence
from labkit.check.repeats import same_request
from labkit.check.windows import places
from labkit.effects.key import effect_of
from labkit.model import TERMINAL, Run
from labkit.taps import Tap

VERDICTS = ("valid", "unknown", "invalid")


class Open(msgspec.Struct):
    """What is unsettled, or `wrong`, about one engine, policy and provider, whatever crashes."""

    engine: str
    policy: str
    provider: str
    reason: str
    wrong: bool = False


def verdict(wrong: Collection[Any], unsettled: Collection[Any] = ()) -> str:
    """`invalid` when something was `wrong`, else `unknown` when something is `unsettled`, else `valid`."""
    return "invalid" if wrong else "unknown" if unsettled else "valid"


def broken_rules(violations: Mapping[str, int]) -> list[str]:
    """Each invariant that was broken, and how often."""
    return [f"{name} ({count}x)" for name, count in violations.items()]


def left_for_a_person(count: int) -> list[str]:
    """One reason when `count` runs wait for a person, none for 0."""
    return [f"an effect was left for a person ({count}x)"] if count else []


def told(found: Iterable[Open]) -> list[str]:
    """A line a reason, with the engines, policies and providers that it is true of."""
    by_reason: dict[str, list[tuple[str, ...]]] = {}
    for each in found:
        by_reason.setdefault(each.reason, []).append((each.engine, each.policy, each.provider))
    return [f"{_names(group)}: {reason}" for reason, group in by_reason.items()]


def _names(group: list[tuple[str, ...]]) -> str:
    return ", ".join(" and ".join(dict.fromkeys(column)) for column in zip(*group, strict=True))


def missing(reference: Evidence, taps: Iterable[Tap]) -> list[str]:
    """What crashes at each of these `taps` cannot tell of the run without a crash that passed them, with its place.

    Empty when that run came to its end and every effect that it made was crashed around.
    """
    end = unreached(reference.run) if reference.run else [f"the run without a crash is {reference.status}"]
    return [*end, *_not_crashed_around(reference, taps)]


def unsettled(known: Evidence) -> list[str]:
    """What keeps one run from `valid` though it broke nothing: where it stopped short, and effects that may be one."""
    return [*(unreached(known.run) if known.run else []), *same_request(known.outside)]


def unreached(run: Run[Any]) -> list[str]:
    """Where a run stopped short of its end: a wait that nothing has ended, or a limit. Empty for one that ended."""
    if run.status not in TERMINAL:
        step = run.next_transition or "its last step"
        return [f"the run is {run.status} in step {step}: {run.reason}; nothing after it was reached"]
    if run.reason.startswith("budget_spent"):
        return [f"the run ended at a limit, {run.reason}; nothing after it was reached"]
    return []


def _not_crashed_around(reference: Evidence, taps: Iterable[Tap]) -> Iterator[str]:
    around = {place.effect for place in places(taps)}
    for name in dict.fromkeys(map(effect_of, reference.executed())):
        if name not in around:
            yield f"effect {name} was made where no crash was tried"
