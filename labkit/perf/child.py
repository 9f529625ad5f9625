"""A framework's process: `python -m labkit.perf.child MODULE FOLDER SIZE DONE STEPS` plays and is gone in mid-run.

It writes what the watch timed to FOLDER/answer.json; without that file the last line that it printed says why.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import NoReturn

import msgspec

from labkit.perf.peers import ANSWER, PEER, RAW_DATABASE
from labkit.perf.raw import Raw
from labkit.perf.watch import Timed, Watch


def main(module: str, folder: Path, size: int, done: int, steps: int) -> None:
    """Play `module`; the watch ends the process at the entry of a step, as a crash would."""

    def leave(timed: Timed) -> NoReturn:
        (folder / ANSWER).write_bytes(msgspec.json.encode(timed))
        os._exit(0)

    play = importlib.import_module(module).play
    raw = Raw(folder / RAW_DATABASE, size) if steps else None
    play(folder / PEER, size, Watch(done, steps, raw=raw, stop=leave))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))
