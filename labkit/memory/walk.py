"""Finds all that the functions of a workflow can remember, by following what they reach."""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import functools
import logging
import pathlib
import random
import re
import threading
import types
import uuid
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any

from labkit.memory.holders import Attributes, Fixed, Holder, Mapped, Names, Sequenced
from labkit.memory.reach import (
    ANY_NAME,
    LAB,
    Reach,
    is_in_a_file,
    module_is_authors,
    namespace_is_authors,
)

STATELESS = (
    *(type(None), int, float, complex, str, bytes, range, slice, type(...), type(NotImplemented)),
    *(re.Pattern, re.Match, decimal.Decimal, fractions.Fraction, uuid.UUID, pathlib.PurePath, enum.Enum),
    *(datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, weakref.ref, types.CodeType),
    *(logging.Logger, logging.Handler, type(threading.Lock()), type(threading.RLock()), threading.Condition),
)
LIBRARY = (LAB, "msgspec", "typing", "types", "_abc", "inspect", "importlib", "_frozen_importlib_external", "ast")
_cached = type(functools.lru_cache(len))
_first: dict[int, tuple[Any, Any]] = {}  # what is put back by copying, by its id: itself, and as it was at first
HEAP = 1 << 9  # flag of a class that was written in Python


class Walk:
    """Follows `functions`; `pristine(holder)` says what a holder holds at first.

    Finds the `holders` with their `contents`, the `opaque` things that are put back as copies (by id: what to copy),
    the numbers of the holders that hold some (`by_copy`), and what is `unknown` because it cannot be copied.
    """

    def __init__(self, functions: Sequence[Any], pristine: Callable[[Holder], Any]) -> None:
        self.holders: list[Holder] = []
        self.contents: list[Any] = []
        self.opaque: dict[int, Any] = {}
        self.unknown: list[str] = []
        self._reach, self._pristine = Reach(functions), pristine
        self._seen: dict[int, Any] = {}
        self._todo: list[tuple[Any, str]] = [(function, "") for function in functions]
        while self._todo:
            self._visit(*self._todo.pop())
        every = zip(self.holders, self.contents, strict=True)
        self.by_copy = {at for at, (holder, each) in enumerate(every) if self._needs_copies(holder.inside(each))}

    def _needs_copies(self, values: Iterable[Any]) -> bool:
        return bool(self.opaque) and any(
            id(value) in self.opaque or (isinstance(value, tuple) and self._needs_copies(value)) for value in values
        )

    def _hold(self, holder: Holder, path: str) -> None:
        content = self._pristine(holder)
        self.holders.append(holder)
        self.contents.append(content)
        if isinstance(holder, Names):
            name = holder.owner.get("__name__", "")
            reached = self._reach.names.get(id(holder.owner), set())
            self._todo += [(each, f"{name}.{key}" if key in reached else "") for key, each in content.items()]
        else:
            self._todo += [(each, path) for each in holder.inside(content)]

    def _visit(self, value: Any, path: str) -> None:
        if isinstance(value, STATELESS) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if isinstance(value, types.ModuleType):
            if namespace_is_authors(vars(value)):
                self._space(vars(value))
        elif isinstance(value, types.FunctionType):
            self._function(value, path)
        elif isinstance(value, type):
            if module_is_authors(value.__module__):
                self._hold(Attributes(value), path)
                self._todo += [(base, path) for base in value.__bases__]
        elif isinstance(value, dict):
            self._hold(Mapped(value), path)
            self._attributes(value, path)
        elif isinstance(value, list | set | deque | bytearray):
            self._hold(Sequenced(value), path)
            self._attributes(value, path)
        elif isinstance(value, tuple | frozenset):
            self._todo += [(each, path) for each in value]
        else:
            self._object(value, path)

    def _space(self, namespace: dict[str, Any]) -> None:
        if id(namespace) not in self._seen:
            self._seen[id(namespace)] = namespace
            reached = self._reach.names.get(id(namespace), set())
            # a module also holds what has nothing to do with the workflow: only names that may be looked up count
            any_name = is_in_a_file(namespace) and not ANY_NAME.isdisjoint(reached)
            self._hold(Names(namespace, None if any_name else reached), "")

    def _function(self, function: types.FunctionType, path: str) -> None:
        authors = namespace_is_authors(function.__globals__)
        if authors:
            self._space(function.__globals__)
        if authors or module_is_authors(function.__module__):
            self._hold(Mapped(function.__dict__), path)
            if function.__defaults__ or function.__kwdefaults__:
                self._hold(Fixed(function), path)
            for cell in function.__closure__ or ():
                if id(cell) not in self._seen:
                    self._seen[id(cell)] = cell
                    self._hold(Fixed(cell), path)

    def _object(self, value: Any, path: str) -> None:
        kind = type(value)
        if isinstance(value, staticmethod | classmethod):
            self._todo.append((value.__func__, path))
        elif isinstance(value, property):
            self._todo += [(each, path) for each in (value.fget, value.fset, value.fdel)]
        elif isinstance(value, types.MethodType | types.BuiltinFunctionType):
            self._todo.append((value.__self__, path))
        elif isinstance(value, functools.partial):
            self._todo += [(value.func, path), (value.args, path), (value.keywords, path)]
        elif isinstance(value, random.Random) and not isinstance(value, random.SystemRandom):
            self._hold(Fixed(value), path)
        elif isinstance(value, _cached):
            self.opaque[id(value)] = value
            self._todo.append((value.__wrapped__, path))
        elif kind.__module__.partition(".")[0] in LIBRARY or _is_descriptor(value):
            return
        elif all(base.__flags__ & HEAP or base is object for base in kind.__mro__) or _slots(kind):
            self._attributes(value, path)
        else:
            self._copied(value, path)

    def _attributes(self, value: Any, path: str) -> None:
        own = getattr(value, "__dict__", None)
        if type(own) is dict and id(own) not in self._seen:
            self._seen[id(own)] = own
            self._hold(Mapped(own), path)
        names = _slots(type(value))
        if names:
            self._hold(Attributes(value, names), path)

    def _copied(self, value: Any, path: str) -> None:
        """Something that only a copy can put back; the first copy counts, from before any run used it."""
        if id(value) not in _first or _first[id(value)][0] is not value:
            try:
                _first[id(value)] = value, deepcopy(value)
            except Exception:
                if path:
                    self.unknown.append(f"{path} is remembered, a {type(value).__name__}")
                return
        self.opaque[id(value)] = _first[id(value)][1]


def _slots(kind: type[Any]) -> tuple[str, ...]:
    """The names of an instance's attributes that are in slots, or in the fields of a struct."""
    found = [getattr(kind, "__struct_fields__", ())]
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        found.append((slots,) if isinstance(slots, str) else tuple(slots))
    return tuple(dict.fromkeys(name for names in found for name in names if name not in ("__dict__", "__weakref__")))


def _is_descriptor(value: Any) -> bool:
    """True for what belongs to a class written in C."""
    kinds = (types.GetSetDescriptorType, types.MemberDescriptorType, types.WrapperDescriptorType)
    return isinstance(
        value, (*kinds, types.MethodDescriptorType, types.MethodWrapperType, types.ClassMethodDescriptorType)
    )
