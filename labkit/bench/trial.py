"""One trial: a process dies at a tap, the next resumes, possibly dies too, and the last one runs to its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from labkit.bench.errand import PATIENCE
from labkit.bench.job import Job, Outside
from labkit.bench.launch import Ended, Launcher, launcher
from labkit.check.evidence import Evidence, gather
from labkit.clock import START, ManualClock, next_clock
from labkit.provider.client import Client
from labkit.provider.connection import Connections
from labkit.provider.process import ProviderProcess
from labkit.provider.wire import WorldInfo
from labkit.scenario import Scenario
from labkit.store.sqlite import SqliteStore
from labkit.taps import Tap


def create_world(client: Client, scenario: Scenario, folder: str = ".") -> WorldInfo:
    """Open a world that is as `scenario` says, with its ledger file in `folder` below the provider's root."""
    return client.create(
        scenario.workflow.targets,
        capability=scenario.capability,
        drift=scenario.drift,
        faults=scenario.faults,
        folder=folder,
    )


class Trial(msgspec.Struct, kw_only=True):
    """How the processes of a trial ended, in order; `evidence` is None unless each did what it was to do."""

    lives: list[Ended]
    evidence: Evidence | None = None


class Site(msgspec.Struct, kw_only=True, frozen=True):
    """Where trials run: how processes are started, connections to the provider, the folder that is its root."""

    launcher: Launcher
    connections: Connections
    root: Path
    patience: float = PATIENCE

    def trial(self, scenario: Scenario, name: str, schedule: Sequence[Tap]) -> Trial:
        """Let one process after another die at the taps of `schedule`, the last one live, and read what is left.

        Works in the new folder `name` below `root`, on a new world of that name.
        """
        with self.world(scenario, name) as client:
            lives = self.live(scenario, name, schedule, client.info)
            if len(lives) <= len(schedule) or lives[-1].failed:
                return Trial(lives=lives)
            with closing(SqliteStore(self.root / name / "lab.db")) as store:
                runner = scenario.runner(store, client, ManualClock())
                return Trial(lives=lives, evidence=gather(runner, scenario.run_id))

    def live(self, scenario: Scenario, name: str, schedule: Sequence[Tap], info: WorldInfo) -> list[Ended]:
        """The processes of a trial: one for each tap and one that lives, or fewer when one missed its tap."""
        lives: list[Ended] = []
        clock = START
        for tap in (*schedule, None):
            lives.append(self.launcher.run(self.job(scenario, name, len(lives) + 1, tap, info, clock)))
            if not lives[-1].reached:
                break
            clock = next_clock(lives[-1].time or clock).now().isoformat()
        return lives

    def job(
        self,
        scenario: Scenario,
        name: str,
        number: int,
        tap: Tap | None,
        info: WorldInfo | None = None,
        clock: str = START,
    ) -> Job:
        """The job of one process of a trial, whose world is open and was described by `info`.

        `clock` is the time at which the process starts, as in the simulator: processes differ in it, trials do not.
        """
        folder = self.root / name
        files: dict[str, Any] = {"folder": str(folder), "database": str(folder / "lab.db"), "number": number}
        outside = {"url": self.connections.url, "world": folder.name, "info": info}
        return Job.of(scenario, **files, **outside, tap=str(tap or ""), clock=clock, patience=self.patience)

    @contextmanager
    def world(self, scenario: Scenario, name: str) -> Iterator[Client]:
        """A new folder and a new world for one trial; the world is closed afterwards, the files stay."""
        (self.root / name).mkdir(parents=True)
        client = Outside(self.connections.url, Path(name).name, connections=self.connections)
        create_world(client, scenario, folder=name)
        try:
            yield client
        finally:
            client.close_world()


@contextmanager
def open_sites(mode: str, workflow: str, root: Path, lanes: int = 1) -> Iterator[list[Site]]:
    """So many sites on one provider process with root `root`; all processes end with the block."""
    root = root.resolve()
    with ExitStack() as stack:
        provider = stack.enter_context(ProviderProcess(root))
        connections = stack.enter_context(closing(Connections(provider.url)))
        launchers = [stack.enter_context(closing(launcher(mode, workflow))) for _ in range(lanes)]
        yield [Site(launcher=each, connections=connections, root=root) for each in launchers]
