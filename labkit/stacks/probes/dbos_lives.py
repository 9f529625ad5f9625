"""The processes of the DBOS probes: each scene is played in a process of its own, and some kill themselves.

`python -m labkit.stacks.probes.dbos_lives zygote` forks one for each job; with a job as JSON it is that process. What
it does outside is a line in a file, which survives a SIGKILL; what it says of itself is JSON in another.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from labkit.bench.errand import Errand
from labkit.bench.forking import serve
from labkit.bench.launch import DEFAULT_MODE, KILLED, Launcher, Plain, Zygote
from labkit.bench.trace import KILL
from labkit.errors import LabError

SCENES = "labkit.stacks.probes.dbos_scenes"
PATIENCE = 30.0  # seconds


class Life(Errand, kw_only=True, frozen=True):
    """One process: a function of `dbos_scenes`, and what it needs to know.

    `verb` is the scene's word for what to do, `start` or `resume` in most; `kill` names where the process dies;
    `option` says how the code looks. `version` is the pinned application version, empty for DBOS's own hash.
    """

    scene: str
    database: str
    verb: str = "start"
    kill: str = ""
    option: str = ""
    version: str = "1"
    executor: str = "local"
    patience: float = PATIENCE

    @property
    def said(self) -> Path:
        """The file that holds what the process says at its end."""
        return Path(self.folder) / f"said-{self.number}.json"

    @property
    def outside(self) -> Path:
        """The file that stands for the world outside: a line for each effect."""
        return Path(self.folder) / "effects.txt"

    @property
    def schema(self) -> str:
        """The schema of this probe's tables, on a server that many share."""
        return f"probe_{sha256(self.folder.encode()).hexdigest()[:16]}"

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


class Stage:
    """Runs the processes of one probe on a `folder` of its own: with SQLite, or with Postgres when there is one."""

    def __init__(self, launcher: Launcher, folder: Path, services: dict[str, str]) -> None:
        folder.mkdir(parents=True)
        self.folder, self._launcher, self._services, self._count = folder, launcher, services, 0
        self._database = services.get("postgres") or f"sqlite:///{folder / 'dbos.sqlite'}"

    def __call__(self, scene: str, verb: str = "start", **more: str) -> Lived:
        """Let a process live; `more` are fields of `Life`. Raises LabError when it neither ended nor died as told."""
        life = self._life(scene, verb, **more)
        return self._end(life, self._launcher)

    def below(self, name: str) -> Stage:
        """Another stage, in the folder `name` of this one."""
        return Stage(self._launcher, self.folder / name, self._services)

    @contextmanager
    def beside(self, scene: str, verb: str = "start", **more: str) -> Iterator[list[Lived]]:
        """Let a process live while the block runs, from its first effect on; it stands in the list afterwards."""
        life, lived = self._life(scene, verb, **more), list[Lived]()
        with launching() as launcher:
            thread = threading.Thread(target=lambda: lived.append(self._end(life, launcher)))
            thread.start()
            wait_for(life.outside)
            try:
                yield lived
            finally:
                thread.join()

    def _life(self, scene: str, verb: str, **more: str) -> Life:
        self._count += 1
        about = {"folder": str(self.folder), "number": self._count, "database": self._database}
        return msgspec.convert({**about, "scene": scene, "verb": verb, **more}, Life)

    def _end(self, life: Life, launcher: Launcher) -> Lived:
        ended = launcher.run(life)
        if ended.status != (KILLED if life.kill else 0):
            raise LabError(f"{life.scene} {life.verb} ended with status {ended.status}: {ended.output[-1500:]}")
        said = msgspec.json.decode(life.said.read_bytes()) if life.said.exists() else {}
        lines = life.outside.read_text("utf-8").splitlines() if life.outside.exists() else []
        return Lived(said, Counter(lines), ended.status == KILLED)


@contextmanager
def launching() -> Iterator[Launcher]:
    """Yield a launcher of such processes; nothing is left of it afterwards."""
    module = "labkit.stacks.probes.dbos_lives"
    with closing(Zygote(module, "zygote") if DEFAULT_MODE == "zygote" else Plain(module)) as launcher:
        yield launcher


def wait_for(file: Path) -> None:
    """Wait until another process has made `file`; raise LabError when it does not."""
    deadline = time.monotonic() + PATIENCE
    while not file.exists():
        if time.monotonic() > deadline:
            raise LabError(f"{file.name} was not made within {PATIENCE:.0f} seconds", safe="the process has ended")
        time.sleep(0.01)


def live(life: Life) -> None:
    """Be the process: play the scene, and write down what it says."""
    said = getattr(import_module(SCENES), life.scene)(life)
    life.said.write_bytes(msgspec.json.encode(said, enc_hook=repr))


def prepare() -> None:
    """Import DBOS before the forks."""
    import_module(SCENES)


if __name__ == "__main__":
    if sys.argv[1] == "zygote":
        serve(Life, live, prepare)
    else:
        live(msgspec.json.decode(sys.argv[1], type=Life))
        sys.stdout.flush()
        os._exit(0)  # the threads of DBOS would be waited for
