"""The processes of the DBOS probes; see `labkit.stacks.probes.lives`."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path

import msgspec

from labkit.bench.launch import KILLED, Launcher
from labkit.errors import LabError
from labkit.stacks.probes import lives
from labkit.stacks.probes.lives import Lived

PATIENCE = 30.0  # seconds


class Life(lives.Life, kw_only=True, frozen=True):
    """One process: a function of `dbos_scenes`. `version` is the pinned application version, empty for DBOS's own
    hash."""

    SCENES = "labkit.stacks.probes.dbos_scenes"
    database: str
    version: str = "1"
    executor: str = "local"
    patience: float = PATIENCE

    @property
    def schema(self) -> str:
        """The schema of this probe's tables, on a server that many share."""
        return f"probe_{sha256(self.folder.encode()).hexdigest()[:16]}"


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
        return lives.lived(life, ended)


@contextmanager
def launching() -> Iterator[Launcher]:
    """Yield a launcher of such processes; nothing is left of it afterwards."""
    with closing(lives.launcher("labkit.stacks.probes.dbos_lives")) as launcher:
        yield launcher


def wait_for(file: Path) -> None:
    """Wait until another process has made `file`; raise LabError when it does not."""
    deadline = time.monotonic() + PATIENCE
    while not file.exists():
        if time.monotonic() > deadline:
            raise LabError(f"{file.name} was not made within {PATIENCE:.0f} seconds", safe="the process has ended")
        time.sleep(0.01)


if __name__ == "__main__":
    lives.main(Life)
