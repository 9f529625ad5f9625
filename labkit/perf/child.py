"""A framework's process: `python -m labkit.perf.child MODULE FOLDER SIZE DONE STEPS` plays and is gone in mid-run.

It writes the seconds to FOLDER/answer.txt; without that file the last line that it printed says why.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import NoReturn

from labkit.perf.watch import Watch


def main(module: str, folder: str, size: str, done: str, steps: str) -> None:
    """Play `module`; the watch ends the process at the entry of a step, as a crash would."""

    def leave(seconds: float) -> NoReturn:
        Path(folder, "answer.txt").write_text(repr(seconds), "utf-8")
        os._exit(0)

    importlib.import_module(module).play(Path(folder), int(size), Watch(int(done), int(steps), leave))


if __name__ == "__main__":
    main(*sys.argv[1:])
