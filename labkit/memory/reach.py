"""Whose code is whose, and what a workflow's functions reach: the names that they, and what they call, look up."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

LAB = "labkit"
LIBRARIES = ("site-packages", "dist-packages")
MAIN = "__main__"
ANY_NAME = frozenset(("globals", "vars", "getattr", "setattr", "__dict__"))  # with these, a name can be made up
PLAIN = (str, bytes, int, float, type(None))


@lru_cache(maxsize=4096)
def is_authors(name: str, file: str | None) -> bool:
    """True for a module of the author's: none of Python's, of an installed package, or of the lab's own."""
    root = name.partition(".")[0]
    if root == LAB or root in sys.stdlib_module_names or name in sys.builtin_module_names:
        return False
    return file is None or (file.endswith((".py", ".pyc")) and not set(LIBRARIES) & set(Path(file).parts))


def namespace_is_authors(namespace: dict[str, Any]) -> bool:
    """True for the globals of a function that the author wrote, in a file, a notebook or a string."""
    return is_authors(str(namespace.get("__name__", MAIN)), namespace.get("__file__"))


def module_is_authors(name: str | None) -> bool:
    """True for the name of a module of the author's that is there."""
    module = sys.modules.get(name or "")
    return module is not None and is_authors(module.__name__, getattr(module, "__file__", None))


def is_in_a_file(namespace: dict[str, Any]) -> bool:
    """True for the globals of a module in a file, which is imported as a whole; a notebook's are the user's as well."""
    return namespace.get("__file__") is not None and namespace.get("__name__") != MAIN


def names_in(code: CodeType) -> frozenset[str]:
    """The names that code looks up, functions inside it included."""
    inner = (names_in(each) for each in code.co_consts if isinstance(each, CodeType))
    return frozenset(code.co_names).union(*inner)


def functions_in(value: Any, seen: frozenset[int] = frozenset()) -> Iterator[FunctionType]:
    """The functions that are called when `value` is: itself, what it wraps, the methods of its class.

    `seen` are the ids of what is being looked into: a class may hold its own instances, as an enumeration does.
    """
    if id(value) in seen:
        return
    seen |= {id(value)}
    if isinstance(value, FunctionType):
        yield value
    elif isinstance(value, MethodType):
        yield from functions_in(value.__func__, seen)
    elif isinstance(value, property):
        for each in (value.fget, value.fset, value.fdel):
            yield from functions_in(each, seen)
    elif isinstance(value, type):
        if module_is_authors(value.__module__):
            for each in list(vars(value).values()):
                if not isinstance(each, type):
                    yield from functions_in(each, seen)
    else:
        wrapped = next(
            (getattr(value, name, None) for name in ("__wrapped__", "func", "__func__") if name in dir(value)), None
        )
        if wrapped is not None:
            yield from functions_in(wrapped, seen)
        elif module_is_authors(type(value).__module__):
            yield from functions_in(type(value), seen)


class Reach:
    """All that these functions reach: `functions` of the author's, and `names` by the id of their namespace."""

    def __init__(self, functions: Iterable[Any]) -> None:
        self.functions: list[FunctionType] = []
        self.spaces: dict[int, dict[str, Any]] = {}
        self.names: dict[int, set[str]] = {}
        self._seen: set[int] = set()
        self._todo: list[Any] = list(functions)
        while self._todo:
            value = self._todo.pop()
            self._look_into(value)
            for function in functions_in(value):
                self._follow(function)

    def _look_into(self, value: Any) -> None:
        """Functions may also be kept in a table, or in an object of the author's, and called from there."""
        held: Iterable[Any] = ()
        if isinstance(value, Mapping):
            held = value.values()
        elif isinstance(value, list | tuple | set | frozenset | deque):
            held = value
        elif not isinstance(value, type) and module_is_authors(type(value).__module__):
            held = getattr(value, "__dict__", {}).values()
        held = [each for each in held if not isinstance(each, PLAIN)]
        if held and id(value) not in self._seen:
            self._seen.add(id(value))
            self._todo += held

    def _follow(self, function: FunctionType) -> None:
        if id(function) in self._seen:
            return
        self._seen.add(id(function))
        for cell in function.__closure__ or ():
            try:
                self._todo.append(cell.cell_contents)
            except ValueError:  # not bound yet
                continue
        if namespace_is_authors(function.__globals__):
            self.functions.append(function)
            self._look_up(function.__globals__, names_in(function.__code__))

    def _look_up(self, namespace: dict[str, Any], names: frozenset[str]) -> None:
        self.spaces[id(namespace)] = namespace
        known = self.names.setdefault(id(namespace), set())
        known |= names & ANY_NAME
        for name in names & namespace.keys() - known:
            known.add(name)
            value = namespace[name]
            if isinstance(value, ModuleType):
                if namespace_is_authors(vars(value)):
                    self._look_up(vars(value), names)
            else:
                self._todo.append(value)
