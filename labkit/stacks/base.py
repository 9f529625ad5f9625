"""What an adapter of a framework offers. Derive from `Stack`, name it in the entry point group `labkit.stacks`, done.

Every method is called in a fresh process that may be killed at any tap. What one process leaves for the next lies in
`place.folder`, or at one of the `place.services`; nothing else is passed on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from labkit.cases.desk import Desk, Facts
from labkit.errors import InvalidInput, LabError, Unsupported

__all__ = ["Desk", "Facts", "NeedsPerson", "Place", "Restored", "Stack", "Standing", "drive"]


class NeedsPerson(LabError):
    """An effect may or may not have happened, and its provider can neither recognise a repeat nor be asked.

    Let it end the run or the step in the way in which the framework reports a failure that must not be retried.
    """


class Place(msgspec.Struct, kw_only=True, frozen=True):
    """Where one run lives: the framework's files in `folder`, servers by name in `services` (address or DSN).

    `change` is empty, or a key of `cases.desk.CHANGES`: then the code is to look as it does after that change, while
    the version that the user gives it stays what it was.
    """

    folder: Path
    run_id: str
    services: dict[str, str] = {}
    change: str = ""


class Standing(NamedTuple):
    """How a run stands when a call returns: `completed`, `waiting` (for the manager) or `failed`, as the *framework*
    says, and the facts that it holds, for a completed run its result. `detail` is its own word or error."""

    status: Literal["completed", "waiting", "failed"]
    facts: Facts = {}  # noqa: RUF012 - a NamedTuple's default is never changed
    detail: str = ""


class Restored(NamedTuple):
    """What a new process finds of a run before it goes on: the facts (L1), and the step that comes next (L2), empty
    when the framework cannot tell."""

    facts: Facts
    next_step: str


class Stack:
    """A framework that runs the refund. Override what it can do; what is left raises Unsupported with a reason.

    `name` is what users type; `packages` are the distributions whose versions count; `services` are servers that it
    needs: `postgres` or `temporal`. `patience` is how many seconds one process may take. `forks` is False when the
    framework cannot be imported once and forked for each process.
    """

    name: str = ""
    packages: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    patience: float = 30.0
    forks: bool = True

    def prepare(self) -> None:
        """Get ready before a process is forked for each job: import, connect to nothing, start no thread."""

    def start(self, desk: Desk, place: Place) -> Standing:
        """Begin the run and take it as far as it goes without the manager."""
        raise self.lacks("start")

    def approve(self, desk: Desk, place: Place) -> Standing:
        """Give the manager's approval to the waiting run and take it as far as it goes."""
        raise self.lacks("approve")

    def resume(self, desk: Desk, place: Place) -> Standing:
        """After a crash: go on in the way that the documentation gives. Begin it when nothing of it was saved."""
        raise self.lacks("resume")

    def restored(self, desk: Desk, place: Place) -> Restored:
        """Look at the run without going on."""
        raise self.lacks("restored")

    def history(self, desk: Desk, place: Place) -> list[str]:
        """The points of the run's history that can be returned to, oldest first."""
        raise self.lacks("history")

    def fork(self, desk: Desk, place: Place, point: str) -> Standing:
        """Make another run from a `point` of the history and take it as far as it goes; the first one stays."""
        raise self.lacks("fork")

    def lacks(self, what: str, reason: str = "") -> Unsupported:
        """The error for something that the framework does not offer."""
        why = f": {reason}" if reason else ""
        return Unsupported(f"{self.name or type(self).__name__} offers no {what}{why}", safe="nothing was run")


def drive(stack: Stack, desk: Desk, place: Place, how: str) -> Any:
    """Start or resume (`how`) the run and take it to its end, with the manager approving whenever it waits.

    Raises InvalidInput for another word.
    """
    if how not in ("start", "resume"):
        raise InvalidInput(f"a run is driven by start or resume, not by {how!r}", safe="nothing was run")
    standing = getattr(stack, how)(desk, place)
    for _ in range(APPROVALS):
        if getattr(standing, "status", "") != "waiting":  # also what is no standing: who called will say so
            return standing
        standing = stack.approve(desk, place)
    return Standing("failed", detail=f"it still waits after {APPROVALS} approvals")


APPROVALS = 3
"""How often the manager says yes before a run that goes on waiting counts as failed."""
