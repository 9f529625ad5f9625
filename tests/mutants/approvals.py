"""Broken approvals: a person is asked twice, or one answer is used twice."""

from __future__ import annotations

from typing import Any

from pytest import MonkeyPatch

from labkit.context import LiveContext
from labkit.coordination import approvals
from labkit.coordination.approvals import Approval
from labkit.model import Decision, Run
from labkit.store.protocol import Store, Tx
from labkit.suspend import Suspend
from tests.mutants import mutant

BREAKS = "an approval is asked once and used once"


@mutant(BREAKS)
def answer_used_in_a_transaction_of_its_own(patch: MonkeyPatch) -> None:
    """The answer is taken from the queue and acknowledged before the step that needs it is committed."""
    find, use = approvals.find, approvals.use

    def find_and_use(source: Store | Tx, request_id: str) -> Approval | None:
        found = find(source, request_id)
        if found and found.answer():
            with source.transaction("run/use") as tx:
                use(tx, request_id)
        return found

    patch.setattr(approvals, "find", find_and_use)
    patch.setattr(approvals, "use", lambda tx, request_id: None)


@mutant(BREAKS)
def question_asked_again_under_a_new_number(patch: MonkeyPatch) -> None:
    """Each question is a new ticket, sent before the run is put to sleep: a crash in between sends a second one."""
    find, request, approval = approvals.find, approvals.request, LiveContext.approval

    def numbers(source: Store | Tx, request_id: str) -> list[str]:
        rows = source.rows("SELECT request_id FROM approvals WHERE request_id LIKE ?", f"{request_id}%")
        return [row[0] for row in rows]

    def find_answered(source: Store | Tx, request_id: str) -> Approval | None:
        asked = [find(source, number) for number in numbers(source, request_id)]
        return next((each for each in asked if each and each.status != "requested"), asked[0] if asked else None)

    def request_numbered(tx: Tx, run: Run[Any], request_id: str, step: str, *asked: Any) -> None:
        request(tx, run, f"{request_id}.{len(numbers(tx, request_id))}", step, *asked)

    def ask_then_wait(self: LiveContext, *asked: Any) -> Decision:
        try:
            return approval(self, *asked)
        except Suspend as wait:
            with self.parts.store.transaction(f"{self.step}/ask") as tx:
                wait.write(tx)
            raise Suspend(wait.status, wait.reason, lambda tx: None) from None

    patch.setattr(approvals, "find", find_answered)
    patch.setattr(approvals, "request", request_numbered)
    patch.setattr(LiveContext, "approval", ask_then_wait)
