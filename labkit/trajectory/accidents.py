"""What has happened in a recorded run: calls in doubt, effects twice, results nobody asked for, calls never made.

This is read from the recording alone. What a crash would have done to it is another question, asked afterwards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence, Set
from typing import Any

import msgspec

from labkit.trajectory.identity import SameEffect, canonical
from labkit.trajectory.model import Stray, ToolCall, Trajectory

SHORT = 72  # characters of a call or a result in its short form


class Site(msgspec.Struct, kw_only=True):
    """One call: the `turn` (from 1) and `place` where it was asked for, `call` in a short form, and how it ended.

    `said` is the beginning of what stands in the place of its result, `notes` is what the reader found odd about it.
    """

    turn: int
    place: str
    id: str
    tool: str
    call: str
    outcome: str
    said: str = ""
    notes: list[str] = msgspec.field(default_factory=list)

    @property
    def at(self) -> str:
        """Where it stands: `turn 2, messages[3].tool_calls[0]`."""
        return f"turn {self.turn}, {self.place}" if self.place else f"turn {self.turn}"


class Repeat(msgspec.Struct, kw_only=True):
    """One effect that was asked for more than once, in these `calls`.

    Without a rule it is a `question`: equal arguments may be meant. By a rule of `--same-effect` it is a `duplicate`,
    unless all but one of its calls failed: then it is a question still, whether the failed ones did nothing.
    """

    tool: str
    kind: str
    same: str
    calls: list[Site]

    @property
    def duplicate(self) -> bool:
        """Whether it is known to be one effect, made twice."""
        return self.kind == "duplicate"


class StrayResult(msgspec.Struct, kw_only=True):
    """A result that belongs to no call, and `why`: nobody asked for it, or its call has a result already.

    `open` says that it may speak of an effect: its tool is not known to read only.
    """

    place: str
    id: str
    tool: str
    said: str
    why: str
    open: bool


class Happened(msgspec.Struct, kw_only=True):
    """What one recorded run holds, before any crash. `reads_in_doubt` counts the doubtful calls that only read."""

    trajectory: str
    in_doubt: list[Site]
    repeated: list[Repeat]
    strays: list[StrayResult]
    not_made: list[Site]
    reads_in_doubt: int = 0

    @property
    def duplicates(self) -> list[Repeat]:
        """The effects that were made twice, by a rule that a person gave."""
        return [each for each in self.repeated if each.duplicate]

    @property
    def questions(self) -> list[Repeat]:
        """The effects that occur twice, of which the recording does not say whether that is meant."""
        return [each for each in self.repeated if not each.duplicate]

    @property
    def open(self) -> list[str]:
        """Why nothing about this run can be called valid: one text for each kind of doubt; none when all is clear."""
        strays = sum(each.open for each in self.strays)
        counted = [
            (len(self.in_doubt), "call is in doubt in the recording", "calls are in doubt in the recording"),
            (len(self.questions), "effect occurs twice, meant or not", "effects occur twice, meant or not"),
            (strays, "result belongs to no call", "results belong to no call"),
        ]
        return [f"{number} {one if number == 1 else more}" for number, one, more in counted if number]

    @property
    def anything(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.in_doubt or self.repeated or self.strays or self.not_made)


def what_happened(
    trajectory: Trajectory, effects: Set[str] = frozenset(), rules: Sequence[SameEffect] = ()
) -> Happened:
    """What the recording of one run says has happened; without `effects`, every call may be one and is looked at.

    Calls are compared within this run only. A call that was never made is no effect, and repeats none.
    """
    sites = [(site(call, turn), call) for turn, each in enumerate(trajectory.turns, 1) for call in each.calls]
    effect_sites = [(where, call) for where, call in sites if not effects or call.name in effects]
    in_doubt = [where for where, call in effect_sites if call.in_doubt]
    return Happened(
        trajectory=trajectory.id,
        in_doubt=in_doubt,
        repeated=_repeated([(where, call) for where, call in effect_sites if call.made], rules),
        strays=[_stray(stray, trajectory.calls, effects) for stray in trajectory.strays],
        not_made=[where for where, call in sites if not call.made],
        reads_in_doubt=sum(call.in_doubt for _, call in sites) - len(in_doubt),
    )


def site(call: ToolCall, turn: int) -> Site:
    """Where and what a call is, for a report."""
    return Site(
        turn=turn,
        place=call.place,
        id=call.id,
        tool=call.name,
        call=short_call(call),
        outcome=call.outcome,
        said=shortened(call.result or ""),
        notes=call.notes,
    )


def short_call(call: ToolCall) -> str:
    """The call as one line, `pay(order="A-1", amount=49)`; its arguments are cut off where they get long."""
    if call.unreadable:
        return shortened(f"{call.name}({call.unreadable})")
    told = (f"{name}={_json(value)}" for name, value in call.arguments.items())
    return shortened(f"{call.name}({', '.join(told)})", end=")")


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "..."


def shortened(text: str, end: str = "") -> str:
    """The text on one line, without signs that steer a terminal, and cut off behind SHORT characters."""
    line = "".join(sign if sign.isprintable() else " " for sign in text[: 4 * SHORT])
    line = re.sub(r"\s+", " ", line).strip()
    cut = len(line) > SHORT or len(text) > 4 * SHORT
    return line[: SHORT - 3 - len(end)].rstrip() + "..." + end if cut else line


def _repeated(made: Iterable[tuple[Site, ToolCall]], rules: Sequence[SameEffect]) -> list[Repeat]:
    """The groups of calls that are one effect, in the order of their first call."""
    groups: dict[tuple[str, str, str], list[Site]] = {}
    for where, call in made:
        rule = next((rule for rule in rules if rule.key(call)), None)
        key = (str(rule), rule.key(call)) if rule else ("", canonical(call.arguments) + call.unreadable)
        groups.setdefault((call.name, *key), []).append(where)
    return [
        Repeat(tool=tool, kind=_kind(rule, calls), same=rule or "equal arguments", calls=calls)
        for (tool, rule, _), calls in groups.items()
        if len(calls) > 1
    ]


def _kind(rule: str, calls: list[Site]) -> str:
    return "duplicate" if rule and sum(call.outcome != "failed" for call in calls) > 1 else "question"


def _stray(stray: Stray, calls: list[ToolCall], effects: Set[str]) -> StrayResult:
    asked = next((call for call in calls if stray.id and call.id == stray.id), None)
    tool = stray.name or (asked.name if asked else "")
    why = "its call has another result" if asked else "no call in the recording asks for it"
    may_be_effect = not effects or not tool or tool in effects
    return StrayResult(
        place=stray.place, id=stray.id, tool=tool, said=shortened(stray.text), why=why, open=may_be_effect
    )
