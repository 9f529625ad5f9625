"""The one loop: load, replay what is recorded, step, commit. The engines differ only in what they write and read."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from inspect import signature
from typing import Any

import msgspec

from labkit.authoring import step_failed
from labkit.bound import StepContext
from labkit.codec import check_id, encode
from labkit.context import LiveContext
from labkit.errors import EffectRejected, InvalidInput, LabError, StaleWrite, StepFailed, Unsupported
from labkit.journal import EndOfJournal, Journal
from labkit.memory import noting
from labkit.model import TERMINAL, Done, Event, Run, Workflow
from labkit.moves import CLOSE, apply, close, next_move
from labkit.parts import Parts
from labkit.store import runs
from labkit.suspend import Suspend

CLAIMABLE = ("running", "waiting_for_timer", "waiting_for_person")  # time passes, and a provider may answer now


def first_state(workflow: Workflow[Any], inputs: dict[str, Any]) -> Any:
    """The state that `inputs` begin with; raise InvalidInput when they do not fit the workflow."""
    if not workflow.steps:
        raise InvalidInput(f"workflow {workflow.name} has no step", safe="nothing was written", next="register one")
    check_names(workflow, inputs)
    with noting(workflow):
        return workflow.begin(**inputs)


_signature = cache(signature)  # as slow as a whole step


def check_names(workflow: Workflow[Any], inputs: dict[str, Any]) -> None:
    """Raise InvalidInput unless `inputs` have the names that the workflow begins with."""
    try:
        _signature(workflow.begin).bind(**inputs)
    except TypeError as error:
        raise InvalidInput(
            f"workflow {workflow.name} cannot begin with {sorted(inputs)}: {error}",
            safe="nothing was written",
            next=f"it takes {_signature(workflow.begin)}",
        ) from error


class Runner:
    """Starts and resumes runs of one workflow as one owner."""

    def __init__(self, parts: Parts, *, tenant: str = "acme", owner: str = "worker-1") -> None:
        self.parts, self.tenant, self.owner = parts, check_id("tenant", tenant), check_id("owner", owner)

    def start(self, run_id: str, inputs: dict[str, Any]) -> Run[Any]:
        """Begin a run and take it as far as it goes. Inputs are checked before anything is written.

        Raises InvalidInput for bad inputs or an id that is taken.
        """
        self.begin(run_id, inputs)
        return self.resume(run_id)

    def begin(self, run_id: str, inputs: dict[str, Any]) -> None:
        """Write a new run without taking a step; raise InvalidInput for bad inputs or an id that is taken."""
        parts = self.parts
        workflow = parts.workflow
        check_id("run id", run_id)
        data = first_state(workflow, inputs)
        belongs = workflow.tenant_of(**inputs) if workflow.tenant_of else self.tenant
        if belongs != self.tenant:
            raise InvalidInput(f"{inputs} belongs to another tenant than {self.tenant}", safe="nothing was written")
        run: Run[Any] = Run(
            tenant_id=self.tenant,
            workflow_id=workflow.name,
            workflow_version=workflow.version,
            run_id=run_id,
            origin=run_id,
            policy=parts.policy.name,
            next_transition=workflow.first,
            input_refs=[f"{name}:{value}"[:200] for name, value in inputs.items()],
            budgets=msgspec.structs.replace(workflow.budgets),
            checkpoint_schema=workflow.schema,
            created_at=parts.clock.now().isoformat(),
            data=data,
        )
        with parts.store.transaction("run/begin") as tx:
            runs.check_free(tx, run_id)
            parts.engine.begin(tx, run)

    def resume(self, run_id: str) -> Run[Any]:
        """Take a run as far as it goes in this process and return it; a closed or waiting run is only read.

        Raises UnknownRun, InvalidState, InvalidInput (another workflow or engine), Drift, StaleWrite, EffectUnknown.
        """
        found = self._header(run_id)
        if found.status in CLAIMABLE:
            with self.parts.store.transaction("run/claim") as tx:  # one transaction: what is loaded is what was claimed
                found = runs.claim(tx, self.tenant, run_id, self.owner)
                ctx = self._load(found, live=True)
        if found.status not in CLAIMABLE:  # asked again: another owner may have closed it before the claim
            return self.read(run_id)
        try:
            self._replay_and_go_on(ctx)
        except Suspend as wait:
            with self.parts.store.transaction(f"{ctx.step or 'run'}/wait") as tx:
                wait.write(tx)
                runs.advance(tx, ctx.run, wait.status, wait.reason)
        return ctx.run

    def read(self, run_id: str) -> Run[Any]:
        """The run as far as it is recorded: recorded calls are replayed, nothing is executed or written."""
        found = self._header(run_id)
        run = self._replayed(found).run
        run.status, run.reason = found.status, found.reason
        if run.status in TERMINAL:
            run.next_transition = None
        return run

    def fork(self, run_id: str, at: int, new_id: str) -> None:
        """Start `new_id` as a copy of a run as it was at version `at`; the effects of both are the same effects.

        Nothing is executed. Raises InvalidInput for an id that is taken, Unsupported for a moment that is not kept or
        at which the run was closed.
        """
        self._header(run_id)
        check_id("run id", new_id)
        with self.parts.store.transaction("run/fork") as tx:
            runs.check_free(tx, new_id)
            self.parts.engine.fork(tx, run_id, at, new_id)
            ctx = self._replayed(runs.header(tx, self.tenant, new_id))
            if ctx.run.next_transition is None or not ctx.journal.used_up:
                raise Unsupported(f"run {run_id} was closed at {at}: nothing is left to do", safe="nothing was written")

    def cancel(self, run_id: str, reason: str) -> Run[Any]:
        """Close an open run as cancelled; its owner can write no more. Raises StaleWrite when it is closed already."""
        run = self.read(run_id)
        with self.parts.store.transaction("run/claim") as tx:
            if run.status in TERMINAL:
                raise StaleWrite(
                    f"run {run_id} is closed, status {run.status}: only an open run can be cancelled",
                    safe="nothing was written",
                    next=f"labkit history {run_id} --db FILE shows how it ended",
                )
            run.fence = runs.claim(tx, self.tenant, run_id, self.owner).fence
        with self.parts.store.transaction("run/close") as tx:
            run.status, run.reason, run.next_transition = "cancelled", reason, None
            self.parts.engine.commit(tx, run, Event(0, "closed", "run", "cancelled", encode(reason, "reason")))
        return run

    def _header(self, run_id: str) -> runs.Header:
        found = runs.header(self.parts.store, self.tenant, check_id("run id", run_id))
        expected = (self.parts.workflow.name, self.parts.engine.name)
        if (found.workflow_id, found.engine) != expected:
            raise InvalidInput(
                f"run {run_id} belongs to workflow {found.workflow_id} on engine {found.engine}, "
                f"not {' on '.join(expected)}",
                safe="the run is untouched",
                next=f"use --engine {found.engine} with workflow {found.workflow_id}",
            )
        return found

    def _load(self, found: runs.Header, *, live: bool) -> LiveContext:
        run, tail = self.parts.engine.load(found.run_id)
        if run.policy != self.parts.policy.name:
            raise InvalidInput(
                f"run {found.run_id} was begun with policy {run.policy}, not {self.parts.policy.name}",
                safe="the run is untouched",
                next=f"use --policy {run.policy}",
            )
        run.run_id, run.state_version, run.fence = found.run_id, found.state_version, found.fence
        run.status = "running" if live or tail else found.status
        return LiveContext(self.parts, run, Journal(found.run_id, tail, live=live))

    def _replayed(self, found: runs.Header) -> LiveContext:
        ctx = self._load(found, live=False)
        with suppress(EndOfJournal):
            self._replay_and_go_on(ctx)
        return ctx

    def _replay_and_go_on(self, ctx: LiveContext) -> None:
        with noting(self.parts.workflow, type(self.parts.engine)):
            while ctx.run.status == "running" and ctx.journal.more:
                if ctx.journal.used_up and not self._drain(ctx):
                    return
                self._step(ctx, ctx.run.next_transition or CLOSE)

    def _step(self, ctx: LiveContext, name: str) -> None:
        step = close if name == CLOSE else self.parts.workflow.find(name)
        ctx.enter(name)
        bound, rejected = StepContext(ctx), False
        try:
            returned = step(bound, ctx.run.data)
        except EffectRejected as refused:
            returned, rejected = Done("failed", refused.what), True
        except LabError:
            raise
        except (Exception, SystemExit) as error:
            raise step_failed(name, ctx.run.run_id, error) from error
        finally:
            bound.over()
        if ctx.misused:
            raise ctx.misused
        if ctx.waits_for:
            what = f"step {name} caught the wait of run {ctx.run.run_id} and went on: {ctx.waits_for}"
            raise StepFailed(what, safe="nothing of it was committed", next="catch Exception, never BaseException")
        move = next_move(self.parts.workflow, ctx.run, name, returned, deliver_first=bool(ctx.planned))
        if ctx.journal.take("completed", name, move.to):
            apply(ctx.run, name, move, ctx.planned, rejected=rejected)
            return
        with self.parts.store.transaction(f"{name}/{'reject' if rejected else 'commit'}") as tx:
            ctx.flush(tx)
            apply(ctx.run, name, move, ctx.planned, rejected=rejected)
            self.parts.engine.commit(tx, ctx.run, Event(0, "completed", name, move.to, b""))

    def _drain(self, ctx: LiveContext) -> bool:
        """Deliver what the last commit left in the outbox; a refusal closes the run and gives False."""
        try:
            self.parts.policy.drain(ctx.fx_of, self.parts.store, ctx.run)
            return True
        except EffectRejected as refused:
            ctx.run.status, ctx.run.reason, ctx.run.next_transition = "failed", refused.what, None
            with self.parts.store.transaction("run/close") as tx:
                self.parts.engine.commit(
                    tx, ctx.run, Event(0, "closed", "run", "failed", encode(refused.what, "reason"))
                )
            return False
