"""Executes a chapter in a kernel of its own, and keeps the result until something that it depends on changes."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, CellExecutionError, CellTimeoutError, DeadKernelError

from labkit.scratch import scratch_folder

ROOT = Path(__file__).resolve().parents[2]
IN_KERNEL = Path(__file__).with_name("in_kernel.py")
DEPENDS_ON = ("labkit", "datasets", "tests/mutants", "requirements.lock", "tools/book/in_kernel.py")
SECONDS = 600  # that one cell may take


class ChapterFailed(Exception):
    """A chapter did not run to its end; the text names it, the cell and the error."""


def digest(book: str) -> str:
    """Return a name, in hex, for a notebook's text and everything here that can change what it shows."""
    total = hashlib.sha256(f"{sys.version}\n{book}".encode())
    for path in depended_on():
        total.update(f"\n{path.relative_to(ROOT).as_posix()}\n".encode())
        total.update(path.read_bytes())
    return total.hexdigest()[:32]


def depended_on() -> Iterator[Path]:
    """Yield the files that a chapter may read or import, sorted."""
    for name in DEPENDS_ON:
        top = ROOT / name
        inside = sorted(path for path in top.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        yield from inside if top.is_dir() else [top]


def executed(name: str, text: str, kept: Path) -> tuple[nbformat.NotebookNode, str]:
    """Return the executed notebook of this `text`, from the folder `kept` if it is there, and how it came, in words.

    Raises ChapterFailed, and then keeps nothing.
    """
    path = kept / f"{name}-{digest(text)}.ipynb"
    if path.exists():
        return nbformat.read(path, as_version=4), "unchanged"
    began = time.monotonic()
    book = run(name, nbformat.reads(text, as_version=4))
    kept.mkdir(parents=True, exist_ok=True)
    for old in kept.glob(f"{name}-*.ipynb"):
        old.unlink()
    partial = path.with_suffix(".partial")
    nbformat.write(book, partial)
    partial.replace(path)
    return book, f"executed in {time.monotonic() - began:.0f} s"


def run(name: str, book: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Execute a notebook in place, in an empty folder, with a fresh IPython profile; return it."""
    with scratch_folder("book") as folder:
        here, startup = Path(folder, "here"), Path(folder, "ipython", "profile_default", "startup")
        here.mkdir()
        startup.mkdir(parents=True)
        shutil.copy(IN_KERNEL, startup)
        client = NotebookClient(
            book,
            timeout=SECONDS,
            kernel_name="python3",
            record_timing=False,
            store_widget_state=False,
            extra_arguments=["--log-level=ERROR"],
            resources={"metadata": {"path": str(here)}},
        )
        at = Last()
        client.on_cell_execute = at.see
        try:
            return client.execute(env={**os.environ, "IPYTHONDIR": str(Path(folder, "ipython"))})
        except (CellControlSignal, CellExecutionError, CellTimeoutError, DeadKernelError, RuntimeError) as error:
            raise ChapterFailed(failure(name, at, error)) from error


class Last:
    """Remembers which cell was started last."""

    number = 0
    source = ""

    def see(self, cell: nbformat.NotebookNode, cell_index: int, **_: object) -> None:
        """Called by the client before each cell."""
        self.number, self.source = cell_index + 1, cell.source


def failure(name: str, at: Last, error: Exception) -> str:
    """Return what went wrong where, for a person."""
    said = f"{error.ename}: {error.evalue}" if isinstance(error, CellExecutionError) else str(error)
    source = "\n".join(f"    {line}" for line in at.source.splitlines())
    return f"chapter {name} failed in cell {at.number}:\n\n{source}\n\n{said}\n\nThe book is as it was before."
