"""What must hold after every crash, whatever the engine and policy. Each invariant has a name that reports use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from labkit.check.evidence import Evidence
from labkit.check.repeats import same_identity
from labkit.coordination.approvals import Approval
from labkit.model import OUTCOME, TERMINAL
from labkit.provider.protocol import Entry

NO_STEPS: Counter[str] = Counter()


class Violation(msgspec.Struct, frozen=True):
    """A broken invariant, by name, and what was found."""

    invariant: str
    text: str


class Promise(NamedTuple):
    """An effect that was `done` after a person said yes, and what was `meant` when the question was asked (None: no
    such effect)."""

    approval: Approval
    meant: Entry | None
    done: Entry

    def __str__(self) -> str:
        meant = _order(self.meant) if self.meant else "nothing"
        return (
            f"{self.done.subject}: {meant} was to be done when {self.approval.request_id} was asked, "
            f"{_order(self.done)} was done{self._unnamed()}"
        )

    def _unnamed(self) -> str:
        """What the question does not say, when it does not tell one from the other."""
        if self.meant is None:
            return ""
        before, after = self.meant.request, self.done.request
        changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        asked = self.approval.question + self.approval.about
        silent = ", ".join(name for name in changed if str(before.get(name)) not in asked)
        about = f", about {_short(self.approval.about)}," if self.approval.about else ""
        return f"; the question {_short(self.approval.question)!r}{about} does not name {silent}" if silent else ""


class Judged(NamedTuple):
    """What an invariant is judged on.

    `reference` is a fault-free run of the same scenario, and `commits` how often it commits each step (once where it
    does not say); `at_crash` is the status at the last crash; `acknowledged` counts the commits that were acknowledged
    before it, by step, `again` those after it; `untracked` are the effects that only the provider knew of at a crash;
    `promises` are effects that were done otherwise than a person had said yes to; `since` is how many entries the
    provider had at the last crash, None where what was asked for later is not compared with the reference.
    """

    evidence: Evidence
    reference: Evidence
    at_crash: str = "none"
    acknowledged: Counter[str] = NO_STEPS
    again: Counter[str] = NO_STEPS
    commits: Counter[str] = NO_STEPS
    untracked: frozenset[str] = frozenset()
    promises: tuple[Promise, ...] = ()
    since: int | None = None


def _duplicate(case: Judged) -> Iterator[str]:
    executed = case.evidence.executed()
    for subject in case.evidence.duplicated():
        yield f"{subject} was executed {executed[subject]} times"


def _repeated(case: Judged) -> Iterator[str]:
    yield from same_identity(case.evidence.outside)


def _lost(case: Judged) -> Iterator[str]:
    if case.evidence.status == "completed":
        done = case.evidence.executed()
        yield from (f"{subject} was never executed" for subject in case.reference.executed() if not done[subject])
        yield from (
            f"completed, our ledger has {entry.effect_key} as {entry.status}, executed {done[entry.subject]} times"
            for entry in case.evidence.effects
            if entry.status in ("planned", "executing", "ambiguous")
            or (entry.status == "confirmed" and not done[entry.subject])
        )


def _untracked(case: Judged) -> Iterator[str]:
    yield from (f"{subject} was executed and only the provider knew" for subject in sorted(case.untracked))


def _progress(case: Judged) -> Iterator[str]:
    completed = set(case.evidence.run.completed_steps) if case.evidence.run else set()
    for step, times in sorted(case.acknowledged.items()):
        if step not in completed | {"close"}:
            yield f"step {step} was acknowledged and is gone"
        if case.again[step] and times + case.again[step] > case.commits.get(step, 1):
            yield f"step {step} was acknowledged and ran again"


def _terminal(case: Judged) -> Iterator[str]:
    if case.at_crash in TERMINAL and case.evidence.status != case.at_crash:
        yield f"the run was {case.at_crash} and became {case.evidence.status}"


def _approval(case: Judged) -> Iterator[str]:
    for asked in case.evidence.approvals:
        if asked.used > 1:
            yield f"approval {asked.request_id} was used {asked.used} times"
    if len(case.evidence.approvals) > len(case.reference.approvals):
        yield f"{len(case.evidence.approvals)} approvals were asked for instead of {len(case.reference.approvals)}"


def _result(case: Judged) -> Iterator[str]:
    yield from _done_otherwise(case)
    run, reference = case.evidence.run, case.reference.run
    if run is None or reference is None or run.status not in TERMINAL:
        return
    pairs = [(name, getattr(run, name), getattr(reference, name)) for name in OUTCOME if name != "data"]
    if run.data != reference.data:
        fields = run.data.__struct_fields__
        pairs += [(f"data.{name}", getattr(run.data, name), getattr(reference.data, name)) for name in fields]
    for name, found, expected in pairs:
        if found != expected:
            yield f"{name} is {_short(found)}, a fault-free run has {_short(expected)}"


def _done_otherwise(case: Judged) -> Iterator[str]:
    """Effects of the last process that a fault-free run does not make, or makes with another request.

    One from before the crash was asked for by a process that may have got other answers.
    """
    if case.since is None:
        return
    meant = {entry.subject: entry for entry in case.reference.outside if entry.kind == "effect"}
    done = {entry.subject: entry for entry in case.evidence.outside[case.since :] if entry.kind == "effect"}
    for subject, entry in done.items():
        if subject not in meant:
            yield f"{subject} did {_order(entry)}, which a fault-free run does not do"
        elif not same_order(meant[subject], entry):
            yield f"{subject} did {_order(entry)}, a fault-free run does {_order(meant[subject])}"


def same_order(one: Entry, other: Entry) -> bool:
    """True when two effects did the same at the same target."""
    return all(getattr(one, name) == getattr(other, name) for name in ("target", "operation", "request"))


def _approved(case: Judged) -> Iterator[str]:
    yield from (str(promise) for promise in case.promises)


def _replay(case: Judged) -> Iterator[str]:
    """The reference counts too: it is read once more after its images were taken, a recovered run is not."""
    again = case.evidence.reexecuted or case.reference.reexecuted
    if again:
        yield f"reading the run made {again} calls to the provider"


def _finished(case: Judged) -> Iterator[str]:
    """Every recovery ends: closed, waiting for a person who has something to decide, or as a fault-free run does.

    One that waits for its time is not broken: where it stands is told as not reached.
    """
    if case.evidence.unreadable:
        yield f"the run cannot be read: {case.evidence.unreadable}"
    elif case.evidence.status == "waiting_for_person":
        if not any(entry.status in ("ambiguous", "planned") for entry in case.evidence.effects):
            yield "the run waits for a person and no effect needs one"
    elif case.evidence.status not in (*TERMINAL, "waiting_for_timer", case.reference.status):
        yield f"the run was resumed and stands at {case.evidence.status}"


INVARIANTS: dict[str, Callable[[Judged], Iterator[str]]] = {
    "no duplicate effect": _duplicate,
    "an effect happens once for its business identity": _repeated,
    "no lost effect": _lost,
    "no untracked effect": _untracked,
    "acknowledged progress is kept": _progress,
    "a terminal state stays": _terminal,
    "an approval is asked once and used once": _approval,
    "what was approved is what is done": _approved,
    "a fork or a replay re-executes nothing": _replay,
    "the recovered result equals that of a fault-free run": _result,
    "every recovery ends": _finished,
}


def judge(case: Judged) -> list[Violation]:
    """Every violation, in the order of `INVARIANTS`."""
    return [Violation(name, text) for name, rule in INVARIANTS.items() for text in rule(case)]


def _order(entry: Entry) -> str:
    return f"{entry.target}.{entry.operation} {_short(msgspec.json.encode(entry.request).decode())}"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 200 else text[:197] + "..."
