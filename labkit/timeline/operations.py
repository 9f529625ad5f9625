"""Taps turned into operations: what a process did, in order, and what was happening outside meanwhile."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable
from itertools import chain, pairwise
from operator import itemgetter

import msgspec

from labkit.check.repeats import marks
from labkit.check.windows import windows
from labkit.effects.ledger import Entry as Effect
from labkit.provider.protocol import Entry
from labkit.timeline.trace import ProcessTrace

OUTSIDE = ("call", "lookup", "compensate")  # operations of a provider; every other one is a transaction
LEDGER_AFTER = {"intent": "planned", "attempt": "executing", "confirm": "confirmed", "doubt": "ambiguous"}
LEDGER_AFTER |= {"cleared": "planned", "wait": "ambiguous", "compensated": "compensated"}


class Happening(msgspec.Struct, kw_only=True):
    """One entry of the provider's ledger on the timeline; `mark` is empty, `duplicate`, `question` or `again`."""

    seq: int
    kind: str
    text: str
    mark: str = ""


class Operation(msgspec.Struct, kw_only=True):
    """One transaction or call of a step. `group` is the step that it is drawn with, `nth` counts repeats there.

    `effect` is the effect that it belongs to, `pay` or `pay/2`, or the step.
    `done` says whether it was seen to its end: committed, or answered. `ledger` is what our effect ledger says from
    then on, empty when it says nothing new.
    """

    group: str
    step: str
    effect: str
    name: str
    nth: int = 1
    taps: list[str]
    windows: list[str]
    done: bool = False
    ledger: str = ""
    outside: list[Happening] = msgspec.field(default_factory=list)

    @property
    def executed(self) -> bool:
        """Whether the provider got as far as doing it."""
        return any(":executed#" in tap for tap in self.taps)

    @property
    def repeated(self) -> bool:
        """Whether the provider recognised the call and did nothing new."""
        return self.executed and not any(each.kind != "activity" for each in self.outside)

    @property
    def text(self) -> str:
        """What it was, and whether it was seen to its end."""
        if self.done:
            return self.name
        if self.name not in OUTSIDE:
            return f"{self.name}: not committed"
        return f"{self.name}: reply lost" if self.executed else f"{self.name}: no reply"


def operations(process: ProcessTrace, later: Iterable[ProcessTrace]) -> list[Operation]:
    """The operations of one process, in order.

    The `later` processes finish what it could not, and so tell which of its taps led to a call.
    """
    taps = [passed.tap for passed in process.passed]
    following = [passed.tap for other in later for passed in other.passed if passed.tap.step != "run"]
    found: list[Operation] = []
    open_: dict[str, Operation] = {}
    for tap, window in zip(taps, windows([*taps, *following]), strict=False):
        operation = open_.get(tap.label)
        if operation is None or tap.phase == "before":
            operation = Operation(
                group=tap.step, step=tap.step, effect=tap.effect or tap.step, name=tap.operation, taps=[], windows=[]
            )
            open_[tap.label] = operation
            found.append(operation)
        operation.taps.append(str(tap))
        operation.windows.append(window)
        operation.done = tap.phase == "after"
    _group(found)
    return found


def follow_ledger(made: list[list[Operation]], known: Collection[str]) -> None:
    """Say at each operation what our ledger says from then on; `known` are the effects that it has."""
    planned: set[str] = set()
    for operation in chain.from_iterable(made):
        if operation.done and operation.effect in known:
            operation.ledger = LEDGER_AFTER.get(operation.name, "")
            if operation.name in ("commit", "reject") and operation.effect not in planned:
                operation.ledger = "planned"  # an outbox without a journal plans with the commit
            planned.add(operation.effect)


def _group(found: list[Operation]) -> None:
    """Draw operations of the run as a whole (begin, claim, approve) with the step that follows, and count repeats."""
    for before, after in pairwise(reversed(found)):
        if after.group == "run":
            after.group = before.group
    for before, after in pairwise(found):
        if after.group == "run":
            after.group = before.group
    seen: Counter[tuple[str, str]] = Counter()
    for operation in found:
        seen[operation.group, operation.name] += 1
        operation.nth = seen[operation.group, operation.name]


def settle(made: list[list[Operation]], effects: list[Effect]) -> None:
    """Say what taps alone do not tell: that a call was refused, and what a person resolved."""
    final = {entry.effect: entry.status for entry in effects}
    flat = [operation for operations in made for operation in operations]
    for at, operation in enumerate(flat):
        if operation.ledger == "confirmed" and final[operation.effect] == "rejected":
            operation.ledger = "rejected"
        if operation.name == "resolve" and operation.done and operation.group in final:
            tried = any((later.step, later.name) == (operation.group, "attempt") for later in flat[at + 1 :])
            operation.ledger = "planned" if tried else final[operation.group]


def place(entries: list[Entry], processes: list[ProcessTrace], made: list[list[Operation]]) -> None:
    """Give each operation what happened outside meanwhile: an effect at its call, an activity at the next write.

    Both clocks are this machine's, so the times tell the order.
    """
    moments = [
        (passed.at, process.number, operation)
        for process, operations in zip(processes, made, strict=True)
        for passed, operation in zip(process.passed, (each for each in operations for _ in each.taps), strict=True)
    ]
    moments.sort(key=itemgetter(0))
    times = [at for at, _, _ in moments]
    seen: Counter[tuple[str, str]] = Counter()
    twice = marks(entries)
    for entry in entries:
        seen[entry.kind, entry.subject] += 1
        after = bisect_right(times, entry.at)
        place = max(after - 1, 0)
        if entry.kind == "activity" and after < len(moments) and moments[after][1] == moments[place][1]:
            place = after
        if moments:
            moments[place][2].outside.append(_happening(entry, seen[entry.kind, entry.subject], twice))


def _happening(entry: Entry, repeat: int, twice: dict[int, str]) -> Happening:
    mark = twice.get(entry.seq, "") if repeat == 1 else {"activity": "again", "effect": "duplicate"}.get(entry.kind, "")
    return Happening(seq=entry.seq, kind=entry.kind, text=describe(entry), mark=mark)


def describe(entry: Entry) -> str:
    """One entry of the provider's ledger in a few words."""
    if entry.kind == "activity":
        return entry.operation
    amount = " ".join(str(entry.request[name]) for name in ("amount", "currency") if name in entry.request)
    what = f"{entry.operation} {amount}".rstrip()
    return f"{what} → {entry.receipt_id}" if entry.receipt_id else f"{entry.target} {what}: refused"
