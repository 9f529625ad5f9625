"""The lab as notebooks and exercises see it: run, kill, resume, look, decide."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from labkit.arguments import checked
from labkit.check.evidence import Evidence
from labkit.coordination import approvals
from labkit.effects import ledger
from labkit.effects.reconcile import compensate
from labkit.errors import UnknownRun
from labkit.lab import frames
from labkit.lab.deciding import answer, settle
from labkit.lab.kill import kill
from labkit.lab.machine import Machine
from labkit.lab.naming import chosen_id, run_id_of
from labkit.lab.view import Killed, RunView
from labkit.model import Decision, Run, Workflow
from labkit.provider.faults import Fault
from labkit.runner import Runner, first_state
from labkit.scenario import AS_DECLARED, Scenario, approve_all, require_workflow
from labkit.store import runs
from labkit.timeline import Timeline

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Lab", "run_id_of"]


class Lab:
    """A database of runs, the provider outside, and a trace of every process. Use it in `with`, or close it.

    `path` is a file, made when missing, or ":memory:". The provider's ledger is kept in `path.world/`, the traces in
    `path.trace/`. `engine` and `policy` are for new runs: a run keeps its own. `provider` is a capability that
    replaces each target's own, `faults` say when it misbehaves. `tenant` None means the tenant that the inputs belong
    to. `workflows` are your own, so that their runs can be read again. A lab belongs to one thread; any number of
    labs, in any processes, may share a file.
    """

    @checked
    def __init__(
        self,
        path: str | Path = "lab.db",
        *,
        engine: str | type[Any] = "hybrid",
        policy: str = "ledger",
        provider: str = AS_DECLARED,
        drift: bool = False,
        faults: Iterable[Fault] = (),
        tenant: str | None = None,
        workflows: Iterable[Workflow[Any]] = (),
    ) -> None:
        own = {workflow.name: workflow for workflow in map(require_workflow, workflows)}
        named: dict[str, Any] = {"engine": engine, "policy": policy, "provider": provider}
        self._machine = Machine(path, **named, drift=drift, faults=faults, tenant=tenant)
        self._machine.workflows |= own

    @checked
    def start(
        self, workflow: Workflow[Any], *, run_id: str | None = None, approve: bool = False, **inputs: Any
    ) -> RunView:
        """Begin a run and take it as far as it goes. With `approve` the manager says yes to whatever is asked.

        Raises InvalidInput for bad inputs or a run id that is taken; nothing is then written.
        """
        run_id = chosen_id(workflow, inputs, run_id)
        inputs = inputs or workflow.example
        first_state(workflow, inputs)
        scenario = self._machine.scenario(workflow, inputs, run_id)
        tenant = self._machine.tenant or scenario.tenant
        parts = scenario.parts(self._machine.store, self._machine.outside.world(scenario))
        runner = Runner(parts, tenant=tenant)
        with self._machine.recording(run_id):
            runner.begin(run_id, inputs)
            return self._take(runner, run_id, approve)

    def resume(self, run: str | RunView, *, approve: bool = False) -> RunView:
        """Take a run as far as it goes, as a new process would. A closed or waiting run is only read."""
        runner = self._machine.worker(_id(run))
        with self._machine.recording(_id(run)):
            return self._take(runner, _id(run), approve)

    def run(self, run: str | RunView) -> RunView:
        """The run as far as it is recorded; nothing is executed or written."""
        return self._view(self._machine.reader(_id(run)).read(_id(run)))

    def scenario(self, run: str | RunView) -> Scenario:
        """How a run is run: its workflow, engine, policy and provider."""
        return self._machine.scenario_of(self._machine.header(_id(run)))

    @checked
    def kill(
        self,
        workflow: Workflow[Any],
        *,
        at: str,
        effect: str | None = None,
        run_id: str | None = None,
        real: bool = True,
        **inputs: Any,
    ) -> Killed:
        """SIGKILL a child process that starts the run, or resumes it and plays the manager, when it passes `at`.

        `at` is a tap, or a window `W1` to `W5` of `effect` (`pay`, `pay/2`; the first one ahead by default).
        `real=False` only simulates the crash, which leaves the same rows. Raises InvalidInput for a tap that the
        process would not pass; nothing is then run.
        """
        run_id = chosen_id(workflow, inputs, run_id)
        if there := self.find(run_id):
            there.require(workflow, inputs)
        inputs = inputs or (there.inputs if there else workflow.example)
        first_state(workflow, inputs)
        return kill(self._machine, workflow, inputs, run_id, at=at, effect=effect, real=real)

    @checked
    def approve(
        self,
        run: str | RunView,
        *,
        verdict: str = "approved",
        by: str = "manager",
        changes: dict[str, Any] | None = None,
    ) -> RunView:
        """Answer the open question of a run: `approved`, `edited` (with `changes`) or `rejected`. Then resume it.

        The same answer once more changes nothing; another one is refused.
        """
        answer(self._machine, _id(run), Decision(verdict=verdict, by=by, changes=changes or {}))
        return self.run(run)

    def resolve(self, effect_key: str, verdict: str, receipt: str = "") -> RunView:
        """Say what became of an ambiguous effect: `confirmed` (with its receipt), `not-done` or `rejected`.

        What the ledger says already may be said once more.
        """
        return self.run(settle(self._machine, effect_key, verdict, receipt))

    def compensate(self, effect_key: str) -> RunView:
        """Undo a confirmed effect at its provider."""
        found = self._machine.effect(effect_key)
        parts = self._machine.worker(found.run_id).parts
        with self._machine.recording(found.run_id):
            compensate(parts.store, parts.world, found.tenant_id, effect_key)
        return self.run(found.run_id)

    def cancel(self, run: str | RunView, reason: str = "cancelled by hand") -> RunView:
        """Close an open run; whoever works on it can write no more."""
        runner = self._machine.reader(_id(run))
        with self._machine.recording(_id(run)):
            return self._view(runner.cancel(_id(run), reason))

    @checked
    def fork(self, run: str | RunView, at: int, new_id: str) -> RunView:
        """Copy a run as it was at state version `at` (see `history`) under a new id; effects made so far are shared."""
        self._machine.reader(_id(run)).fork(_id(run), at, new_id)
        return self.run(new_id)

    def find(self, run_id: str) -> RunView | None:
        """The run with this id, or None when there is none."""
        try:
            return self.run(run_id)
        except UnknownRun:
            return None

    def runs(self) -> pd.DataFrame:
        """One row a run, of the lab's tenant or of all."""
        store, own = self._machine.store, self._machine.tenant
        tenants = [own] if own else [row[0] for row in store.rows("SELECT DISTINCT tenant_id FROM runs")]
        return frames.runs_frame([each for tenant in tenants for each in runs.listing(store, tenant)])

    def history(self, run: str | RunView) -> pd.DataFrame:
        """One row a durable write that is kept of a run."""
        return frames.history_frame(self._machine.reader(_id(run)).parts.engine.history(_id(run)))

    def effects(self, run: str | RunView) -> pd.DataFrame:
        """One row an effect of a run that our own ledger knows."""
        self._machine.header(_id(run))
        return frames.effects_frame(ledger.entries(self._machine.store, _id(run)))

    def provider(self, workflow: Workflow[Any] | str | None = None) -> pd.DataFrame:
        """What really happened outside, one row an entry; of one workflow, or of all that have runs here."""
        name = workflow.name if isinstance(workflow, Workflow) else workflow
        rows = self._machine.store.rows("SELECT DISTINCT workflow_id FROM runs")
        names = [name] if name else [*{*self._machine.workflows, *(row[0] for row in rows)}]
        return frames.provider_frame([entry for each in sorted(names) for entry in self._machine.outside.entries(each)])

    def evidence(self, run: str | RunView) -> Evidence:
        """All that is known about a run, for `labkit.check`: our records and the provider's."""
        view = self.run(run)
        outside = self._machine.outside.entries(view.run.workflow_id)
        return Evidence(
            run=view.run,
            effects=ledger.entries(self._machine.store, view.id),
            approvals=approvals.of_run(self._machine.store, view.id),
            outside=[entry for entry in outside if entry.subject.startswith(f"{view.run.origin}/")],
        )

    def timeline(self, run: str | RunView) -> Timeline:
        """What the processes of a run did, what our ledger says, and what the provider did, side by side."""
        known = self.evidence(run)
        assert known.run is not None
        return Timeline.of(
            known.run,
            self._machine.processes(known.run.run_id),
            known.effects,
            known.outside,
            engine=self._machine.header(known.run.run_id).engine,
            policy=known.run.policy,
        )

    def close(self) -> None:
        """Close the database and stop the provider; closing twice does nothing."""
        self._machine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self, runner: Runner, run_id: str, approve: bool) -> RunView:
        run = runner.resume(run_id)
        while approve and run.status == "waiting_for_approval":
            approve_all(self._machine.store, runner.tenant, run_id)
            run = runner.resume(run_id)
        return self._view(run)

    def _view(self, run: Run[Any]) -> RunView:
        return RunView(run, self._machine.header(run.run_id).engine)


def _id(run: str | RunView) -> str:
    return run.id if isinstance(run, RunView) else run
