"""One call stated twice: in several fields of one message, or again by a later record of the same history."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from labkit.trajectory.shapes.entries import Answer, Asked, Entry, Model, Said

FIRST = (
    *("tool_calls", "function_call", "toolInvocations", "invalid_tool_calls", "parts", "content"),
    *("additional_kwargs", "tool_call_chunks", "raw_data"),
)
"""Where several fields state a call, the earliest of these is the one that counts."""


def stated_once(entries: list[Entry]) -> list[Entry]:
    """The entries of one message without those calls and results that another field states, too."""
    fields = sorted({e.field for e in entries if isinstance(e, Asked | Answer)}, key=FIRST.index)
    if len(fields) < 2:
        return entries
    kept: list[Asked | Answer] = []
    for field in fields:
        own = [entry for entry in entries if isinstance(entry, Asked | Answer) and entry.field == field]
        taken: list[int] = []
        for entry in own:
            twin = next((k for k in kept if id(k) not in taken and _same(k, entry)), None)
            if twin is None:
                continue
            taken.append(id(twin))
            _join(twin, entry)
            entries = [each for each in entries if each is not entry]
        kept += [entry for entry in own if any(each is entry for each in entries)]
    return entries


def _same(one: Asked | Answer, other: Asked | Answer) -> bool:
    """Whether two fields mean one call: the same name and id; without ids, the same arguments."""
    if isinstance(one, Answer) or isinstance(other, Answer):
        return isinstance(one, Answer) and isinstance(other, Answer) and (one.id, one.text) == (other.id, other.text)
    if one.name != other.name:
        return False
    return one.id == other.id if one.id and other.id else key_of(one)[2] == key_of(other)[2]


def _join(kept: Asked | Answer, other: Asked | Answer) -> None:
    """Let the call that is kept take what only the other one says."""
    kept.id = kept.id or other.id
    if isinstance(kept, Answer) or isinstance(other, Answer) or key_of(kept)[2] == key_of(other)[2]:
        return
    if not kept.arguments and not kept.unreadable:
        kept.arguments, kept.unreadable = other.arguments, other.unreadable
    elif other.arguments:
        kept.notes.append(f"stated with other arguments at {other.at.path or other.at}")


def key_of(call: Asked) -> tuple[str, str, str]:
    """What a call states: id, name, and arguments in one spelling."""
    said = call.unreadable or json.dumps(call.arguments, sort_keys=True, default=str)
    return call.id, call.name, said


class History:
    """What several records of one growing history state, each message, call and result once.

    A later record repeats what was there: what it states more often than all before did is new.
    """

    def __init__(self) -> None:
        self.seen: Counter[tuple[str, ...]] = Counter()

    def restate(self, messages: Iterable[list[Entry]]) -> list[Entry]:
        """What the messages of one record state that was not stated before."""
        here: Counter[tuple[str, ...]] = Counter()
        new: list[Entry] = []
        for entries in messages:
            stated = [entry for entry in entries if isinstance(entry, Asked | Answer)]
            spoke = any(isinstance(entry, Model) for entry in entries)
            said = ("said", *(entry.text for entry in entries if isinstance(entry, Said)))
            if not stated and spoke:
                new += entries if self._is_new(said, here) else []
                continue
            kept = [entry for entry in stated if self._is_new(key_of_entry(entry), here)]
            if kept:
                new += [e for e in entries if not isinstance(e, Asked | Answer) or any(e is each for each in kept)]
        return new

    def _is_new(self, key: tuple[str, ...], here: Counter[tuple[str, ...]]) -> bool:
        here[key] += 1
        if here[key] <= self.seen[key]:
            return False
        self.seen[key] += 1
        return True


def key_of_entry(entry: Asked | Answer) -> tuple[str, ...]:
    """What a call or a result states, to tell whether another one states the same."""
    if isinstance(entry, Asked):
        return ("asked", *key_of(entry))
    return ("answer", entry.id or f"by name {entry.name}", entry.text)
