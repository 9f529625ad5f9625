"""How a run stands, and the commands to type next."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.cli.output import emit
from labkit.lab.tables import listing
from labkit.model import TERMINAL

if TYPE_CHECKING:
    from labkit.effects.ledger import Entry
    from labkit.lab.facade import Lab
    from labkit.lab.view import Killed, RunView


def tell_standing(lab: Lab, view: RunView, workflow: str | None, db: Path, as_json: bool) -> None:
    """Print the run, and the next commands instead of the next call."""
    following = next_commands(view, lab.evidence(view).effects, workflow or view.run.workflow_id, db)
    emit(as_json, view.data(), lambda: _without_next(view), following)


def death(killed: Killed) -> Any:
    """What is known of a process that was killed, as a table."""
    return _without_next(killed)


def _without_next(shown: RunView | Killed) -> Any:
    return listing((name, text) for name, text in shown.lines() if name != "next")


def next_commands(view: RunView | None, effects: Iterable[Entry], workflow: str, db: Path | None) -> list[str]:
    """What to type next, a command a line; empty when nothing is left to do, or nothing was kept."""
    if view is None or view.status in TERMINAL:
        return []
    if db is None:
        until = "until its time has come" if view.status == "waiting_for_timer" else "for a person to decide"
        return [f"the same with --db {workflow.rpartition(':')[2]}.db, so that the run is kept {until}"]
    file = f"--db {shlex.quote(str(db))}"
    own = f"--workflow {workflow} {file}" if ":" in workflow else file
    before: list[str] = []
    if view.status == "waiting_for_approval":
        before = [f"labkit approve {view.id} {own}"]
    if view.status == "waiting_for_person":
        doubtful = (entry.effect_key for entry in effects if entry.status == "ambiguous")
        before = [f"labkit outside {file}", *verdicts(doubtful, own)]
    return [*before, f"labkit run {workflow} --run-id {view.id} {file}"]


def verdicts(keys: Iterable[str], where: str) -> list[str]:
    """For each effect in doubt the command by which a person says what became of it; the verdict is left to them."""
    return [f"labkit resolve {shlex.quote(key)} {where} --verdict ..." for key in keys]
