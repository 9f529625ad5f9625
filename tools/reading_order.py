"""Writes the table "read in this order" into README.md and labkit/README.md, with the length of each file.

The table stands between `<!-- generated:reading-order -->` and `<!-- /generated -->`. What a file holds is the first
sentence of its own docstring, so it is said in one place.
"""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

EVENING = (
    "labkit/model.py",
    "labkit/cases/refund.py",
    "labkit/engines/snapshot.py",
    "labkit/engines/event_sourced.py",
    "labkit/engines/hybrid.py",
    "labkit/runner.py",
    "labkit/moves.py",
    "labkit/context.py",
    "labkit/journal.py",
    "labkit/effects/key.py",
    "labkit/effects/ledger.py",
    "labkit/effects/decision.py",
    "labkit/effects/policies.py",
    "labkit/taps.py",
)
READMES = {"README.md": EVENING, "labkit/README.md": (*EVENING, "labkit/*/*.py", "labkit/*/*/*.py", "labkit/*.py")}


def files(root: Path, order: tuple[str, ...]) -> list[Path]:
    """Return the files of `order` that exist, each once; a `*` stands for names in alphabetical order."""
    found = [path for pattern in order for path in sorted(root.glob(pattern)) if path.name != "__init__.py"]
    return list(dict.fromkeys(found))


def summary(path: Path) -> str:
    """Return the first sentence of a module's docstring, fit for a table cell."""
    text = " ".join((ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split("\n\n")[0].split())
    return re.split(r"(?<=\w[.]) ", text + " ")[0].rstrip(" .").replace("|", "\\|")


def table(root: Path, folder: Path, order: tuple[str, ...]) -> str:
    """Return the table of the files of `order`, in Markdown, with links that work from `folder`."""
    rows = ["| | read | lines | what it holds |", "| ---: | --- | ---: | --- |"]
    for number, path in enumerate(files(root, order), 1):
        link = Path(os.path.relpath(path, folder)).as_posix()
        lines = len(path.read_text("utf-8").splitlines())
        rows.append(
            f"| {number} | [`{path.relative_to(root / 'labkit').as_posix()}`]({link}) | {lines} | {summary(path)} |"
        )
    return "\n".join(rows)


def between(text: str, name: str, body: str) -> str:
    """Return `text` with `body` between the marks of the generated part `name`; unchanged if it has no such marks."""
    mark = f"<!-- generated:{name} -->"
    return re.sub(
        rf"(?s){re.escape(mark)}.*?<!-- /generated -->",
        lambda _: f"{mark}\n{body}\n<!-- /generated -->",
        text,
    )


def fill(root: Path, name: str, text: str) -> str:
    """Return the `text` of README `name` with its table renewed."""
    return between(text, "reading-order", table(root, (root / name).parent, READMES[name]))
