"""The processes of probes: each scene is played in a process of its own, and some kill themselves.

What a process does outside is a line in a file, which survives a SIGKILL; what it says of itself is JSON in another. A
framework derives its own `Life` from the one here, and calls `main` in a module of its own.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import msgspec

from labkit.bench.errand import Errand
from labkit.bench.forking import serve
from labkit.bench.launch import DEFAULT_MODE, KILLED, Ended, Launcher, Plain, Zygote
from labkit.bench.trace import KILL

L = TypeVar("L", bound="Life")


class Life(Errand, kw_only=True, frozen=True):
    """One process: a function of the module `SCENES`, and what it needs to know.

    `verb` is the scene's word for what to do, `start` or `resume` in most; `kill` names where the process dies;
    `option` is the scene's own, such as how the code looks.
    """

    SCENES: ClassVar[str]
    scene: str
    verb: str = "start"
    kill: str = ""
    option: str = ""

    @property
    def said(self) -> Path:
        """The file that holds what the process says at its end."""
        return Path(self.folder) / f"said-{self.number}.json"

    @property
    def outside(self) -> Path:
        """The file that stands for the world outside: a line for each effect."""
        return Path(self.folder) / "effects.txt"

    def act(self, name: str) -> str:
        """Execute the effect `name`; return its receipt."""
        with self.outside.open("a", encoding="utf-8") as file:
            file.write(f"{name}\n")
        return f"receipt of {name}"

    def die_at(self, place: str) -> None:
        """Kill this process if it is to die at this place."""
        if self.kill == place:
            os.kill(os.getpid(), KILL)


class Lived(NamedTuple):
    """What is known when a process has ended: what it said (nothing if it was killed), and all effects so far."""

    said: dict[str, Any]
    executed: Counter[str]
    killed: bool


def lived(life: Life, ended: Ended) -> Lived:
    """What is known of a process that has ended."""
    said = msgspec.json.decode(life.said.read_bytes()) if life.said.exists() else {}
    lines = life.outside.read_text("utf-8").splitlines() if life.outside.exists() else []
    return Lived(said, Counter(lines), ended.status == KILLED)


def launcher(module: str) -> Launcher:
    """A launcher of processes whose `main` stands in `module`; close it."""
    return Zygote(module, "zygote") if DEFAULT_MODE == "zygote" else Plain(module)


def live(life: Life) -> None:
    """Be the process: play the scene, and write down what it says."""
    said = getattr(import_module(life.SCENES), life.scene)(life)
    life.said.write_bytes(msgspec.json.encode(said, enc_hook=repr))


def main(kind: type[L]) -> None:
    """Fork a process for each job with the argument `zygote`, or be the one whose job, as JSON, is the argument."""
    if sys.argv[1] == "zygote":
        serve(kind, live, lambda: import_module(kind.SCENES))
        return
    live(msgspec.json.decode(sys.argv[1], type=kind))
    sys.stdout.flush()
    os._exit(0)  # threads of a framework would be waited for
