"""Broken ownership: an old owner that wakes up is not stopped. Only two workers can show it."""

from __future__ import annotations

from typing import Any

from pytest import MonkeyPatch

from labkit.model import Run
from labkit.store import runs
from labkit.store.protocol import Tx
from tests.mutants import mutant
from tests.mutants.order import order


@mutant("a stale owner's write is refused", workflow=order, workers=2)
def version_and_fence_read_again_before_the_write(patch: MonkeyPatch) -> None:
    """The record is refreshed just before it is saved, so that the optimistic check compares it with itself."""
    sound = runs.advance

    def advance(tx: Tx, run: Run[Any], status: str | None = None, reason: str | None = None) -> None:
        found = runs.header(tx, run.tenant_id, run.run_id)
        run.state_version, run.fence = found.state_version, found.fence
        sound(tx, run, status, reason)

    patch.setattr(runs, "advance", advance)


@mutant("a stale owner's write is refused", workflow=order, engine="snapshot", workers=2)
def effect_tried_without_asking_who_owns_the_run(patch: MonkeyPatch) -> None:
    """The fence is checked when state is written, and not when an effect is begun."""
    patch.setattr(runs, "guard", lambda tx, run: None)
