"""What can hold state in a process, and how its content is taken and put back in place.

In place, because others may hold the same object: a default argument, a closure, another module. So identity stays,
and only what an object holds is exchanged. Content is shallow: what it refers to is held by holders of its own.
"""

from __future__ import annotations

import random
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from operator import is_
from types import CellType, FunctionType
from typing import Any, Protocol

MISSING: Any = object()
KEPT = {"__dict__", "__weakref__", "__builtins__", "__annotations__"}  # of a class or module: no state of the author's


class Holder(Protocol):
    """Something whose content changes while a process lives.

    `owner` is the object itself. `views` yield the objects that it holds at any time, without a copy being made; there
    are none where that cannot be done.
    """

    owner: Any
    views: tuple[Any, ...]

    def take(self) -> Any:
        """The content, as an object that later changes do not reach."""
        ...

    def holds(self, content: Any) -> bool:
        """True when `content` is what it holds now, object by object."""
        ...

    def put(self, content: Any) -> None:
        """Let it hold `content` again."""
        ...

    def inside(self, content: Any) -> Iterable[Any]:
        """The objects that `content` refers to."""
        ...

    def with_copies(self, content: Any, copies: Any) -> Any:
        """`content` with `copies(value)` in the place of each value."""
        ...


def same(left: Iterable[Any], right: Iterable[Any]) -> bool:
    """True when two iterables of one length yield the same objects."""
    return all(map(is_, left, right))


class Mapped:
    """A dict, or an object derived from one: what it holds is a dict."""

    def __init__(self, owner: dict[Any, Any]) -> None:
        self.owner = owner
        self.views: tuple[Any, ...] = (owner.keys(), owner.values())
        self._kind: Any = OrderedDict if isinstance(owner, OrderedDict) else dict

    def take(self) -> dict[Any, Any]:
        """See `Holder`."""
        return dict(self.owner)

    def holds(self, content: dict[Any, Any]) -> bool:
        """See `Holder`."""
        now = self.owner
        return len(now) == len(content) and same(now.values(), content.values()) and same(now, content)

    def put(self, content: dict[Any, Any]) -> None:
        """See `Holder`."""
        self._kind.clear(self.owner)
        self._kind.update(self.owner, content)

    def inside(self, content: dict[Any, Any]) -> Iterable[Any]:
        """See `Holder`."""
        return [*content, *content.values()]

    def with_copies(self, content: dict[Any, Any], copies: Any) -> dict[Any, Any]:
        """See `Holder`."""
        return {key: copies(value) for key, value in content.items()}


class Names(Mapped):
    """The names of a module, or some of them: those that the lab's user defines beside them are left alone."""

    def __init__(self, owner: dict[str, Any], names: Iterable[str] | None = None) -> None:
        super().__init__(owner)
        self._some = None if names is None else frozenset(names)
        self.views = self.views if names is None else ()

    def take(self) -> dict[str, Any]:
        """See `Holder`."""
        names = self.owner if self._some is None else self._some & self.owner.keys()
        return {name: self.owner[name] for name in names if name not in KEPT}

    def holds(self, content: dict[str, Any]) -> bool:
        """See `Holder`."""
        now = self.take()
        return len(now) == len(content) and all(content.get(name, MISSING) is now[name] for name in now)

    def put(self, content: dict[str, Any]) -> None:
        """See `Holder`."""
        for name in self.take():
            if name not in content:
                del self.owner[name]
        self.owner.update(content)


class Attributes(Mapped):
    """The attributes of a class, or those of an instance that are in slots."""

    def __init__(self, owner: Any, names: tuple[str, ...] | None = None) -> None:
        self.owner, self._names = owner, names
        self.views = (vars(owner).keys(), vars(owner).values()) if names is None else ()

    def take(self) -> dict[str, Any]:
        """See `Holder`."""
        if self._names is None:
            return {name: value for name, value in vars(self.owner).items() if name not in KEPT}
        found = {name: getattr(self.owner, name, MISSING) for name in self._names}
        return {name: value for name, value in found.items() if value is not MISSING}

    def holds(self, content: dict[str, Any]) -> bool:
        """See `Holder`."""
        now = self.take()
        return len(now) == len(content) and all(content.get(name, MISSING) is now[name] for name in now)

    def put(self, content: dict[str, Any]) -> None:
        """See `Holder`."""
        now = self.take()
        for name in now.keys() - content.keys():
            delattr(self.owner, name)
        for name, value in content.items():
            if now.get(name, MISSING) is not value:
                setattr(self.owner, name, value)


class Sequenced:
    """A list, a deque, a set or a bytearray: what it holds is a list."""

    def __init__(self, owner: Any) -> None:
        self.owner, self.views = owner, (owner,)

    def take(self) -> list[Any]:
        """See `Holder`."""
        return list(self.owner)

    def holds(self, content: list[Any]) -> bool:
        """See `Holder`."""
        return len(self.owner) == len(content) and same(self.owner, content)

    def put(self, content: list[Any]) -> None:
        """See `Holder`."""
        owner = self.owner
        if isinstance(owner, list):
            list.__setitem__(owner, slice(None), content)
        elif isinstance(owner, bytearray):
            owner[:] = bytes(content)
        elif isinstance(owner, deque):
            deque.clear(owner)
            deque.extend(owner, content)
        else:
            set.clear(owner)
            set.update(owner, content)

    def inside(self, content: list[Any]) -> Iterable[Any]:
        """See `Holder`."""
        return [] if isinstance(self.owner, bytearray) else content

    def with_copies(self, content: list[Any], copies: Any) -> list[Any]:
        """See `Holder`."""
        return [copies(value) for value in content]


class Fixed:
    """What is exchanged as a whole: a function's defaults, the variable of a closure, the state of a generator of
    random numbers. What it holds is a tuple."""

    views: tuple[Any, ...] = ()

    def __init__(self, owner: FunctionType | CellType | random.Random) -> None:
        self.owner: Any = owner

    def take(self) -> tuple[Any, ...]:
        """See `Holder`."""
        owner = self.owner
        if isinstance(owner, FunctionType):
            return owner.__defaults__ or (), *(owner.__kwdefaults__ or {}).items()
        if isinstance(owner, random.Random):
            return (owner.getstate(),)
        try:
            return (owner.cell_contents,)
        except ValueError:  # not bound yet
            return ()

    def holds(self, content: tuple[Any, ...]) -> bool:
        """See `Holder`."""
        now = self.take()
        if isinstance(self.owner, CellType):
            return len(now) == len(content) and same(now, content)
        return now == content if isinstance(self.owner, random.Random) else same(_flat(now), _flat(content))

    def put(self, content: tuple[Any, ...]) -> None:
        """See `Holder`."""
        owner = self.owner
        if isinstance(owner, FunctionType):
            owner.__defaults__ = content[0] or None
            owner.__kwdefaults__ = dict(content[1:]) or None
        elif isinstance(owner, random.Random):
            owner.setstate(content[0])
        elif content:
            owner.cell_contents = content[0]
        else:
            del owner.cell_contents

    def inside(self, content: tuple[Any, ...]) -> Iterable[Any]:
        """See `Holder`."""
        return [] if isinstance(self.owner, random.Random) else _flat(content)

    def with_copies(self, content: tuple[Any, ...], copies: Any) -> tuple[Any, ...]:
        """See `Holder`."""
        return content if isinstance(self.owner, random.Random) else copies(content)


def _flat(content: tuple[Any, ...]) -> Iterator[Any]:
    for part in content:
        if isinstance(part, tuple):
            yield from part
        else:
            yield part
