"""Builds notebooks/*.ipynb from the py:percent files in notebooks/src: no outputs, same bytes on every build.

jupytext gives each cell a random id on each conversion; here the id is the cell's `grade_id` if it has one, else a
digest of its kind and text, so that two builds are the same and a small edit is a small diff.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from pathlib import Path

import jupytext
import nbformat

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def build(source: str) -> str:
    """Return the notebook, as the text of an .ipynb file, of one py:percent source.

    Metadata in the source's header (but jupytext's own) and in its cells is kept. Raises nbformat's
    ValidationError when the result would not be a valid notebook.
    """
    book = jupytext.reads(source, fmt="py:percent")
    book.metadata.pop("jupytext", None)
    book.metadata["kernelspec"] = KERNEL
    book.metadata["language_info"] = {"name": "python"}
    book.nbformat, book.nbformat_minor = 4, 5
    seen: Counter[str] = Counter()
    for cell in book.cells:
        cell.metadata.pop("lines_to_next_cell", None)
        name = cell_name(cell)
        seen[name] += 1
        cell["id"] = name if seen[name] == 1 else f"{name[:58]}-{seen[name]}"
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.validate(book)
    return nbformat.writes(book).rstrip("\n") + "\n"


def cell_name(cell: nbformat.NotebookNode) -> str:
    """Return the id that a cell would have if no other were like it: 1 to 64 letters, digits, `-` and `_`."""
    grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
    if grade_id:
        return re.sub(r"[^A-Za-z0-9_-]", "-", grade_id)[:64]
    return hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:12]


def generate(root: Path) -> dict[str, str | None]:
    """Return every notebook that has a source, and None for each that has none and must go."""
    folder = root / "notebooks"
    texts: dict[str, str | None] = {f"notebooks/{path.name}": None for path in folder.glob("*.ipynb")}
    for path in sorted((folder / "src").glob("*.py")):
        texts[f"notebooks/{path.stem}.ipynb"] = build(path.read_text("utf-8"))
    return texts
