"""Broken loops around the steps."""

from __future__ import annotations

from typing import Any

from pytest import MonkeyPatch

from labkit import scenario
from labkit.context import LiveContext
from labkit.engines import ENGINES, SnapshotEngine
from labkit.model import Event, Run
from labkit.runner import Runner
from labkit.store.protocol import Tx
from tests.mutants import mutant
from tests.mutants.order import order


class SavesLater(SnapshotEngine):
    """Keeps the newest state in memory until it is told to save."""

    newest: tuple[Run[Any], Event] | None = None

    def commit(self, tx: Tx, run: Run[Any], event: Event) -> None:
        """Only remember."""
        self.newest = run, event

    def save(self) -> None:
        """Write what was remembered last."""
        if self.newest:
            with self.store.transaction("run/save") as tx:
                super().commit(tx, *self.newest)


class SavesInFinally(Runner):
    """Saves when the work is over, however it ended."""

    def resume(self, run_id: str) -> Run[Any]:
        """Go on as usual, and save at the end."""
        try:
            return super().resume(run_id)
        finally:
            self.parts.engine.save()  # type: ignore[attr-defined]


@mutant("acknowledged progress is kept", workflow=order, engine="snapshot")
def state_written_in_finally(patch: MonkeyPatch) -> None:
    """Cleanup code is trusted with the only write. It survives every exception, and no SIGKILL."""
    patch.setitem(ENGINES, "snapshot", SavesLater)
    patch.setattr(scenario, "Runner", SavesInFinally)


@mutant("a terminal state stays")
def closed_run_reopened(patch: MonkeyPatch) -> None:
    """A janitor cancels the runs whose owner has died, without asking whether they are closed already."""
    sound = Runner.resume

    def resume(self: Runner, run_id: str) -> Run[Any]:
        with self.parts.store.transaction("run/sweep") as tx:
            tx.execute("UPDATE runs SET status='cancelled' WHERE run_id=? AND status='completed'", run_id)
        return sound(self, run_id)

    patch.setattr(Runner, "resume", resume)


@mutant("a fork or a replay re-executes nothing", workflow=order, engine="event-sourced")
def replay_calls_the_model_again(patch: MonkeyPatch) -> None:
    """The answer is looked up in the journal after the call was made: right results, paid twice."""
    sound = LiveContext.call

    def call(self: LiveContext, kind: str, name: str, perform: Any, *more: Any) -> Any:
        if kind == "activity" and not self.journal.used_up:
            perform()
        return sound(self, kind, name, perform, *more)

    patch.setattr(LiveContext, "call", call)
