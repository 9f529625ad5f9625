"""The processes of the LangGraph probes: each lives in a process of its own, and some kill themselves.

`python -m labkit.stacks.probes.langgraph_lives zygote` forks one for each job; with a job as JSON it is that process.
What it does outside is a line in a file, which survives a SIGKILL; what it says of itself is JSON in another.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from labkit.bench.errand import Errand
from labkit.bench.forking import serve
from labkit.bench.launch import DEFAULT_MODE, KILLED, Launcher, Plain, Zygote
from labkit.bench.trace import KILL
from labkit.errors import LabError
from labkit.stacks.conformance import Finding

MODULE = "labkit.stacks.probes.langgraph_lives"
SCENES = "labkit.stacks.probes.langgraph_scenes"
DEFAULT: dict[str, str] = {}
STRICT = {"LANGGRAPH_STRICT_MSGPACK": "true"}
"""Environments: types in stored bytes are built unless LangGraph is told to build the known ones only."""
Services = dict[str, str]


class Life(Errand, kw_only=True, frozen=True):
    """One process: a function of `langgraph_scenes`, and what it needs to know.

    `verb` is start, resume, replay (from the checkpoint before the second node) or look; `kill` names where it dies;
    `option` is the scene's own. The checkpoints are in Postgres if there is a `dsn`. `environment` is set before
    LangGraph is imported, so it takes a new interpreter.
    """

    scene: str
    verb: str = "start"
    durability: str = "sync"
    kill: str = ""
    option: str = ""
    dsn: str = ""
    environment: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def said(self) -> Path:
        """The file that holds what the process says at its end."""
        return Path(self.folder) / f"said-{self.number}.json"

    @property
    def database(self) -> Path:
        """The file that holds the checkpoints."""
        return Path(self.folder) / "checkpoints.sqlite"

    @property
    def outside(self) -> Path:
        """The file that stands for the world outside: a line for each effect."""
        return Path(self.folder) / "effects.txt"

    def act(self, name: str) -> None:
        """Execute the effect `name`."""
        with self.outside.open("a", encoding="utf-8") as file:
            file.write(f"{name}\n")

    def die_at(self, place: str) -> None:
        """Kill this process if it is to die at this place."""
        if self.kill == place:
            os.kill(os.getpid(), KILL)


class Lived(NamedTuple):
    """What is known when a process has ended: what it said (nothing if it was killed), and all effects so far."""

    said: dict[str, Any]
    executed: Counter[str]
    killed: bool


class Stage:
    """Runs the processes of one probe, one after another, on a `folder` of its own."""

    def __init__(self, launcher: Launcher, folder: Path) -> None:
        self._launcher, self._folder, self._count = launcher, folder, 0
        folder.mkdir(parents=True)

    def __call__(self, scene: str, **more: Any) -> Lived:
        """Let a process live; `more` are fields of `Life`. Raises LabError when it failed."""
        return self.end(self.job(scene, **more))

    def job(self, scene: str, **more: Any) -> Life:
        """The next process, not yet started."""
        self._count += 1
        return Life(folder=str(self._folder), number=self._count, scene=scene, **more)

    def end(self, life: Life, launcher: Launcher | None = None) -> Lived:
        """Start a process and wait for its end."""
        ended = (launcher or self._launcher).run(life)
        if ended.status not in (0, KILLED):
            raise LabError(f"{life.scene} {life.verb} ended with status {ended.status}: {ended.output[-600:]}")
        said = msgspec.json.decode(life.said.read_bytes()) if life.said.exists() else {}
        lines = life.outside.read_text("utf-8").split() if life.outside.exists() else []
        return Lived(said, Counter(lines), ended.status == KILLED)


@contextmanager
def launching(*, another: bool = False) -> Iterator[Launcher]:
    """Yield a launcher of such processes: the one of the block around this, or, also on demand, a new one."""
    if _open and not another:
        yield _open[-1]
        return
    launcher: Launcher = Zygote(MODULE, "zygote") if DEFAULT_MODE == "zygote" else Plain(MODULE)
    _open.append(launcher)
    try:
        yield launcher
    finally:
        _open.remove(launcher)
        launcher.close()


_open: list[Launcher] = []


@contextmanager
def stage(folder: Path) -> Iterator[Stage]:
    """Yield a stage on `folder`."""
    with launching() as launcher:
        yield Stage(launcher, folder)


def judged(good: bool, seen: str) -> Finding:
    """A finding that passes or fails."""
    return Finding("pass" if good else "fail", seen)


def live(life: Life) -> None:
    """Be the process: play the scene, and write down what it says."""
    os.environ.update(life.environment)
    said = getattr(import_module(SCENES), life.scene)(life)
    life.said.write_bytes(msgspec.json.encode(said))


def prepare() -> None:
    """Import LangGraph before the forks."""
    import_module(SCENES)


if __name__ == "__main__":
    if sys.argv[1] == "zygote":
        serve(Life, live, prepare)
    else:
        live(msgspec.json.decode(sys.argv[1], type=Life))
        sys.stdout.flush()
        os._exit(0)  # threads of the saver would be waited for
