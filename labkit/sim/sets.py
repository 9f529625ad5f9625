"""Where the source of a step goes through a set: its order is another one in another process, and cannot be played."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from labkit.sim.sources import sources_of

MAKES = ("set", "frozenset")
KEEPS = ("union", "intersection", "difference", "symmetric_difference", "copy")
GOES_THROUGH = ("list", "tuple", "iter", "next", "enumerate", "zip", "map", "filter", "reversed", "join", "extend")
ANY_ORDER = (*MAKES, "sorted", "sum", "min", "max", "any", "all", "len", "Counter")


def orders_of_sets(steps: Mapping[str, Any]) -> list[str]:
    """A sentence with file, line and step for each place; source that cannot be read has none."""
    return list(dict.fromkeys(_told(steps)))


def _told(steps: Mapping[str, Any]) -> Iterator[str]:
    for step, function in steps.items():
        for source in sources_of(function):
            found = _Sets()
            found.visit(source.tree)
            yield from (f"{source.place(line)}: step {step} goes through a set" for line in sorted(found.lines))


class _Sets(ast.NodeVisitor):
    """Finds the lines of a function that go through a set."""

    def __init__(self) -> None:
        self.lines: set[int] = set()
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
