"""Who may import whom: the layers of labkit, and what engines and stacks must stay apart from.

Each rule takes the project folder and returns its problems, one sentence each. Imports inside functions count too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

# A part may import from the rows above it, and from its own row if no circle comes of it.
LAYERS = (
    ("errors", "arguments", "authoring", "clock", "taps", "calls", "model", "canonical", "codec"),
    ("asked", "journal", "moves", "scratch", "values", "memory"),
    ("store", "cases", "provider", "suspend"),
    ("engines", "own_engines", "effects", "coordination", "evolution"),
    ("parts", "recording", "context", "bound", "runner", "scenario", "check"),
    ("sim", "bench", "stacks", "trajectory"),
    ("matrix", "perf", "timeline", "measure", "claims"),
    ("widgets", "grading", "lab", "doctor", "demo", "cli", "__init__", "__main__"),
)
ENGINES_AVOID = ("labkit.effects", "labkit.sim", "labkit.bench")
STACKS_TAKE = ("labkit.stacks.base", "labkit.cases")
NO_STACK = (
    "base",
    "conformance",
    "find",
    "__init__",
)  # every other file in labkit/stacks is the adapter of one framework


def python_files(root: Path, *folders: str) -> list[Path]:
    """Return the Python files below these folders of the project, sorted."""
    return sorted(path for folder in folders for path in (root / folder).rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text("utf-8"), str(path))


def imports(root: Path, path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted name) for each import from labkit: `labkit.engines.hybrid.HybridEngine`, for instance."""
    package = path.relative_to(root).parts[:-1]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*above, *filter(None, [node.module])])
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.split(".")[0] == "labkit")


def engine_files(root: Path) -> list[Path]:
    """Return the engines: every file in labkit/engines but `__init__.py`."""
    return sorted(path for path in (root / "labkit/engines").glob("*.py") if path.stem != "__init__")


def within(name: str, modules: tuple[str, ...] | list[str]) -> bool:
    """Return whether a dotted name is one of these modules or something inside one."""
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def part_of(root: Path, name: str) -> str:
    """Return the part of labkit that a dotted name comes from: a module or package, or `__init__` for labkit itself."""
    part = [*name.split("."), "__init__"][1]
    return part if part in {path.stem for path in (root / "labkit").iterdir()} else "__init__"


def downward(root: Path) -> list[str]:
    """Every part of labkit stands in LAYERS and imports downward only, without circles."""
    rank = {part: row for row, parts in enumerate(LAYERS) for part in parts}
    problems: list[str] = []
    peers: dict[str, set[str]] = {}
    for path in python_files(root, "labkit"):
        name, own = path.relative_to(root), path.relative_to(root / "labkit").with_suffix("").parts[0]
        if own not in rank:
            problems.append(f"{name}: {own} stands in no layer. Add it to LAYERS in tools/layers.py")
            continue
        for line, module in imports(root, path):
            other = part_of(root, module)
            if rank.get(other, 0) > rank[own]:
                problems.append(f"{name}:{line}: {own} imports {module} from a higher layer. Imports go downward")
            elif rank.get(other) == rank[own] and other != own:
                peers.setdefault(own, set()).add(other)
    try:
        TopologicalSorter(peers).prepare()
    except CycleError as error:
        circle = ", ".join(reversed(error.args[1]))
        problems.append(f"labkit: import each other in a circle: {circle}. Move what they share into a lower layer")
    return problems


def engines_apart(root: Path) -> list[str]:
    """An engine imports no other engine, and nothing of effects, sim or bench."""
    problems, engines = [], engine_files(root)
    for path in engines:
        barred = [*ENGINES_AVOID, *(f"labkit.engines.{other.stem}" for other in engines if other != path)]
        for line, module in imports(root, path):
            if within(module, barred):
                problems.append(f"{path.relative_to(root)}:{line}: an engine may not import {module}")
    return problems


def stacks_apart(root: Path) -> list[str]:
    """A stack imports stacks.base, cases and its own framework, which for `labkit` is the rest of labkit."""
    problems = []
    for path in sorted((root / "labkit/stacks").glob("*.py")):
        for line, module in imports(root, path):
            if path.stem not in (*NO_STACK, "labkit") and not within(module, STACKS_TAKE):
                problems.append(f"{path.relative_to(root)}:{line}: a stack takes stacks.base and cases, not {module}")
    return problems
