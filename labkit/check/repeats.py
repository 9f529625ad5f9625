"""Effects that one run made more than once for the customer, each under a key of its own.

Where a business identity is declared, that is a duplicate. Where none is, two equal requests are a question: they may
be meant.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from labkit.asked import asked_of, shown
from labkit.canonical import canonical
from labkit.effects.key import effect_of
from labkit.provider.protocol import Entry


def same_identity(entries: Iterable[Entry]) -> list[str]:
    """Each business identity for which one run made several effects that still stand, with their places and keys."""
    return [
        f"{identity} happened {len(group)} times in run {run}: {_places(group)}"
        for (run, identity), group in _several(entries, lambda entry: entry.identity).items()
    ]


def same_request(entries: Iterable[Entry]) -> list[str]:
    """A question for each request that one run sent several times, with places and keys, unless each time a business
    identity was declared."""
    return [
        f"{group[0].target}.{group[0].operation} with {shown(asked_of(group[0].request))} happened {len(group)} times "
        f"in run {run}: {_places(group)}; once_per says whether they are one effect"
        for (run, _), group in _undeclared(entries).items()
    ]


def marks(entries: Iterable[Entry]) -> dict[int, str]:
    """`duplicate` or `question` for each effect that these two are about, by its number; none for the first of each."""
    kept = list(entries)
    found = {each.seq: "question" for group in _undeclared(kept).values() for each in group[1:]}
    again = _several(kept, lambda entry: entry.identity)
    return found | {each.seq: "duplicate" for group in again.values() for each in group[1:]}


def _undeclared(entries: Iterable[Entry]) -> dict[tuple[str, Hashable], list[Entry]]:
    """Equal requests of one run, unless each of them says by its identity what makes it one effect."""
    alike = _several(entries, lambda each: (each.target, each.operation, canonical(each.request)))
    return {key: group for key, group in alike.items() if not all(each.identity for each in group)}


def _several(entries: Iterable[Entry], alike: Callable[[Entry], Hashable]) -> dict[tuple[str, Hashable], list[Entry]]:
    """The effects that still stand by run and by what makes them `alike`, where there are several.

    One that was executed again under its own name counts once: that is another finding.
    """
    kept = list(entries)
    undone = {(each.target, each.request.get("receipt_id")) for each in kept if each.kind == "compensation"}
    first = {
        each.subject: each
        for each in reversed(kept)
        if each.kind == "effect" and (each.target, each.receipt_id) not in undone
    }
    if len({(each.target, each.operation) for each in first.values()}) == len(first):
        return {}  # the usual case, quickly
    found: dict[tuple[str, Hashable], list[Entry]] = {}
    for each in sorted(first.values(), key=lambda entry: entry.seq):
        what = alike(each)
        if what:
            found.setdefault((each.subject.partition("/")[0], what), []).append(each)
    return {key: group for key, group in found.items() if len(group) > 1}


def _places(group: list[Entry]) -> str:
    return " and ".join(
        f"{effect_of(each.subject)} ({each.subject}, {f'key {each.key}' if each.key else 'no key'})" for each in group
    )
