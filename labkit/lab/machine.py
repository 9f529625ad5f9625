"""What a lab is made of: a database, the provider outside, the workflows by name, and a trace for each process."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from labkit.cases import CASES, find_workflow
from labkit.effects import ledger
from labkit.effects.policies import POLICIES
from labkit.errors import InvalidInput, UnknownRun, known
from labkit.lab.outside import MemoryOutside, ProcessOutside, world_folder
from labkit.model import Workflow
from labkit.own_engines import engine_name
from labkit.parts import make_tables
from labkit.provider.faults import Fault
from labkit.runner import Runner
from labkit.scenario import PROVIDERS, Scenario
from labkit.store import runs
from labkit.store.sqlite import SqliteStore
from labkit.timeline.trace import ProcessTrace, Trace, read_folder, read_lines, trace_folder

MEMORY = ":memory:"


class Machine:
    """Opens or makes everything beside `path`. Raises InvalidInput for an unknown name; nothing is then made."""

    def __init__(
        self,
        path: str | Path,
        *,
        engine: str | type[Any],
        policy: str,
        provider: str,
        drift: bool,
        faults: Iterable[Fault],
        tenant: str | None,
    ) -> None:
        self.engine = engine_name(engine)
        self.policy = known("policy", policy, POLICIES)
        self.provider = known("provider", provider, PROVIDERS)
        self.drift, self.faults, self.tenant, self.path = drift, tuple(faults), tenant, str(path)
        if not isinstance(path, str | os.PathLike) or not self.path:
            raise InvalidInput(f"{path!r} is no path of a database", safe="nothing was made", next='Lab("lab.db")')
        self._store: SqliteStore | None = SqliteStore(self.path)
        make_tables(self.store)
        self.on_disk = self.path != MEMORY
        self.outside = ProcessOutside(world_folder(self.path)) if self.on_disk else MemoryOutside()
        self.workflows: dict[str, Workflow[Any]] = {}
        self._traces: dict[str, list[Trace]] = {}

    @property
    def store(self) -> SqliteStore:
        """The open database; raise InvalidInput after `close`."""
        if self._store is None:
            raise InvalidInput(
                f"the lab {self.path} is closed",
                safe="nothing was read or written",
                next=f"open it: Lab({self.path!r})",
            )
        return self._store

    def scenario(self, workflow: Workflow[Any], inputs: dict[str, Any], run_id: str, engine: str = "") -> Scenario:
        """The scenario of a run of this lab; the workflow is known by its name from now on."""
        self.workflows[workflow.name] = workflow
        return Scenario(
            workflow=workflow,
            inputs=inputs,
            engine=engine or self.engine,
            policy=self.policy,
            provider=self.provider,
            drift=self.drift,
            faults=self.faults,
            run_id=run_id,
        )

    def find(self, workflow_id: str) -> Workflow[Any]:
        """The workflow with this name: one that this lab has seen, or one of the lab's own cases."""
        if workflow_id not in self.workflows:
            if workflow_id not in CASES:
                raise InvalidInput(
                    f"this lab has not seen the code of workflow {workflow_id}",
                    safe="its runs are untouched",
                    next="Lab(path, workflows=[your_workflow]); on the command line: --workflow module:attribute",
                )
            self.workflows[workflow_id] = find_workflow(workflow_id)
        return self.workflows[workflow_id]

    def header(self, run_id: str) -> runs.Header:
        """The header of a run; raise UnknownRun when there is none, or when it is not this lab's tenant's."""
        owner = self.tenant
        if owner is None:
            rows = self.store.rows("SELECT tenant_id FROM runs WHERE run_id=?", str(run_id))
            if not rows:
                there = [row[0] for row in self.store.rows("SELECT run_id FROM runs ORDER BY created_at DESC")]
                near = get_close_matches(str(run_id), there, 3) or there[:3]
                raise UnknownRun(
                    f"there is no run {str(run_id)[:80]!r} in {self.path}",
                    safe="nothing was read or written",
                    next=f"there are: {', '.join(near)}" if near else "the database holds no run yet: start one",
                )
            owner = rows[0][0]
        return runs.header(self.store, owner, run_id)

    def effect(self, effect_key: str) -> ledger.Entry:
        """The effect with this key in our ledger; raise InvalidInput that names ambiguous ones when there is none."""
        found = ledger.find(self.store, effect_key)
        if found is None or self.tenant not in (None, found.tenant_id):
            there = [row[0] for row in self.store.rows("SELECT effect_key FROM effects WHERE status='ambiguous'")]
            near = ", ".join(get_close_matches(effect_key, there, 3, 0.1))
            raise InvalidInput(
                f"the ledger knows no effect {effect_key}",
                safe="nothing was written",
                next=f"ambiguous are: {near}" if near else f"labkit effects RUN --db {self.path} lists those of a run",
            )
        return found

    def scenario_of(self, found: runs.Header) -> Scenario:
        """The scenario of a run that is there: a run keeps its engine and its policy."""
        scenario = self.scenario(self.find(found.workflow_id), {}, found.run_id, found.engine)
        run, _ = scenario.parts(self.store, scenario.twin()).engine.load(found.run_id)
        return msgspec.structs.replace(scenario, policy=run.policy)

    def reader(self, run_id: str) -> Runner:
        """A runner that only reads a run: its world is an empty twin that is never asked."""
        found = self.header(run_id)
        scenario = self.scenario_of(found)
        return Runner(scenario.parts(self.store, scenario.twin()), tenant=found.tenant_id)

    def worker(self, run_id: str) -> Runner:
        """A runner that can take a run further, connected to the provider."""
        found = self.header(run_id)
        scenario = self.scenario_of(found)
        return Runner(scenario.parts(self.store, self.outside.world(scenario)), tenant=found.tenant_id)

    def image(self) -> bytes:
        """The database as it is, as bytes that a database in memory can take over."""
        image = self.store.image()
        return image[:18] + b"\1\1" + image[20:]  # file format 1: memory has no write-ahead log

    @contextmanager
    def recording(self, run_id: str, *, dies_at: str = "", window: str = "") -> Iterator[None]:
        """Write down the taps passed meanwhile as those of this process; with `dies_at`, a tap in a `window`, as those
        of one of its own."""
        traces = self._traces.setdefault(run_id, [])
        if not traces or traces[-1].over or dies_at:
            folder = trace_folder(self.path, run_id) if self.on_disk else None
            traces.append(Trace(folder, dies_at=dies_at, window=window))
        with traces[-1].listening():
            yield
            traces[-1].rest(self.header(run_id).status)

    def processes(self, run_id: str) -> list[ProcessTrace]:
        """The traces of the processes that worked on a run."""
        if self.on_disk:
            return read_folder(trace_folder(self.path, run_id))
        traces = self._traces.get(run_id, [])
        return [read_lines(trace.lines, number) for number, trace in enumerate(traces, 1) if trace.lines]

    def close(self) -> None:
        """Close the database and stop the provider."""
        self.outside.close()
        if self._store is not None:
            self._store.close()
            self._store = None
