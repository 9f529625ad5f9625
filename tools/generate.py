"""Rebuilds every generated file, or says which of them are stale: `python -m tools.generate [--check] [NAME ...]`.

A generator is a function from the project folder to the texts it wants: {path from the root: text}, where None means
that the file must not be there. To add one, write such a function and name it in GENERATORS.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from tools import course, environment, make_refund_cases, notebooks, picture, readmes

ROOT = Path(__file__).resolve().parent.parent
GENERATORS: dict[str, Callable[[Path], dict[str, str | None]]] = {
    "refund-cases": make_refund_cases.generate,
    "environment": environment.generate,
    "readmes": readmes.generate,
    "notebooks": notebooks.generate,
    "course": course.generate,
    "picture": picture.generate,
}


def stale(root: Path, names: list[str]) -> dict[str, str | None]:
    """Return the files that the named generators would change, with the text each should hold (None: no file)."""
    wanted = {path: text for name in names for path, text in GENERATORS[name](root).items()}
    return {path: text for path, text in sorted(wanted.items()) if text != present(root / path)}


def present(path: Path) -> str | None:
    """Return the text of a file, or None if there is no such file."""
    return path.read_bytes().decode() if path.exists() else None


def write(root: Path, texts: dict[str, str | None]) -> None:
    """Write each text to its path under `root`, with the same bytes on every platform; remove where it is None."""
    for path, text in texts.items():
        if text is None:
            (root / path).unlink()
        else:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(text.encode())


def main(argv: list[str] | None = None) -> int:
    """Rebuild, or check with `--check`; return 0 when nothing was stale or it was rebuilt, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tools.generate", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which of {', '.join(GENERATORS)}; all by default")
    parser.add_argument("--check", action="store_true", help="write nothing; name what is stale and exit with 1")
    given = parser.parse_args(argv)
    unknown = [name for name in given.names if name not in GENERATORS]
    if unknown:
        parser.error(f"no generator is called {', '.join(unknown)}; there are {', '.join(GENERATORS)}")
    changes = stale(ROOT, given.names or list(GENERATORS))
    if given.check:
        for path in changes:
            print(f"stale: {path}. Type: make generate", file=sys.stderr)
        return 1 if changes else 0
    write(ROOT, changes)
    for path in changes:
        print(f"rebuilt {path}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
