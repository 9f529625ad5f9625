"""Which crash window a tap is in. Read from the taps that one process passed, never from an engine.

W1 before the intent is committed; W2 intent committed, not yet called; W3 executed at the provider, reply lost;
W4 reply received, result not yet committed; W5 result committed. Everything else is `between`. Where a policy keeps no
intent, W1 is the moment after the commit before, and W2 what follows until the call arrives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from labkit.taps import Tap

# In words that also hold for a policy that notes nothing before it calls.
MEANING = {
    "W1": "before the call is noted",
    "W2": "about to call, not yet called",
    "W3": "executed at the provider, reply lost",
    "W4": "reply received, result not yet committed",
    "W5": "result committed",
    "between": "no effect at hand",
}
WINDOWS = tuple(MEANING)
INTENT = ("intent", "attempt", "cleared")
PROVIDER_CALLS = ("call", "lookup")
DELIVERS = ("attempt", "lookup")  # what an outbox begins with when it delivers after the commit


class Place(NamedTuple):
    """Where a tap is: its window, and the effect (`pay` or `pay/2`) that this is a window of; empty when `between`.

    `visit` counts the times that this effect has come up in the process, from 1: a loop makes it again.
    """

    window: str
    effect: str = ""
    visit: int = 0

    @property
    def step(self) -> str:
        """The step that makes the effect."""
        return self.effect.split("/")[0]


BETWEEN = Place("between")


def windows(taps: Iterable[Tap]) -> list[str]:
    """The window of each tap that one process passed, in order; see `places`."""
    return [place.window for place in places(taps)]


def places(taps: Iterable[Tap]) -> list[Place]:
    """The place of each tap that one process passed, in order.

    The effects are those whose provider was called. The writes of a step belong to the effect that is being made in it,
    or is made next. The write that leads into an effect's step is W1 of that effect, unless it is W5 of one before.
    """
    passed = list(taps)
    own = _own(passed)
    ahead = _ahead(passed, own)
    reached: dict[tuple[str, int], str] = {}
    found: list[Place] = []
    at = BETWEEN
    for index, tap in enumerate(passed):
        if tap.step == "run":
            found.append(_leads_in(passed, index, ahead))
            continue
        delivers = tap.operation == "commit" and _delivers(passed, index)
        mine = own[index] or (ahead[index] if delivers else None)
        if mine:
            at = mine
        elif at.step != tap.step:
            at = ahead[index] or BETWEEN
        if at is BETWEEN:
            found.append(_leads_in(passed, index, ahead))
            continue
        window = window_after(tap, reached.get(at[1:], "W1"), delivers=delivers)
        found.append(at._replace(window=window))
        reached[at[1:]] = window
        if delivers and tap.phase == "after":
            reached |= {place[1:]: "W2" for place in _delivered(own[index + 1 :])}
        elif tap.operation == "commit" and tap.phase == "after":
            at = BETWEEN
    return found


def window_after(tap: Tap, window: str, *, delivers: bool = False) -> str:
    """The window of an effect at `tap`, when it was in `window` before; its step `delivers` after a commit."""
    if tap.operation == "call":
        return {"before": "W2", "executed": "W3", "after": "W4"}[tap.phase]
    if tap.phase == "before" or tap.operation in ("lookup", "wait"):
        return window
    if tap.operation == "doubt":
        return "W3"
    return "W2" if tap.operation in INTENT or delivers else "W5"


def acknowledged(taps: Iterable[Tap]) -> list[str]:
    """The steps whose commit was acknowledged."""
    return [tap.step for tap in taps if tap.phase == "after" and tap.operation == "commit"]


def _own(taps: Sequence[Tap]) -> list[Place | None]:
    """For each tap of an effect whose provider is called, that effect at its first window.

    The effect comes up again with its next intent, and after a commit of the step that followed its call.
    """
    visit: dict[str, int] = {}
    called: set[tuple[str, int]] = set()
    closed: set[str] = set()  # effects that were called, and whose step was committed since
    names: list[tuple[str, int]] = []
    for tap in taps:
        effect = tap.effect
        if effect:
            new = effect in closed or (tap.operation, tap.phase) == ("intent", "before")
            visit[effect] = visit.get(effect, 0) + (new or effect not in visit)
            closed.discard(effect)
            if tap.operation in PROVIDER_CALLS:
                called.add((effect, visit[effect]))
        elif tap.operation == "commit" and tap.phase == "after":
            closed.update(
                name for name, nth in visit.items() if name.split("/")[0] == tap.step and (name, nth) in called
            )
        names.append((effect, visit.get(effect, 0)))
    return [Place("W1", *name) if name in called else None for name in names]


def _ahead(taps: Sequence[Tap], own: Sequence[Place | None]) -> list[Place | None]:
    """For each tap, the effect that is made next in the same visit to its step; the step may wait in between."""
    found: list[Place | None] = []
    following: Place | None = None
    for index in range(len(taps) - 1, -1, -1):
        tap = taps[index]
        if own[index]:
            following = own[index]
        elif following and (
            tap.step not in ("run", following.step) or (tap.operation == "commit" and not _delivers(taps, index))
        ):
            following = None
        found.append(following)
    return found[::-1]


def _leads_in(taps: Sequence[Tap], index: int, ahead: Sequence[Place | None]) -> Place:
    """W1 of the effect whose step comes next, for the durable write after which only that step comes."""
    after = index + 1
    leads = taps[index].phase == "after" and after < len(taps) and taps[after].step != "run"
    return (ahead[after] if leads else None) or BETWEEN


def _delivers(taps: Sequence[Tap], index: int) -> bool:
    """True for a commit after which the step's effects are delivered."""
    following = taps[index + 1 : index + 3]
    after = [tap for tap in following if tap.operation != "commit"][:1]
    return bool(after) and after[0].step == taps[index].step and after[0].operation in DELIVERS


def _delivered(own: Sequence[Place | None]) -> Iterator[Place]:
    """The effects that are delivered one after the other, those of the first one's step."""
    first = own[0]
    for place in takewhile(bool, own):
        if place and first and place.step == first.step:
            yield place
