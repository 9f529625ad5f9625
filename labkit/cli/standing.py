"""How a run stands, and the command to type next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.lab.tables import listing
from labkit.model import TERMINAL

if TYPE_CHECKING:
    from labkit.lab.view import Killed, RunView


def standing(view: RunView, workflow: str | None, db: Path) -> Any:
    """The run as a table, with the next command instead of the next call."""
    lines = [(name, text) for name, text in view.lines() if name != "next"]
    following = next_command(view, workflow or view.run.workflow_id, db)
    return listing([*lines, ("next", following)] if following else lines)


def death(killed: Killed) -> Any:
    """What is known of a process that was killed, as a table."""
    return listing((name, text) for name, text in killed.lines() if name != "next")


def next_command(view: RunView | None, workflow: str, db: Path | None) -> str:
    """What to type next; empty when nothing is left to do, or nothing was kept."""
    if view is None or view.status in TERMINAL:
        return ""
    if db is None:
        return f"the same with --db {workflow.rpartition(':')[2]}.db, so that the run is kept for a person to decide"
    go_on = f"labkit run {workflow} --run-id {view.id} --db {db}"
    if view.status == "waiting_for_approval":
        return f"labkit approve {view.id} --db {db}, then {go_on}"
    if view.status == "waiting_for_person":
        return f"labkit effects {view.id} --db {db}, labkit resolve EFFECT_KEY --verdict ... --db {db}, then {go_on}"
    return go_on
