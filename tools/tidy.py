"""The house rules that a program can keep: layers, sizes, engine members, docstrings, skips, forbidden words.

Each rule takes the project folder and returns its problems, one sentence each, saying what to do. What is not there
yet is not checked. `tests/test_tidy.py` runs every rule on the project, and on small trees that break it.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from tools import layers
from tools.layers import python_files, tree_of

Function = ast.FunctionDef | ast.AsyncFunctionDef
FOLDERS = ("labkit", "tests", "tools", "notebooks/src")
FILE_LINES, ENGINE_LINES, STACK_LINES, FUNCTION_LINES = 250, 150, 200, 40
ENGINE_METHODS = ["begin", "load", "record", "commit", "history", "fork", "compact"]
UNSAFE_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "jsonpickle"}
UNSAFE_CALLS = {"eval", "exec", "compile"}
# In parts, so that this file does not hold what it forbids.
FORBIDDEN = {
    r"(?<![\w.}-])/(?:wo" r"rk|ro" r"ot|tmp/sp" r"ec)/": "a path of one machine. Make it relative",
    r"\bpy"
    r"pi\.org|python"
    r"hosted\.org|npm"
    r"js\.(?:org|com)|anaconda"
    r"\.org": "the host of a registry. Leave it out",
    r"\buv" r"\.lock\b": "a lock that names hosts. The lock is requirements.lock",
}


def project_files(root: Path) -> list[Path]:
    """Return the files that git keeps or would keep; where there is no git, all files."""
    if not (root / ".git").exists():
        return sorted(path for path in root.rglob("*") if path.is_file() and ".venv" not in path.parts)
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    return sorted(path for name in listed.split("\0") if name and (path := root / name).is_file())


def sizes(root: Path) -> list[str]:
    """Files and functions are short enough to be read in one go."""
    problems = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in {".py", ".js", ".css", ".sql"}:
                continue
            name, count = path.relative_to(root), length(path)
            most = longest(name)
            if count > most:
                problems.append(f"{name}: {count} lines, at most {most}. Split it by what it is about")
    for path in python_files(root, *FOLDERS):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, Function) and (count := (node.end_lineno or 0) - node.lineno + 1) > FUNCTION_LINES:
                where = f"{path.relative_to(root)}:{node.lineno}: {node.name}"
                problems.append(f"{where} has {count} lines, at most {FUNCTION_LINES}. Name its parts")
    return problems


def length(path: Path) -> int:
    """Return how many lines a file has; of a notebook's source only the code counts, its prose is the lesson."""
    lines = path.read_text("utf-8").splitlines()
    if path.parent.parts[-2:] == ("notebooks", "src"):
        lines = [line for line in lines if line.strip() and not line.startswith("#")]
    return len(lines)


def longest(name: Path) -> int:
    """Return how many lines the file of this name, relative to the project folder, may have."""
    if name.parent == Path("labkit/engines"):
        return ENGINE_LINES
    return STACK_LINES if name.parent == Path("labkit/stacks") and name.stem not in layers.NO_STACK else FILE_LINES


def engine_members(root: Path) -> list[str]:
    """The engines have the same public members in the same order, the seven methods among them."""
    members = {}
    for path in layers.engine_files(root):
        public = [list(members_of(node)) for node in tree_of(path).body if isinstance(node, ast.ClassDef)]
        members[str(path.relative_to(root))] = next((names for names in public if "begin" in names), [])
    problems = [
        f"{name}: its public methods are {', '.join(methods) or 'missing'}; expected {', '.join(ENGINE_METHODS)}"
        for name, names in members.items()
        if (methods := [each for each in names if each in ENGINE_METHODS]) != ENGINE_METHODS
    ]
    if len({tuple(names) for names in members.values()}) > 1:
        each = "; ".join(f"{name}: {', '.join(names)}" for name, names in members.items())
        problems.append(f"labkit/engines: the public members differ. Same names, same order, in all: {each}")
    return problems


def members_of(node: ast.ClassDef) -> Iterator[str]:
    """Yield the public names that a class body defines, in order: methods and attributes."""
    for item in node.body:
        names = [item.name] if isinstance(item, Function) else []
        if isinstance(item, ast.Assign | ast.AnnAssign):
            targets = item.targets if isinstance(item, ast.Assign) else [item.target]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
        yield from (name for name in names if not name.startswith("_"))


def documented(root: Path) -> list[str]:
    """Every module, and every public class, function and method, says what it is."""
    problems = []
    for path in python_files(root, "labkit", "tools"):
        for where, node in public_names(tree_of(path)):
            if not (ast.get_docstring(node) or "").strip():
                problems.append(f"{path.relative_to(root)}: {where} has no docstring. Say what goes in and comes out")
    return problems


def public_names(
    node: ast.Module | ast.ClassDef, prefix: str = ""
) -> Iterator[tuple[str, ast.Module | ast.ClassDef | Function]]:
    """Yield (dotted name, node) for a module or class and each public class, function and method in it."""
    yield prefix or "the module", node
    for item in node.body:
        if isinstance(item, ast.ClassDef | Function) and not item.name.startswith("_"):
            name = f"{prefix}.{item.name}".lstrip(".")
            if isinstance(item, ast.ClassDef):
                yield from public_names(item, name)
            elif not any("overload" in ast.unparse(each) for each in item.decorator_list):
                yield name, item


def reasons(root: Path) -> list[str]:
    """No test is skipped, or expected to fail, without a printed reason."""
    problems = []
    for path in python_files(root, "tests"):
        nodes = list(ast.walk(tree_of(path)))
        called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        for node in nodes:
            function = node.func if isinstance(node, ast.Call) else node
            name = ast.unparse(function) if isinstance(function, ast.Attribute) and id(node) not in called else ""
            if re.fullmatch(r"pytest\.(mark\.)?(skip|skipif|xfail|importorskip)", name) and not has_reason(name, node):
                problems.append(f"{path.relative_to(root)}:{function.lineno}: {name} without a reason. Give reason=")
    return problems


def has_reason(name: str, node: ast.AST) -> bool:
    """Return whether this use of `pytest.skip` and its like, a call or a bare mark, gives a reason."""
    if not isinstance(node, ast.Call):
        return False
    given = [keyword.value for keyword in node.keywords if keyword.arg == "reason"]
    first_is_reason = name in {"pytest.skip", "pytest.xfail", "pytest.mark.skip"}
    given += node.args[:1] if first_is_reason else []
    return any(not isinstance(value, ast.Constant) or bool(value.value) for value in given)


def words(root: Path) -> list[str]:
    """No file that git keeps names a path of one machine or the host of a registry."""
    problems = []
    for path in project_files(root):
        name = path.relative_to(root).as_posix()
        for number, line in enumerate([name, *path.read_bytes().decode("utf-8", "ignore").splitlines()]):
            for pattern, meaning in FORBIDDEN.items():
                if found := re.search(pattern, line):
                    problems.append(f"{name}:{number}: {found[0]!r} is {meaning}")
    return problems


def data_stays_data(root: Path) -> list[str]:
    """Nothing in labkit unpickles or evaluates: stored and submitted data are never code."""
    problems = []
    for path in python_files(root, "labkit"):
        for node in ast.walk(tree_of(path)):
            used = set()
            if isinstance(node, ast.Import | ast.ImportFrom):
                modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
                used = {module.split(".")[0] for module in modules} & UNSAFE_MODULES
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                used = {node.func.id} & UNSAFE_CALLS
            problems += [
                f"{path.relative_to(root)}:{node.lineno}: {name} turns data into code. Use msgspec" for name in used
            ]
    return problems


RULES: tuple[Callable[[Path], list[str]], ...] = (
    layers.downward,
    layers.engines_apart,
    layers.stacks_apart,
    sizes,
    engine_members,
    documented,
    reasons,
    words,
    data_stays_data,
)
