"""The source of what runs in a step: the functions that it may call itself, and where they stand."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

from labkit.memory.reach import functions_in, names_in, namespace_is_authors


class Source(NamedTuple):
    """The source of a function of the author's: its module's `space`, the `names` of it that are looked up, the parsed
    text, the name of the file, and the line that it begins on."""

    space: dict[str, Any]
    names: set[str]
    tree: ast.AST
    file: str
    first: int

    def place(self, line: int) -> str:
        """`file:line` of a line of this source."""
        return f"{self.file}:{self.first + line - 1}"


def sources_of(step: Any) -> Iterator[Source]:
    """The functions of the author's that a step runs, itself first; source that cannot be read is left out.

    Activities are called for a step, and recorded: they are left out, too.
    """
    todo, seen = list(functions_in(step)), set[int]()
    while todo:
        function = todo.pop()
        if id(function) in seen or not namespace_is_authors(function.__globals__):
            continue
        seen.add(id(function))
        try:
            lines, first = inspect.getsourcelines(function)
            tree = ast.parse(textwrap.dedent("".join(lines)))
        except (OSError, TypeError, SyntaxError):
            continue
        names = _looked_up(function, tree)
        yield Source(function.__globals__, names, tree, Path(function.__code__.co_filename).name, first)
        for name in names:
            todo += functions_in(function.__globals__[name])


def _looked_up(function: FunctionType, tree: ast.AST) -> set[str]:
    """The names of its module that a function looks up, but for those that it hands to `ctx.activity`."""
    return {*names_in(function.__code__)} & function.__globals__.keys() - _activities(tree)


def _activities(tree: ast.AST) -> set[str]:
    return {
        node.args[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "activity"
        and node.args
        and isinstance(node.args[0], ast.Name)
    }
