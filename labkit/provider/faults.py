"""How a provider can be told to misbehave: at the nth call of one operation, in one way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal, get_args

import msgspec

from labkit.errors import EffectRejected, InvalidInput
from labkit.model import Order

What = Literal["refuse", "fail_before", "fail_after", "late"]


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """At the `nth` call (from 1, repeats count) of `operation` at `target`, do `what`.

    `refuse`: turn it down for good with `reason`, one of `EffectRejected.REASONS`. `fail_before`: give no clear
    answer, nothing was done. `fail_after`: do it and give no clear answer. `late`: do it and answer after `seconds`.
    """

    target: str
    operation: str
    nth: int
    what: What
    reason: str = "policy_refused"
    seconds: float = 0.0

    def __post_init__(self) -> None:
        choices = {"what": (self.what, get_args(What)), "reason": (self.reason, EffectRejected.REASONS)}
        for field, (found, known) in choices.items():
            if found not in known:
                raise _refused(f"{field} is {found!r}", f"use one of {', '.join(known)}")
        if self.nth < 1:
            raise _refused(f"nth is {self.nth}", "count calls from 1")
        if not 0 <= self.seconds <= 3600:
            raise _refused(f"seconds is {self.seconds}", "use 0 to 3600")


def _refused(what: str, next: str) -> InvalidInput:
    return InvalidInput(f"a fault was refused: {what}", safe="nothing was changed", next=next)


class Faults:
    """The faults of one world and how often each operation was called so far."""

    def __init__(self, faults: Iterable[Fault], known_targets: Iterable[str]) -> None:
        known = tuple(known_targets)
        self._faults: dict[tuple[str, str, int], Fault] = {}
        for fault in faults:
            place = (fault.target, fault.operation, fault.nth)
            if fault.target not in known:
                raise _refused(f"target is {fault.target!r}", f"use one of {', '.join(known) or 'no target at all'}")
            if place in self._faults:
                raise _refused(f"call {fault.nth} of {fault.target} {fault.operation} has two", "keep one of them")
            self._faults[place] = fault
        self._calls: Counter[tuple[str, str]] = Counter()

    def next(self, order: Order) -> Fault | None:
        """Count the call and return the fault that is due at it, or None."""
        if not self._faults:
            return None
        place = (order.target, order.operation)
        self._calls[place] += 1
        return self._faults.get((*place, self._calls[place]))

    def image(self) -> dict[tuple[str, str], int]:
        """How often each (target, operation) was called, to be given to `restore` later."""
        return dict(self._calls)

    def restore(self, image: dict[tuple[str, str], int]) -> None:
        """Go back to an `image`."""
        self._calls = Counter(image)
