"""Where the source of a step goes through a set: its order is another one in another process, and cannot be played."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any

from labkit.memory.reach import functions_in, names_in, namespace_is_authors

MAKES = ("set", "frozenset")
KEEPS = ("union", "intersection", "difference", "symmetric_difference", "copy")
GOES_THROUGH = ("list", "tuple", "iter", "next", "enumerate", "zip", "map", "filter", "reversed", "join", "extend")
ANY_ORDER = (*MAKES, "sorted", "sum", "min", "max", "any", "all", "len", "Counter")


def orders_of_sets(steps: Mapping[str, Any]) -> list[str]:
    """A sentence with file, line and step for each place; source that cannot be read has none."""
    return [f"{place}: step {step} goes through a set" for step in steps for place in _places(steps[step])]


def _places(step: Any) -> Iterator[str]:
    todo, seen = list(functions_in(step)), set[int]()
    while todo:
        function = todo.pop()
        if id(function) in seen or not namespace_is_authors(function.__globals__):
            continue
        seen.add(id(function))
        tree, file, first = _source(function)
        if tree is None:
            continue
        found = _Sets()
        found.visit(tree)
        yield from (f"{file}:{first + line - 1}" for line in sorted(found.lines))
        todo += _called(function, found.activities)


def _source(function: FunctionType) -> tuple[ast.AST | None, str, int]:
    try:
        lines, first = inspect.getsourcelines(function)
        return ast.parse(textwrap.dedent("".join(lines))), Path(function.__code__.co_filename).name, first
    except (OSError, TypeError, SyntaxError):
        return None, "", 0


def _called(function: FunctionType, activities: set[str]) -> Iterator[FunctionType]:
    """The functions that this one may call itself: activities are called for it, and recorded."""
    for name in names_in(function.__code__) - activities:
        if name in function.__globals__:
            yield from functions_in(function.__globals__[name])


class _Sets(ast.NodeVisitor):
    """Finds the lines of a function that go through a set, and the names that it hands to `ctx.activity`."""

    def __init__(self) -> None:
        self.lines: set[int] = set()
        self.activities: set[str] = set()
        self._sets: set[str] = set()

    def visit_Assign(self, node: ast.Assign) -> None:
        """A name that is given a set is one."""
        self.generic_visit(node)
        names = {target.id for target in node.targets if isinstance(target, ast.Name)}
        self._sets = self._sets | names if self._is_set(node.value) else self._sets - names

    def visit_For(self, node: ast.For) -> None:
        """A loop goes through what it is about."""
        self._through(node.iter)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """So does a comprehension."""
        self._through(node.iter)
        self.generic_visit(node)

    def visit_Starred(self, node: ast.Starred) -> None:
        """And a star."""
        self._through(node.value)
        self.generic_visit(node)

    def visit_SetComp(self, node: ast.SetComp) -> None:
        """A set made of a set has no order either."""

    def visit_Call(self, node: ast.Call) -> None:
        """A call may go through its arguments, or not care for their order."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name == "activity" and node.args and isinstance(node.args[0], ast.Name):
            self.activities.add(node.args[0].id)
        if name in ANY_ORDER:
            return
        if name in GOES_THROUGH:
            for argument in node.args:
                self._through(argument)
        if name == "pop" and isinstance(node.func, ast.Attribute):
            self._through(node.func.value)
        self.generic_visit(node)

    def _through(self, node: ast.expr) -> None:
        if self._is_set(node):
            self.lines.add(node.lineno)

    def _is_set(self, node: ast.expr) -> bool:
        """True for an expression that is a set, of more than numbers: these lie in the same order everywhere."""
        if isinstance(node, ast.Set):
            return not all(isinstance(each, ast.Constant) and isinstance(each.value, int) for each in node.elts)
        if isinstance(node, ast.SetComp):
            return True
        if isinstance(node, ast.Name):
            return node.id in self._sets
        if isinstance(node, ast.BinOp):
            return self._is_set(node.left) or self._is_set(node.right)
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                return node.func.id in MAKES and bool(node.args)
            return isinstance(node.func, ast.Attribute) and node.func.attr in KEEPS and self._is_set(node.func.value)
        return False
