"""Where a run goes when a step returns: pure functions, the same live and in replay."""

from __future__ import annotations

from inspect import isfunction
from typing import Any, NamedTuple

from labkit.authoring import check_finished
from labkit.errors import InvalidInput, UnknownStep
from labkit.model import TERMINAL, Context, Done, Run, Workflow

CLOSE = "close"  # the runner's own last step: the outbox is empty before a run is closed


class Move(NamedTuple):
    """The next step (or None), the status and reason that follow, and the status to close with after the outbox."""

    next: str | None
    status: str
    reason: str = ""
    closing: str = ""

    @property
    def to(self) -> str:
        """One word for the journal: the next step, or the status that closes the run."""
        return self.next or self.status


def close(ctx: Context, state: Any) -> Done:
    """The step that closes a run as the author's last step said."""
    return Done(ctx.run.closing, ctx.run.reason)


def next_move(workflow: Workflow[Any], run: Run[Any], name: str, returned: Any, *, deliver_first: bool) -> Move:
    """What `returned` means for `run` after step `name`; effects still to be delivered put the closing off.

    Raises UnknownStep for a step that does not exist, InvalidInput for a closing status that does not exist, StepFailed
    for a step that has only begun: it returned a coroutine or a generator.
    """
    done = Done("completed") if returned is None else returned
    if not isinstance(done, Done):
        following = _step_returned(workflow, name, run.run_id, done)
        if run.budgets.steps_remaining <= 1:
            done = Done("failed", f"budget_spent: no step is left after {name}")
    if isinstance(done, Done):
        if done.status not in TERMINAL:
            raise InvalidInput(
                f"step {name} closed run {run.run_id} as {done.status!r}: expected one of {', '.join(TERMINAL)}",
                safe="nothing of this step was committed",
                next=f"return Done({TERMINAL[0]!r}, reason), or None when all is done",
            )
        if deliver_first:
            return Move(CLOSE, "running", done.reason, done.status)
        return Move(None, done.status, done.reason)
    return Move(following, "running")


def _step_returned(workflow: Workflow[Any], name: str, run_id: str, returned: Any) -> str:
    """The name of the step that step `name` returned as the next one: a step, or its name."""
    found = returned if isinstance(returned, str) else returned.__name__ if isfunction(returned) else ""
    if found not in workflow.steps:
        check_finished(name, run_id, returned)
        said = found or repr(returned)[:80]
        raise UnknownStep(
            f"step {name} returned {said}: workflow {workflow.name} {workflow.version} has no step {said!r}",
            safe="nothing of this step was committed",
            next=f"return one of {', '.join(workflow.steps)}, None when all is done, or Done(status, reason)",
        )
    return found


def apply(run: Run[Any], name: str, move: Move, planned: list[str], *, rejected: bool = False) -> None:
    """Change `run` as `move` says: step `name` is over, and leaves the effects `planned` to be delivered.

    It counts as completed unless it was `rejected`: a call of it was turned down for good, and that ended it.
    """
    run.pending_effects = list(planned)
    run.next_transition, run.status, run.reason, run.closing = move.next, move.status, move.reason, move.closing
    if name == CLOSE:
        return
    run.position += 1
    run.budgets.steps_remaining -= 1
    if not rejected and name not in run.completed_steps:
        run.completed_steps.append(name)
