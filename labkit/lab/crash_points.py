"""Where a crash may be, said so that it holds for every engine and policy: a window of an effect, or a tap by name.

Each engine has its own tap of a window, or none. Here is the only place that says which.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from labkit.check.windows import places
from labkit.taps import Tap

LAST_OF = ("W1", "W2")  # of these windows the last tap is meant by the window's name, of the others the first
OF = re.compile(r"(W[1-5]) of (\S+)", re.IGNORECASE)
ALIKE = {"before": "before the", "executed": "when the provider had done the", "after": "after the"}
LACKS_WINDOW, LACKS_TAP = "has no {at} of {effect}", "does not pass {at}"


class CrashPoint(NamedTuple):
    """`at` is a window of `effect`, or a tap by name and `effect` is empty.

    An effect is named as in taps, `pay` or `pay/2`; when a process comes to it for the nth time, as in a loop, `pay#n`.
    """

    at: str
    effect: str = ""

    def __str__(self) -> str:
        return f"{self.at} of {self.effect}" if self.effect else self.at

    @classmethod
    def parse(cls, text: str) -> CrashPoint:
        """Read what `str` wrote; any other text is taken for a tap."""
        found = OF.fullmatch(text)
        return cls(found[1].upper(), found[2]) if found else cls(text)

    @property
    def words(self) -> str:
        """The same in words: `W3 of pay`, `before the 2nd record of load_case`."""
        if self.effect:
            return str(self)
        tap = Tap.parse(self.at)
        name = tap.label.removeprefix(f"{tap.step}/").replace("/", " ")
        nth = f"{_ordinal(tap.occurrence)} " if tap.occurrence > 1 else ""
        owner = "the run" if tap.step == "run" else tap.step
        return f"{ALIKE[tap.phase]} {nth}{name} of {owner}"

    @property
    def place(self) -> str:
        """Its effect, `pay` or `pay/2`, or the step in which a tap outside of effects is."""
        tap = None if self.effect else Tap.parse(self.at)
        return self.effect.split("#")[0] if tap is None else tap.effect or tap.step

    @property
    def lacks(self) -> str:
        """What is said of an engine that has no such point."""
        return (LACKS_WINDOW if self.effect else LACKS_TAP).format(at=self.at, effect=self.effect)


def crash_points(taps: Sequence[Tap]) -> dict[CrashPoint, int]:
    """Every point of a process, in order, with the index of the tap at which the process dies for it.

    A window of an effect is one point, whatever number of taps it has; outside of effects each tap is one.
    """
    found: dict[CrashPoint, int] = {}
    for at, point in enumerate(points(taps)):
        if point.at in LAST_OF or point not in found:
            found[point] = at
    return dict(sorted(found.items(), key=lambda each: each[1]))


def points(taps: Sequence[Tap]) -> list[CrashPoint]:
    """For each tap the window of an effect that it is in, or itself outside of effects."""
    found = []
    for tap, (window, effect, visit) in zip(taps, places(taps), strict=True):
        again = f"#{visit}" if visit > 1 else ""
        found.append(CrashPoint(window, effect + again) if effect else CrashPoint(str(tap)))
    return found


def find(taps: Sequence[Tap], point: CrashPoint) -> int | None:
    """The index of the tap at which a process dies for this point; None when it has no such point."""
    known = crash_points(taps)
    if point in known:
        return known[point]
    return next((at for at, tap in enumerate(taps) if not point.effect and str(tap) == point.at), None)


def effects_of(taps: Sequence[Tap]) -> list[str]:
    """The effects that a process comes to, in order, each as a point names it."""
    return list(dict.fromkeys(point.effect for point in points(taps) if point.effect))


def _ordinal(number: int) -> str:
    """`2nd`, `3rd`, `4th`, `11th`."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
