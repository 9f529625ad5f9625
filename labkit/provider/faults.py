"""How a call goes wrong while the process lives: the provider misbehaves at the nth call of an operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal, get_args

import msgspec

from labkit.errors import EffectRejected, InvalidInput, known
from labkit.model import Order
from labkit.provider.protocol import PATIENCE, FaultsImage

CALL_FAULTS: dict[str, str] = {
    "timeout_before": "time-out before: no answer comes, and the provider has done nothing",
    "timeout_after": "time-out after: the provider has done it, and its answer comes when nobody waits any more",
    "refused": "refused: the provider turns the call down, nothing was done, and the caller knows it",
    "reply_lost": "reply lost: the provider has done it, and the connection ends before its answer",
    "reply_twice": "reply twice: a proxy or a queue delivers the call twice; both are answered, one answer is heard",
    "away": "provider away: nobody is there for a while, nothing is done, and the caller knows it",
}
"""What can happen to a call, by name, as a caller meets it.

After `timeout_before`, `timeout_after` and `reply_lost` the caller gets EffectUnknown and cannot tell which of them it
was. `refused` is EffectRejected, `away` is ProviderAway: both are definite, nothing was done. `reply_twice` looks like
success; a provider that does not recognise the key has done it twice.
"""
UNCLEAR = ("timeout_before", "timeout_after", "reply_lost")
"""The faults after which the caller cannot know whether the effect was done."""
AWAY_FOR = 2
"""Calls for which a provider stays away."""

What = Literal[
    "refuse",
    "fail_before",
    "fail_after",
    "late",
    "timeout_before",
    "timeout_after",
    "reply_lost",
    "reply_twice",
    "away",
]


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """At the `nth` call (from 1, repeats count) of `operation` at `target`, do `what`.

    `refuse`: turn it down for good with `reason`, one of `EffectRejected.REASONS`. `fail_before`: answer with an error
    that says nothing, nothing was done. `fail_after`: do it and answer so. `late`: do it and answer after `seconds`.
    `away`: be absent at this and at the next calls of the target and questions about it, `times` in all.
    The others are as `CALL_FAULTS` says. With an `effect`, `position.step` or `position.step.n`, it strikes the first
    call for that one alone, whatever a crash made be called again before; `nth` is where that is without a crash.
    """

    target: str
    operation: str
    nth: int
    what: What
    reason: str = "policy_refused"
    seconds: float = 0.0
    times: int = 1
    effect: str = ""

    def __post_init__(self) -> None:
        choices = {"what": (self.what, get_args(What)), "reason": (self.reason, EffectRejected.REASONS)}
        for field, (found, names) in choices.items():
            if found not in names:
                raise _refused(f"{field} is {found!r}", f"use one of {', '.join(names)}")
        if self.nth < 1:
            raise _refused(f"nth is {self.nth}", "count calls from 1")
        if not 0 <= self.seconds <= 3600:
            raise _refused(f"seconds is {self.seconds}", "use 0 to 3600")
        if self.times not in range(1, 1001) or (self.times > 1 and self.what != "away"):
            raise _refused(f"times is {self.times} with {self.what}", "use 1, or 1 to 1000 with away")


def faults_for(name: str, target: str, operation: str, nth: int, subject: str = "") -> tuple[Fault, ...]:
    """What makes the provider do `name`, one of `CALL_FAULTS`, at the `nth` call of `operation` at `target`.

    With the `subject` of an effect, at the first call for that effect, in whichever run.
    Raise InvalidInput for another name.
    """
    known("call fault", name, CALL_FAULTS)
    effect = subject.partition("/")[2]
    if name == "refused":
        return (Fault(target, operation, nth, "refuse", effect=effect),)
    if name == "away":
        return (Fault(target, operation, nth, "away", times=AWAY_FOR, effect=effect),)
    return (
        msgspec.convert({"target": target, "operation": operation, "nth": nth, "what": name, "effect": effect}, Fault),
    )


def _refused(what: str, next: str) -> InvalidInput:
    return InvalidInput(f"a fault was refused: {what}", safe="nothing was changed", next=next)


class Faults:
    """The faults of one world and how often each operation was called so far."""

    def __init__(self, faults: Iterable[Fault], known_targets: Iterable[str]) -> None:
        names = tuple(known_targets)
        self._faults: dict[tuple[str, str, int], Fault] = {}
        for fault in faults:
            place = (fault.target, fault.operation, fault.nth)
            if fault.target not in names:
                raise _refused(f"target is {fault.target!r}", f"use one of {', '.join(names) or 'no target at all'}")
            if place in self._faults:
                raise _refused(f"call {fault.nth} of {fault.target} {fault.operation} has two", "keep one of them")
            self._faults[place] = fault
        self._calls: Counter[tuple[str, str]] = Counter()
        self.heard: dict[str, str] = {}
        self.count = 0

    def __bool__(self) -> bool:
        return bool(self._faults)

    def next(self, order: Order) -> Fault | None:
        """Count the call and return the fault that is due at it, or None."""
        if not self._faults:
            return None
        place = (order.target, order.operation)
        self.count += 1
        self._calls[place] += 1
        fault = self._due(order, self._calls[place])
        if self.absent(order.target):
            fault = Fault(*place, self._calls[place], "away")
        elif fault and fault.what == "away":
            self._calls[order.target, ""] = fault.times - 1
        self._note(order.subject, fault)
        return fault

    def _due(self, order: Order, nth: int) -> Fault | None:
        """The fault of this call: one for its effect, or one for its number."""
        effect = order.subject.partition("/")[2]
        if effect and any(fault.effect == effect for fault in self._faults.values()):
            own = (order.target, f"{order.operation} {effect}")
            self._calls[own] += 1
            first = self._calls[own] == 1
            same = (each for each in self._faults.values() if each.effect == effect and first)
            return next(
                (each for each in same if (each.target, each.operation) == (order.target, order.operation)), None
            )
        fault = self._faults.get((order.target, order.operation, nth))
        return None if fault and fault.effect else fault

    def _note(self, subject: str, fault: Fault | None) -> None:
        """How the last call for `subject` ended for its caller, unless it got an answer: `unclear` or `away`."""
        what = fault.what if fault else ""
        late = what == "late" and fault is not None and fault.seconds > PATIENCE
        self.heard.pop(subject, None)
        if what == "away":
            self.heard[subject] = "away"
        elif late or what in (*UNCLEAR, "fail_before", "fail_after"):
            self.heard[subject] = "unclear"

    def absent(self, target: str) -> bool:
        """Whether `target` is away at this call or question, which counts as one of those that it misses."""
        place = (target, "")
        if not self._calls[place]:
            return False
        self._calls[place] -= 1
        self.count += 1
        return True

    def image(self) -> FaultsImage:
        """All that is remembered."""
        return FaultsImage(tuple((*place, count) for place, count in self._calls.items()), dict(self.heard))

    def restore(self, image: FaultsImage) -> None:
        """Go back to an `image`."""
        self._calls = Counter({(target, operation): count for target, operation, count in image.calls})
        self.heard = dict(image.heard)
