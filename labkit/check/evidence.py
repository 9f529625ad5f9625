"""What can be known about a run from outside: our own records and the provider's, read after the fact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from labkit.coordination.approvals import Approval
from labkit.coordination.approvals import of_run as approvals_of
from labkit.effects import ledger
from labkit.errors import UnknownRun
from labkit.model import Moment, Run
from labkit.moves import CLOSE
from labkit.provider.protocol import Entry
from labkit.runner import Parts, Runner
from labkit.store import runs


class Evidence(msgspec.Struct, kw_only=True):
    """A run, its effect ledger, its approvals, and the provider's ledger.

    `run` is None when it does not exist, or when it is `unreadable` (the error as text). `reexecuted` counts what the
    provider was asked to do while the run was only read. `heard` says of effects how their last call ended, where the
    caller got no answer: `unclear` or `away`.
    """

    run: Run[Any] | None
    effects: list[ledger.Entry]
    approvals: list[Approval]
    outside: list[Entry]
    unreadable: str = ""
    reexecuted: int = 0
    heard: dict[str, str] = {}

    @property
    def status(self) -> str:
        """The run's status, or `none`."""
        return self.run.status if self.run else "none"

    def executed(self) -> Counter[str]:
        """How often the provider executed each logical effect, by subject."""
        return Counter(entry.subject for entry in self.outside if entry.kind == "effect")

    def duplicated(self) -> list[str]:
        """Subjects of effects that the provider executed more than once."""
        return [subject for subject, times in self.executed().items() if times > 1]

    def activities_repeated(self) -> int:
        """How many activity calls were made again."""
        return activities_repeated(self.outside)


def gather(runner: Runner, run_id: str, run: Run[Any] | None = None, *, reread: bool = False) -> Evidence:
    """Read the evidence about a run; `run` spares reading it when the caller has just recovered it.

    With `reread` the run is read all the same, to see that reading works and does nothing outside.
    """
    parts = runner.parts
    unreadable, before = "", len(parts.world.entries())
    if run is None or reread:
        try:
            found = runner.read(run_id)
            run = run or found
        except UnknownRun:
            pass
        except Exception as failure:  # a journal that the code cannot replay is a finding too
            unreadable = f"{type(failure).__name__}: {failure}"
    return Evidence(
        run=run,
        effects=ledger.entries(parts.store, run_id) if parts.policy.tracks else [],
        approvals=approvals_of(parts.store, run_id),
        outside=parts.world.entries(),
        unreadable=unreadable,
        reexecuted=len(parts.world.entries()) - before,
        heard=dict(parts.world.remembered().heard),
    )


def untracked(parts: Parts, tenant: str, run_id: str) -> set[str]:
    """Subjects of executed effects that our database knows nothing about: no ledger row, event or finished step."""
    executed = {entry.subject for entry in parts.world.entries() if entry.kind == "effect"}
    if not executed:
        return set()
    try:
        runs.header(parts.store, tenant, run_id)
    except UnknownRun:
        return executed
    known = {_place(entry.subject) for entry in ledger.entries(parts.store, run_id)}
    effects, steps = _recorded(parts.engine.history(run_id))
    known |= effects
    return {subject for subject in executed if _place(subject) not in known and visit_of(subject) not in steps}


def _recorded(moments: Sequence[Moment]) -> tuple[set[str], set[str]]:
    """Where a history has effects, and where completed visits to a step: `position.step.n` and `position.step`."""
    effects, visits = set(), set()
    position, nth = 0, 0
    for moment in moments:
        if moment.kind in ("effect", "failed") and "." in moment.name:  # an activity's name has no point
            nth += 1
            if moment.kind == "effect":
                effects.add(f"{position}.{moment.step}" + (f".{nth}" if nth > 1 else ""))
        elif moment.kind in ("completed", "snapshot") and moment.step not in ("began", CLOSE):
            visits.add(f"{position}.{moment.step}")
            position, nth = position + 1, 0
    return effects, visits


def _place(subject: str) -> str:
    """`position.step` or `position.step.n`, as it is in a subject, whichever run it began in."""
    return subject.split("/", 1)[1]


def visit_of(subject: str) -> str:
    """`position.step`: the visit to a step in which the effect of this subject is made."""
    return ".".join(_place(subject).split(".")[:2])


def activities_repeated(entries: Iterable[Entry]) -> int:
    """How many activity calls in a provider's ledger were made again."""
    calls = Counter(entry.subject for entry in entries if entry.kind == "activity")
    return sum(calls.values()) - len(calls)


def executed_steps(entries: Iterable[Entry]) -> Counter[str]:
    """How often a provider's ledger has the effect of each step executed."""
    return Counter(step_of(entry.subject) for entry in entries if entry.kind == "effect")


def step_of(subject: str) -> str:
    """The step named in a subject `run/position.step...`."""
    return subject.split("/", 1)[1].split(".")[1]
