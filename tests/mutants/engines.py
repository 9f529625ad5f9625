"""Broken engines: something is not written, not read back, or thrown away too early."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from pytest import MonkeyPatch

from labkit.engines import ENGINES, HybridEngine, SnapshotEngine
from labkit.model import Event, Run
from labkit.store.protocol import Tx
from tests.mutants import mutant
from tests.mutants.order import order


class ForgetsBudgets(SnapshotEngine):
    """Reads everything back but the budgets."""

    def load(self, run_id: str) -> tuple[Run[Any], list[Event]]:
        """The newest snapshot, with the budgets of a new run."""
        run, tail = super().load(run_id)
        run.budgets = replace(self.codec.workflow.budgets)
        return run, tail


@mutant("the recovered result equals that of a fault-free run", engine="snapshot")
def snapshot_without_budgets(patch: MonkeyPatch) -> None:
    """A field was added to the class and forgotten in the serializer: a new process may spend everything again."""
    patch.setitem(ENGINES, "snapshot", ForgetsBudgets)


class ForgetsSteps(SnapshotEngine):
    """Reads everything back but the list of completed steps."""

    def load(self, run_id: str) -> tuple[Run[Any], list[Event]]:
        """The newest snapshot, with no step completed."""
        run, tail = super().load(run_id)
        run.completed_steps = []
        return run, tail


@mutant("acknowledged progress is kept", workflow=order, engine="snapshot")
def snapshot_without_completed_steps(patch: MonkeyPatch) -> None:
    """The list is kept by the process for its own log and is no part of what is saved."""
    patch.setitem(ENGINES, "snapshot", ForgetsSteps)


class IgnoresTail(HybridEngine):
    """Takes the newest snapshot for the newest state."""

    def load(self, run_id: str) -> tuple[Run[Any], list[Event]]:
        """The newest snapshot alone."""
        return super().load(run_id)[0], []


@mutant("acknowledged progress is kept", workflow=order)
def tail_ignored(patch: MonkeyPatch) -> None:
    """Snapshots were added to an event-sourced system and the reader of the events after them was forgotten."""
    patch.setitem(ENGINES, "hybrid", IgnoresTail)


class SnapshotTooOld(HybridEngine):
    """Files a snapshot under the version before the step that it contains."""

    def commit(self, tx: Tx, run: Run[Any], event: Event) -> None:
        """Write as usual, then move the new snapshot back by one version."""
        super().commit(tx, run, event)
        tx.execute(
            "UPDATE base_snapshots SET state_version=state_version-1 WHERE run_id=? AND state_version=?",
            *(run.run_id, run.state_version),
        )


@mutant("every recovery ends")
def tail_applied_twice(patch: MonkeyPatch) -> None:
    """Off by one: the last event is in the snapshot and in the tail after it."""
    patch.setitem(ENGINES, "hybrid", SnapshotTooOld)


class CompactsTooMuch(HybridEngine):
    """Drops the events that are older than the run, not those that are older than its newest snapshot."""

    def commit(self, tx: Tx, run: Run[Any], event: Event) -> None:
        """Write as usual, then tidy up."""
        super().commit(tx, run, event)
        tx.execute("DELETE FROM tail_events WHERE run_id=? AND seq<=?", run.run_id, run.state_version)


@mutant("acknowledged progress is kept", workflow=order)
def compaction_drops_live_events(patch: MonkeyPatch) -> None:
    """A retention job counts from the present, not from the newest snapshot."""
    patch.setitem(ENGINES, "hybrid", CompactsTooMuch)
