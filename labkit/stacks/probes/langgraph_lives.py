"""The processes of the LangGraph probes; see `labkit.stacks.probes.lives`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from labkit.bench.launch import KILLED, Launcher
from labkit.errors import LabError
from labkit.stacks.conformance import Finding
from labkit.stacks.probes import lives
from labkit.stacks.probes.lives import Lived

MODULE = "labkit.stacks.probes.langgraph_lives"
DEFAULT: dict[str, str] = {}
STRICT = {"LANGGRAPH_STRICT_MSGPACK": "true"}
"""Environments: types in stored bytes are built unless LangGraph is told to build the known ones only."""
Services = dict[str, str]


class Life(lives.Life, kw_only=True, frozen=True):
    """One process: a function of `langgraph_scenes`; besides start and resume, `verb` may be replay (from the
    checkpoint before the second node) or look.

    The checkpoints are in Postgres if there is a `dsn`. An `awaited` run is awaited on the asynchronous saver instead
    of invoked. `environment` is set before LangGraph is imported, so it takes a new interpreter.
    """

    SCENES = "labkit.stacks.probes.langgraph_scenes"
    durability: str = "sync"
    dsn: str = ""
    awaited: bool = False
    environment: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def database(self) -> Path:
        """The file that holds the checkpoints."""
        return Path(self.folder) / "checkpoints.sqlite"


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
        return lives.lived(life, ended)


@contextmanager
def launching(*, another: bool = False) -> Iterator[Launcher]:
    """Yield a launcher of such processes: the one of the block around this, or, also on demand, a new one."""
    if _open and not another:
        yield _open[-1]
        return
    launcher = lives.launcher(MODULE)
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


if __name__ == "__main__":
    if sys.argv[1] != "zygote":  # before LangGraph is imported
        os.environ.update(msgspec.json.decode(sys.argv[1], type=Life).environment)
    lives.main(Life)
