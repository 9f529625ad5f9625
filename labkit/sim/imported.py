"""What a step takes over from the interpreter or from the import of its module, and what is another in each process.

A simulated process does not import the author's modules again, and cannot change how Python hashes text. So what they
read of time, chance, ids and the environment while they were imported is found in their source, and named.
"""

from __future__ import annotations

import ast
import datetime
import os
import random
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from labkit.memory.reach import is_in_a_file
from labkit.sim.sources import Source, sources_of

OF_THE_INTERPRETER = ("hash", "id")
DATES = (datetime.datetime, datetime.date)
LOOKS = ("now", "utcnow", "today")


def fixed_reads(steps: Mapping[str, Any], known: Mapping[str, Any]) -> list[str]:
    """A sentence with file, line and step for each place; `known` are the things not to read past `ctx`, by name."""
    return list(dict.fromkeys(_told(steps, {id(thing): name for name, thing in known.items()})))


def _told(steps: Mapping[str, Any], known: dict[int, str]) -> Iterator[str]:
    for step, function in steps.items():
        for source in sources_of(function):
            yield from (f"{place}: step {step} reads {what} past ctx" for place, what in _hashes(source))
            made = _made_at_import(source.space, known) if is_in_a_file(source.space) else {}
            for name in sorted(made.keys() & source.names):
                place, what = made[name]
                yield f"{place}: step {step} uses {name}, which was made with {what} when its module was imported"


def _hashes(source: Source) -> Iterator[tuple[str, str]]:
    """Where Python's own `hash` or `id` is called, numbers aside."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in OF_THE_INTERPRETER:
            number = node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, int)
            if not number and node.func.id not in source.space:
                yield source.place(node.lineno), node.func.id


def _made_at_import(space: dict[str, Any], known: dict[int, str]) -> dict[str, tuple[str, str]]:
    """The names of a module that are given something `known` where they are made: the place, and what it is."""
    found: dict[str, tuple[str, str]] = {}
    for line, names, value in _assigned(str(space["__file__"])):
        what = next(filter(None, (_read(node, space, known) for node in ast.walk(value))), "")
        if what:
            found |= dict.fromkeys(names, (f"{Path(space['__file__']).name}:{line}", what))
    return found


@lru_cache(maxsize=256)
def _assigned(file: str) -> tuple[tuple[int, tuple[str, ...], ast.expr], ...]:
    """The assignments to names at the top of a file: line, names and value; none when it cannot be read."""
    try:
        body = ast.parse(Path(file).read_text()).body
    except (OSError, SyntaxError, ValueError):
        return ()
    found = []
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if isinstance(node, ast.Assign | ast.AnnAssign) and value is not None:
            inside = (each for target in targets if target for each in ast.walk(target))
            names = tuple(each.id for each in inside if isinstance(each, ast.Name))
            found.append((node.lineno, names, value))
    return tuple(found)


def _read(node: ast.AST, space: dict[str, Any], known: dict[int, str]) -> str:
    """The name of what this expression calls or looks into, if it is known; else an empty text."""
    if isinstance(node, ast.Subscript):
        return "os.environ" if _resolved(node.value, space) is os.environ else ""
    if not isinstance(node, ast.Call):
        return ""
    thing = _resolved(node.func, space)
    if thing is random.SystemRandom or (thing is random.Random and not node.args):
        return f"random.{thing.__name__}"
    if isinstance(node.func, ast.Attribute):
        owner = _resolved(node.func.value, space)
        if owner is os.environ or (owner in DATES and node.func.attr in LOOKS):
            return f"{known[id(owner)]}.{node.func.attr}"
    return "" if thing in DATES else known.get(id(thing), "")


def _resolved(node: ast.expr, space: dict[str, Any]) -> Any:
    """What a name, or a name in a module, stands for, or None; nothing is called."""
    if isinstance(node, ast.Name):
        return space.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _resolved(node.value, space)
        if isinstance(owner, ModuleType):
            return vars(owner).get(node.attr)
    return None
