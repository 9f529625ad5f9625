"""The provider of a lab: a process of its own whose ledger lies beside the database, or a twin in memory."""

from __future__ import annotations

import re
import time
from pathlib import Path

import apsw

from labkit.errors import InvalidInput, LabError, ProviderAway
from labkit.lab.reach import Reached, never_sent
from labkit.provider.client import Client
from labkit.provider.ledger_file import read_ledger
from labkit.provider.process import ProviderProcess
from labkit.provider.protocol import Entry, World
from labkit.provider.twin import Twin
from labkit.scenario import Scenario

PATIENCE = 20.0  # seconds that another lab may take to bring the provider up
PAUSE = 0.05  # seconds between two looks


class MemoryOutside:
    """One twin for each workflow."""

    url = ""

    def __init__(self) -> None:
        self._twins: dict[str, Twin] = {}

    def world(self, scenario: Scenario) -> World:
        """The twin of the scenario's workflow."""
        name = scenario.workflow.name
        if name not in self._twins:
            self._twins[name] = scenario.twin()
        return self._twins[name]

    def entries(self, workflow: str) -> list[Entry]:
        """Everything that happened at the targets of a workflow, oldest first."""
        return self._twins[workflow].entries() if workflow in self._twins else []

    def close(self) -> None:
        """Nothing is left open."""


class ProcessOutside:
    """A provider process, started when it is first needed, with one ledger file a workflow in `folder`.

    Only one process may write a ledger. So whoever starts the provider holds a lock in `folder`; another lab on the
    same database, in a terminal beside a notebook, finds it taken and uses the provider that is there. When that
    provider ends, the next call that is refused takes the lock and starts one on the same ledger files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.url = folder, ""
        self._lock: apsw.Connection | None = None
        self._process: ProviderProcess | None = None
        self._worlds: dict[str, Reached] = {}

    def world(self, scenario: Scenario) -> Reached:
        """The open world of the scenario's workflow; raise InvalidInput when it is open with another provider."""
        name = scenario.workflow.name
        self._connect(time.monotonic() + PATIENCE)
        if name not in self._worlds:
            self._worlds[name] = Reached(self.reach(scenario), world_name(name), lambda: self.reach(scenario))
        return self._worlds[name]

    def reach(self, scenario: Scenario) -> str:
        """Open the scenario's world at the provider that is there, or at one that is started here; return its address.

        Raises LabError when neither works within `PATIENCE`.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            self._connect(deadline)
            try:
                self._open(scenario)
                return self.url
            except ProviderAway as away:
                if not never_sent(away) or time.monotonic() > deadline:
                    raise
            if self._process is not None:  # our own, and it is gone; another lab's is awaited
                self._process.stop()
                self._process = None
            time.sleep(PAUSE)

    def entries(self, workflow: str) -> list[Entry]:
        """Everything that happened at the targets of a workflow, read from the ledger file; starts nothing."""
        path = self.folder / f"provider-{world_name(workflow)}.jsonl"
        return read_ledger(path)[0] if path.exists() else []

    def close(self) -> None:
        """Stop the provider if this lab started it; the ledger files stay."""
        self._forget_worlds()
        if self._process is not None:
            self._address.unlink(missing_ok=True)  # whoever comes now waits for the lock
            self._process.stop()
            self._process = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _open(self, scenario: Scenario) -> None:
        workflow = scenario.workflow
        client = Client(self.url, world_name(workflow.name))
        try:
            client.create(
                workflow.targets, capability=scenario.capability, drift=scenario.drift, faults=scenario.faults
            )
        except InvalidInput:
            expected = {name: scenario.capability or target.capability for name, target in workflow.targets.items()}
            if (client.info.capabilities, client.info.drift) != (expected, scenario.drift):
                raise InvalidInput(
                    f"the provider of {self.folder} is open with {client.info.capabilities}, "
                    f"drift {client.info.drift}; expected {expected}, drift {scenario.drift}",
                    safe="nothing was run",
                    next="close the other lab, or open this one with the same provider and drift",
                ) from None
        finally:
            client.close()

    def _connect(self, deadline: float) -> None:
        if self._process is not None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        while self._lock is None and not self._take_lock():
            url = self._url_of_other()
            if url:
                self._turn_to(url)
                return
            if time.monotonic() > deadline:
                raise LabError(f"another lab holds {self.folder} and its provider does not come up", next="close it")
            time.sleep(PAUSE)
        self._process = ProviderProcess(self.folder).start()
        self._turn_to(self._process.url)
        self._address.with_suffix(".new").write_text(self.url, "utf-8")
        self._address.with_suffix(".new").replace(self._address)  # never seen half written

    def _turn_to(self, url: str) -> None:
        if url != self.url:
            self._forget_worlds()
            self.url = url

    @property
    def _address(self) -> Path:
        return self.folder / "provider.url"

    def _take_lock(self) -> bool:
        """Hold the lock until close, or until this process ends in any way."""
        lock = apsw.Connection(str(self.folder / "owner.lock"))
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except apsw.BusyError:
            lock.close()
            return False
        self._address.unlink(missing_ok=True)
        self._lock = lock
        return True

    def _url_of_other(self) -> str:
        try:
            return self._address.read_text("utf-8")
        except FileNotFoundError:
            return ""

    def _forget_worlds(self) -> None:
        for client in self._worlds.values():
            client.close()
        self._worlds = {}


def world_folder(database: str | Path) -> Path:
    """Where the provider's ledgers lie: in a folder beside the database."""
    return Path(f"{database}.world")


def world_name(workflow: str) -> str:
    """The name of a workflow's world, fit for a file name and an address."""
    return re.sub(r"[^a-z0-9_-]", "-", workflow.lower())[:64]
