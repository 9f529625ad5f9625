"""The memory of a simulated process: the author's modules as a fresh import leaves them.

Globals, caches, attributes of classes and functions, default arguments and the variables of closures die with a
process. Here they are put back in place before each simulated process, and what the user's own process has is put
back after it. What a run changed in the user's process before is not the author's and is not taken over.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from itertools import chain
from operator import is_
from typing import Any

from labkit.memory.holders import MISSING, Holder
from labkit.memory.walk import Walk
from labkit.model import Workflow

Contents = Sequence[Any]
_cached = type(functools.lru_cache(len))
_changed: dict[int, tuple[Any, Any, Any]] = {}  # by id of its owner: the owner, what it held before a run, and after
_depth = 0  # how many simulated processes are under way


class Memory:
    """What the functions of `workflow`, and `others` such as an engine's class, can remember.

    `unknown` names what cannot be put back.
    """

    def __init__(self, workflow: Workflow[Any], *others: Any) -> None:
        functions = [*workflow.steps.values(), workflow.begin, workflow.tenant_of, *others]
        found = Walk(functions, _undone)
        self.unknown = found.unknown
        self._holders, self._pristine = found.holders, found.contents
        self._originals, self._by_copy = found.opaque, found.by_copy
        self._views = [view for holder in self._holders for view in holder.views]
        self._hidden = [pair for pair in self._pairs() if not pair[0].views]
        self._sizes: list[int] = []
        self._objects: list[Any] = []

    @contextmanager
    def process(self) -> Iterator[None]:
        """A new process lives while the block runs: it remembers nothing, and what it remembers is gone afterwards."""
        global _depth
        before = None if self._is_fresh() else self.take()
        _depth += 1
        try:
            if before is not None:
                self.put(self.fresh())
                self._learn_by_heart()
            yield
        finally:
            _depth -= 1
            if before is not None or not self._is_fresh():
                self.put(self._pristine if before is None else before)

    def _is_fresh(self) -> bool:
        """True when nothing differs from what a new process remembers. Quick, because most steps remember nothing."""
        return (
            not self._by_copy
            and list(map(len, self._views)) == self._sizes
            and all(map(is_, chain.from_iterable(self._views), self._objects))
            and all(holder.holds(content) for holder, content in self._hidden)
        )

    def _learn_by_heart(self) -> None:
        self._sizes = list(map(len, self._views))
        self._objects = list(chain.from_iterable(self._views))

    def _pairs(self) -> Iterator[tuple[Holder, Any]]:
        return zip(self._holders, self._pristine, strict=True)

    def take(self) -> Contents:
        """All that is remembered now."""
        return [content if holder.holds(content) else holder.take() for holder, content in self._pairs()]

    def put(self, contents: Contents) -> None:
        """Remember `contents`, and nothing else."""
        for holder, content in zip(self._holders, contents, strict=True):
            if not holder.holds(content):
                holder.put(content)

    def fresh(self) -> Contents:
        """What a new process remembers."""
        if not self._by_copy:
            return self._pristine
        copies = _Copies(self._originals)
        pairs = enumerate(self._pairs())
        return [holder.with_copies(each, copies) if at in self._by_copy else each for at, (holder, each) in pairs]

    def note(self, before: Contents) -> None:
        """Whatever differs from `before` was changed by a run."""
        for holder, was in zip(self._holders, before, strict=True):
            if not holder.holds(was):
                _remember(holder, was, holder.take())


class _Copies:
    """Makes one copy of each thing that cannot be put back in place, for one process."""

    def __init__(self, originals: dict[int, Any]) -> None:
        self._originals, self._made = originals, dict[int, Any]()
        self._memo: dict[int, Any] = {}

    def __call__(self, value: Any) -> Any:
        if isinstance(value, tuple):
            parts = [self(part) for part in value]
            kind = type(value)
            return kind(parts) if kind is tuple else kind(*parts)
        if id(value) not in self._originals:
            return value
        if id(value) not in self._made:
            original = self._originals[id(value)]
            self._made[id(value)] = (
                renewed(original) if isinstance(original, _cached) else deepcopy(original, self._memo)
            )
        return self._made[id(value)]


def renewed(cached: Any) -> Any:
    """The same function with an empty cache."""
    return functools.lru_cache(**cached.cache_parameters())(cached.__wrapped__)


@contextmanager
def noting(workflow: Workflow[Any], *others: Any) -> Iterator[None]:
    """What changes in memory while the block runs is a run's doing: a process that is simulated later starts without.

    Inside a simulated process nothing is noted.
    """
    memory = Memory(workflow, *others) if not _depth else None
    before = memory.take() if memory else []
    try:
        yield
    finally:
        if memory:
            memory.note(before)


def _remember(holder: Holder, was: Any, now: Any) -> None:
    owner, first, last = _changed.get(id(holder.owner), (holder.owner, None, None))
    if isinstance(was, dict):
        first, last = dict(first or {}), dict(last or {})
        for name in {**was, **now}:
            before, after = was.get(name, MISSING), now.get(name, MISSING)
            if before is not after:
                known = name in first and last[name] is before
                first[name], last[name] = (first[name] if known else before), after
    else:
        first, last = (first if last is not None and _same(last, was) else was), now
    _changed[id(owner)] = owner, first, last


def _same(left: Any, right: Any) -> bool:
    """True when two contents that are no dicts hold the same objects."""
    return len(left) == len(right) and all(a is b for a, b in zip(left, right, strict=True))


def _undone(holder: Holder) -> Any:
    """What a holder holds without that which a run has left in it."""
    now = holder.take()
    _, first, last = _changed.get(id(holder.owner), (None, None, None))
    if last is None:
        return now
    if not isinstance(now, dict):
        return first if holder.holds(last) else now
    back = {name: first[name] for name in last if now.get(name, MISSING) is last[name]}
    return {name: value for name, value in {**now, **back}.items() if value is not MISSING}
