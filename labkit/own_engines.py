"""Engines by name: the lab's three, and classes of somebody's own, given as a class or as `module:Class`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from typing import Any

from labkit.authoring import imported
from labkit.engines import ENGINES
from labkit.errors import InvalidInput, known

SAFE = "nothing was run or written"
METHODS = {
    "begin": ("tx", "run"),
    "load": ("run_id",),
    "record": ("tx", "run", "event"),
    "commit": ("tx", "run", "event"),
    "history": ("run_id",),
    "fork": ("tx", "run_id", "at", "new_id"),
    "compact": ("tx", "run"),
}
DECLARED: dict[str, type] = {"name": str, "schema": str, "journals": bool}
"""What the lab asks an engine for: its name, its tables, and whether it keeps the result of each call by itself."""
OWN: dict[str, type[Any]] = {}


def engine_name(given: str | type[Any]) -> str:
    """The name of an engine that is given as a name, as `module:Class`, or as a class; the lab knows it from now on.

    Of two classes with one name the later counts. Raises InvalidInput for an unknown name, and for a class that is no
    engine, saying what it lacks.
    """
    if isinstance(given, str) and ":" in given:
        given = _find(given)
    if not inspect.isclass(given):
        return known("engine", str(given), (*ENGINES, *OWN))
    made: Any = given
    if given in ENGINES.values():
        return str(made.name)
    lacking = _lacking(given)
    if lacking:
        raise InvalidInput(
            f"{given.__module__}:{given.__qualname__} is no engine: {'; '.join(lacking)}",
            safe=SAFE,
            next="labkit/engines/snapshot.py is the shortest example; derive from it, or write all of its members",
        )
    name: str = made.name
    if name in ENGINES:
        raise InvalidInput(
            f"{given.__module__}:{given.__qualname__} has the name {name!r}, which is an engine of the lab: "
            "a run keeps the name of its engine",
            safe=SAFE,
            next='give the class a name of its own: name = "mine"',
        )
    OWN[name] = given
    return name


def engine_names(asked: Any = ()) -> tuple[str, ...]:
    """The names of the engines that are asked for, one or several, each once; the lab's three when none is."""
    one = isinstance(asked, str) or inspect.isclass(asked) or not isinstance(asked, Iterable)
    return tuple(dict.fromkeys(map(engine_name, [asked] if one else asked))) or tuple(ENGINES)


def engine_class(name: str) -> type[Any]:
    """The class of the engine called `name`; raise InvalidInput when there is none."""
    return ENGINES.get(name) or OWN.get(name) or engine_class(known("engine", name, (*ENGINES, *OWN)))


def engine_spec(name: str) -> str:
    """What another process calls the engine `name`: the name, or `module:Class`.

    Raises InvalidInput for a class that no other process can import.
    """
    owner = OWN.get(name)
    if owner is None:
        return name
    if not importable(name):
        raise InvalidInput(
            f"engine {name!r} is {owner.__module__}:{owner.__qualname__}, which no other process can import",
            safe=SAFE,
            next="write the class into a file of its own, at the top of the module, and import it from there",
        )
    return f"{owner.__module__}:{owner.__qualname__}"


def importable(name: str) -> bool:
    """Whether another process can find the engine `name`."""
    owner = OWN.get(name)
    if owner is None:
        return True
    there = getattr(sys.modules.get(owner.__module__), owner.__qualname__, None)
    return owner.__module__ != "__main__" and there is owner


def _find(spec: str) -> Any:
    module, _, attribute = spec.partition(":")
    loaded = imported(f"engine {spec!r}", module)
    if not inspect.isclass(getattr(loaded, attribute, None)):
        there = ", ".join(key for key, value in vars(loaded).items() if inspect.isclass(value) and not _lacking(value))
        raise InvalidInput(
            f"engine {spec!r}: {module} has no class {attribute!r}",
            safe=SAFE,
            next=f"engines in {module}: {there or 'none'}",
        )
    return getattr(loaded, attribute)


def _lacking(given: type[Any]) -> list[str]:
    """What a class lacks in order to be an engine; empty when it is one."""
    lacking = []
    for name, kind in DECLARED.items():
        value = getattr(given, name, None)
        if not isinstance(value, kind) or value == "":
            lacking.append(f"{name} is {value!r}, expected {'a text' if kind is str else 'True or False'}")
    for name, takes in METHODS.items():
        method = getattr(given, name, None)
        if not callable(method):
            lacking.append(f"there is no {name}(self, {', '.join(takes)})")
        elif not _takes(method, 1 + len(takes)):
            lacking.append(f"{name} takes {inspect.signature(method)}, expected (self, {', '.join(takes)})")
    if not _takes(given, 2):
        lacking.append("it is not made by Class(store, codec)")
    return lacking


def _takes(called: Any, count: int) -> bool:
    try:
        inspect.signature(called).bind(*[None] * count)
    except (TypeError, ValueError):
        return False
    return True
