"""What one real process is to do, as plain data: it travels to the child as one line of JSON."""

from __future__ import annotations

from typing import Any

from labkit.bench.errand import Errand
from labkit.cases import find_workflow, name_of
from labkit.clock import Clock, ManualClock, SystemClock
from labkit.errors import InvalidInput
from labkit.model import Workflow
from labkit.own_engines import engine_name, engine_spec
from labkit.provider.client import Client
from labkit.provider.faults import Fault
from labkit.provider.ledger_file import read_ledger
from labkit.provider.protocol import Entry
from labkit.provider.wire import WorldInfo
from labkit.scenario import Scenario
from labkit.taps import Tap


class Outside(Client):
    """A provider's world whose entries are read from its file: an entry is there before anybody is answered."""

    def entries(self) -> list[Entry]:
        """Everything that happened, oldest first."""
        return read_ledger(self.info.ledger)[0]


class Job(Errand, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One process: a scenario whose workflow is named `module:attribute`, the files it works on, and where it dies.

    `info` is what the provider said of the world, if it was asked; `clock` is the ISO 8601 time at which its clock
    stands still, empty for the machine's clock.
    """

    workflow: str
    inputs: dict[str, Any]
    engine: str
    policy: str
    provider: str
    drift: bool
    run_id: str
    faults: tuple[Fault, ...] = ()
    database: str
    url: str
    world: str
    info: WorldInfo | None = None
    clock: str = ""

    @classmethod
    def of(cls, scenario: Scenario, **rest: Any) -> Job:
        """The job of `scenario`; `rest` are the fields that a scenario does not have."""
        same = {name: getattr(scenario, name) for name in Scenario.__struct_fields__ if name != "workflow"}
        same["engine"] = engine_spec(scenario.engine)
        return cls(workflow=spec_of(scenario.workflow), **same, **rest)

    def scenario(self) -> Scenario:
        """The scenario, built anew in this process; raise InvalidInput when its workflow cannot be imported."""
        same = {name: getattr(self, name) for name in Scenario.__struct_fields__ if name != "workflow"}
        same["engine"] = engine_name(self.engine)
        return Scenario(workflow=find_workflow(self.workflow), **same)

    def client(self) -> Client:
        """The provider's world, not yet connected."""
        return Outside(self.url, self.world, info=self.info)

    def new_clock(self) -> Clock:
        """The clock that the process goes by."""
        return ManualClock(self.clock) if self.clock else SystemClock()


def killed_by_provider(tap: Tap) -> bool:
    """True when the provider kills its caller at this tap (W2 and W3), not the caller itself."""
    return tap.operation == "call" and tap.phase in ("before", "executed")


def spec_of(workflow: Workflow[Any]) -> str:
    """`module:attribute` under which another process finds `workflow`; raise InvalidInput when there is none."""
    spec = name_of(workflow)
    if spec is None:
        raise InvalidInput(
            f"workflow {workflow.name} has no name that a new process could import it by",
            safe="nothing was run",
            next="put the workflow into a file of its own, as a variable at the top level, and import it from there",
        )
    return spec
