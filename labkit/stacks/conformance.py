"""What every stack is asked, and what counts as an answer. Each check is a short story of real processes.

A check gets a `Stage`, which runs processes of one stack on a new run, and returns a `Finding`. A capability that a
stack does not offer is `unsupported`, with the reason; what could not be tried is `not run`, with the reason. Neither
ever reads as a pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol

from labkit.cases.desk import EFFECTS, PLAN
from labkit.errors import LabError

Outcome = Literal["pass", "fail", "unsupported", "not run"]
Verb = Literal["start", "resume", "begin", "approve", "restored", "history", "fork"]
"""What a process can be asked for: a method of `Stack` each, but that `start` and `resume` are driven to the end, with
the manager approving, and `begin` is its `start` alone."""


class Finding(NamedTuple):
    """How a check came out, and what was seen; for `unsupported` and `not run` the reason."""

    outcome: Outcome
    seen: str

    @classmethod
    def not_run(cls, error: Exception) -> Finding:
        """The finding of what could not be tried because of `error`."""
        return cls("not run", error.what if isinstance(error, LabError) else f"{type(error).__name__}: {error}")


class Seen(NamedTuple):
    """What is known after a process: how it stands (`killed`, or the status of its answer), the facts, the next step
    and the points it told of, how often each effect was executed so far, how many activity calls were repeated, and
    whether it found anything that an earlier process had in memory. `detail` is its own word."""

    status: str
    facts: dict[str, Any]
    next_step: str
    points: list[str]
    executed: dict[str, int]
    paid: int
    session: bool
    detail: str


class Stage(Protocol):
    """A new run of a stack. Each call is one real process, and returns when it has ended.

    Raises Unsupported when the stack does not offer what is asked, LabError when the process says nothing that counts.
    """

    def __call__(self, verb: Verb, *, tap: str = "", argument: str = "", change: str = "") -> Seen:
        """Let a process do `verb` (see `Verb`), killed at `tap`."""
        ...


BEFORE_MAIL = "send_mail/enter:before#1"
"""The refund is paid and its result is saved; the mail has not been sent."""


def approval_across_processes(stage: Stage) -> Finding:
    """One process asks the manager and ends; another brings the answer, and the run is completed."""
    asked = stage("begin")
    if asked.status != "waiting":
        return Finding("fail", f"the first process ended {asked.status}: {asked.detail}")
    approved = stage("approve")
    good = approved.status == "completed" and once(approved)
    return _judged(good, f"waiting in one process, {approved.status} in the next, executed {told(approved)}")


def goes_on_after_a_crash(stage: Stage) -> Finding:
    """After a kill between two steps the run is completed, and nothing that was saved is done again."""
    stage("start", tap=BEFORE_MAIL)
    after = stage("resume")
    good = after.status == "completed" and once(after) and not after.paid
    return _judged(good, f"{after.status}, executed {told(after)}, {after.paid} activity calls paid again")


def guards_an_effect(stage: Stage) -> Finding:
    """A kill after the provider has paid and before the step returned does not pay twice, with nothing added."""
    stage("start", tap="execute_refund/call:executed#1")
    after = stage("resume")
    return _judged(after.executed.get("execute_refund") == 1, f"{after.status}, executed {told(after)}")


def brings_back_the_facts(stage: Stage) -> Finding:
    """L1: a new process finds what the run knew: case, verdict, draft, the receipt of the refund."""
    stage("start", tap=BEFORE_MAIL)
    found = stage("restored")
    missing = [name for name in ("case", "verdict", "draft", "refund_receipt") if name not in found.facts]
    return _judged(not missing, f"missing: {', '.join(missing)}" if missing else "all facts are there")


def brings_back_the_pointer(stage: Stage) -> Finding:
    """L2: a new process finds where the run had got to."""
    stage("start", tap=BEFORE_MAIL)
    found = stage("restored")
    return _judged(found.next_step == "send_mail", f"next step {found.next_step or 'unknown'!r}, expected 'send_mail'")


def brings_back_the_environment(stage: Stage) -> Finding:
    """L3: what the first process had open in memory is there again."""
    stage("start", tap=BEFORE_MAIL)
    after = stage("resume")
    reopened = after.paid > 0  # then the step that opens it simply ran again
    return _judged(after.session and not reopened, "the session is there" if after.session else "the session is gone")


def has_a_history(stage: Stage) -> Finding:
    """The points of a finished run can be listed."""
    stage("start")
    found = stage("history")
    return _judged(len(found.points) >= len(PLAN), f"{len(found.points)} points for {len(PLAN)} steps")


def forks(stage: Stage) -> Finding:
    """A second run starts from the middle of the first; what came before that point is not executed again."""
    stage("start")
    history = stage("history")
    point = next((point for point in history.points if "send_mail" in point), "")
    if not point:
        return Finding("unsupported", f"no point before send_mail among {', '.join(history.points) or 'none'}")
    forked = stage("fork", argument=point)
    good = forked.status == "completed" and forked.executed.get("execute_refund") == 1
    return _judged(good, f"from {point}: {forked.status}, executed {told(forked)}")


def a_finished_run_stays_finished(stage: Stage) -> Finding:
    """Resuming a completed run executes nothing."""
    stage("start")
    again = stage("resume")
    return _judged(once(again) and not again.paid, f"{again.status}, executed {told(again)}, {again.paid} paid again")


def starting_again_is_harmless(stage: Stage) -> Finding:
    """Whoever starts the crashed run again, instead of resuming it, is refused, or executes nothing twice."""
    stage("start", tap=BEFORE_MAIL)
    again = stage("start")
    good = max(again.executed.values(), default=0) == 1 and (once(again) or again.status != "completed")
    return _judged(good, f"{again.status}, executed {told(again)} {again.detail}".strip())


def renamed_code_is_noticed(stage: Stage) -> Finding:
    """When the next step has another name in the new code, the run fails loudly or goes on; no effect is lost."""
    stage("start", tap=BEFORE_MAIL)
    after = stage("resume", change="renamed")
    lost = [step for step in EFFECTS if not after.executed.get(step)] if after.status == "completed" else []
    return _judged(not lost, f"{after.status}, executed {told(after)} {after.detail}".strip())


def inserted_code_is_noticed(stage: Stage) -> Finding:
    """When a step was inserted before the point of the crash, the run says so instead of going on without it."""
    stage("start", tap=BEFORE_MAIL)
    after = stage("resume", change="inserted")
    good = after.status != "completed" or "fraud" in after.facts
    return _judged(good, f"{after.status}, the new step's result is {'there' if 'fraud' in after.facts else 'missing'}")


CHECKS: dict[str, Callable[[Stage], Finding]] = {
    check.__name__.replace("_", " "): check
    for check in (
        goes_on_after_a_crash,
        guards_an_effect,
        approval_across_processes,
        brings_back_the_facts,
        brings_back_the_pointer,
        brings_back_the_environment,
        has_a_history,
        forks,
        a_finished_run_stays_finished,
        starting_again_is_harmless,
        renamed_code_is_noticed,
        inserted_code_is_noticed,
    )
}
"""Every check by its name in words, in the order of a report."""


def once(seen: Seen) -> bool:
    """True when every effect was executed exactly once."""
    return all(seen.executed.get(step) == 1 for step in EFFECTS)


def told(seen: Seen) -> str:
    """The executions in words."""
    return ", ".join(f"{step} {seen.executed.get(step, 0)}x" for step in EFFECTS)


def _judged(good: bool, seen: str) -> Finding:
    return Finding("pass" if good else "fail", seen)
