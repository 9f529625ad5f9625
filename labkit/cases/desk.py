"""The refund as plain functions over plain data, for frameworks that bring a workflow of their own.

`facts` is a dict that grows: each step takes what is known and returns what it adds, as JSON can hold it. A framework
decides when a step runs and what of it is kept; what a step does outside is the same on every framework.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from labkit.cases.refund import Draft, Verdict, assess_policy, read_case, read_note, refund, write_draft
from labkit.cases.service_desk import Case
from labkit.model import ActivityCall, Order
from labkit.taps import tap

Facts = dict[str, Any]
Perform = Callable[[str, Order], str]
Note = Callable[[str, str], ActivityCall]
PLAN = (
    "load_case",
    "policy_check",
    "draft_decision",
    "manager_approval",
    "execute_refund",
    "send_mail",
    "close_ticket",
)
EFFECTS = ("execute_refund", "send_mail", "close_ticket")
CHANGES = {
    "renamed": "send_mail is called notify_customer in the new code",
    "inserted": "a new step fraud_check stands before execute_refund in the new code",
}
RECEIPTS = {"refund_receipt": "payments", "mail_receipt": "mail", "ticket_receipt": "tickets"}
"""The facts that a completed run holds, and the target that each receipt must come from."""


def plan_of(change: str) -> tuple[str, ...]:
    """The steps in order: `PLAN`, or what the code looks like after a `change` (a key of `CHANGES`)."""
    if change == "renamed":
        return tuple("notify_customer" if step == "send_mail" else step for step in PLAN)
    if change == "inserted":
        at = PLAN.index("execute_refund")
        return (*PLAN[:at], "fraud_check", *PLAN[at:])
    return PLAN


class Desk:
    """One run's desk in one process. `note(subject, name)` tells the provider of an activity, `perform(step, order)`
    has an effect done and returns its receipt's id; both belong to whoever drives the framework.

    `session` is what only this process knows: an open drawer, a logged-in client. `plan` are the steps in order.
    """

    def __init__(self, run_id: str, case: int, note: Note, perform: Perform, *, change: str = "") -> None:
        self.run_id, self.case, self.plan = run_id, case, plan_of(change)
        self.session: dict[str, str] = {}
        self._note, self._perform = note, perform

    def do(self, step: str, facts: Facts) -> Facts:
        """Do the work of `step`; return the facts that it adds. The approval's own step adds nothing by itself."""
        tap(f"{step}/enter", "before")
        added: Facts = getattr(self, step)(facts)
        return added

    def load_case(self, facts: Facts) -> Facts:
        """Read the case and what the customer wrote; opens the session."""
        self.session["drawer"] = f"case {self.case}"
        case = read_case(self._call("load_case", "read_case"), self.case)
        note = read_note(self._call("load_case", "read_note"), self.case)
        return {"case": msgspec.to_builtins(case), "note": note[:200]}

    def policy_check(self, facts: Facts) -> Facts:
        """Model call: is it within policy?"""
        verdict = assess_policy(self._call("policy_check", "assess_policy"), self._case(facts))
        return {"verdict": msgspec.to_builtins(verdict)}

    def draft_decision(self, facts: Facts) -> Facts:
        """Model call: the amount and the letter."""
        call = self._call("draft_decision", "write_draft")
        draft = write_draft(call, self._case(facts), msgspec.convert(facts["verdict"], Verdict))
        return {"draft": msgspec.to_builtins(draft)}

    def fraud_check(self, facts: Facts) -> Facts:
        """Model call that only changed code makes."""
        self._call("fraud_check", "assess_fraud")
        return {"fraud": "none seen"}

    def question(self, facts: Facts) -> str:
        """What the manager is asked."""
        return f"refund {facts['draft']['amount']} for case {self.case}? {facts['verdict']['why']}"

    def manager_approval(self, facts: Facts) -> Facts:
        """What follows from the manager's word, which the framework has put into the facts as `approved`."""
        return {"approved": bool(facts.get("approved"))}

    def execute_refund(self, facts: Facts) -> Facts:
        """Effect: pay the money back."""
        case = self._case(facts)
        amount = str(msgspec.convert(facts["draft"], Draft).amount)
        request = {"order": case.order_id, "amount": amount, "currency": case.currency}
        return {"refund_receipt": self._effect("execute_refund", "payments", "refund", request)}

    def send_mail(self, facts: Facts) -> Facts:
        """Effect: tell the customer."""
        request = {"to": self._case(facts).email, "text": facts["draft"]["letter"]}
        return {"mail_receipt": self._effect("send_mail", "mail", "send", request)}

    def notify_customer(self, facts: Facts) -> Facts:
        """The same effect under the name that it has in changed code."""
        return self.send_mail(facts)

    def close_ticket(self, facts: Facts) -> Facts:
        """Effect: close the ticket."""
        return {"ticket_receipt": self._effect("close_ticket", "tickets", "close", {"case": self.case})}

    def _case(self, facts: Facts) -> Case:
        return msgspec.convert(facts["case"], Case)

    def _subject(self, step: str, name: str) -> str:
        return f"{self.run_id}/{PLAN.index(step) if step in PLAN else 0}.{step}.{name}"

    def _call(self, step: str, name: str) -> ActivityCall:
        return self._note(self._subject(step, name), name)

    def _effect(self, step: str, target: str, operation: str, request: Facts) -> str:
        subject = self._subject(step, operation)
        order = Order(target=target, operation=operation, request=request, subject=subject, label=f"{step}/call")
        return self._perform(step, order)


TARGETS = refund.targets
"""What the provider's side of the desk is like."""
