"""The reference workflow: a service desk refunds a customer. Seven steps: two model calls, one approval, three effects.

The model is a small deterministic stand-in. Where the world drifts, its second answer to the same question differs,
so that a call that is paid twice can be seen.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec

from labkit.cases.service_desk import Case, find_case, record
from labkit.model import ActivityCall, Context, Done, State, Target, Workflow

LONG_NOTE = 2_000  # characters; a longer note is stored once, beside the state


class Verdict(msgspec.Struct, kw_only=True):
    """What the policy model says: is it within policy, and why."""

    within_policy: bool
    why: str


class Draft(msgspec.Struct, kw_only=True):
    """What the drafting model proposes: an amount and a letter."""

    amount: Decimal
    letter: str


class RefundState(State):
    """What the refund workflow knows so far."""

    case_id: int
    case: Case | None = None
    note: str = ""
    verdict: Verdict | None = None
    draft: Draft | None = None
    amount: Decimal = Decimal(0)
    refund_receipt: str = ""
    mail_receipt: str = ""
    ticket_receipt: str = ""


def begin(case: int) -> RefundState:
    """The first state of a case; raise InvalidInput when the case does not exist or cannot be processed."""
    return RefundState(case_id=find_case(case).case)


refund: Workflow[RefundState] = Workflow(
    "refund",
    version="1.0.0",
    state=RefundState,
    begin=begin,
    tenant_of=lambda case: record(case)["tenant"],
    example={"case": 17},
    targets={
        "payments": Target(
            capability="dedup",
            reconcile="look for the refund in the payment provider's list by its effect key",
            compensate="charge the amount again, with the customer's consent",
        ),
        "mail": Target(
            capability="neither",
            reconcile="ask the customer, or look into the sent folder",
            compensate="a mail cannot be taken back: send a correction",
        ),
        "tickets": Target(
            capability="lookup",
            reconcile="look the ticket up by its effect key",
            compensate="reopen the ticket",
        ),
    },
)


def read_case(call: ActivityCall, case: int) -> Case:
    """Read the case again from the system of record."""
    return find_case(case)


def read_note(call: ActivityCall, case: int) -> str:
    """Read what the customer wrote. It is data: nothing in it is ever followed."""
    return record(case)["note"]


def assess_policy(call: ActivityCall, case: Case) -> Verdict:
    """Model call: is the refund within policy? The limit is 500 units of the case's currency."""
    within = case.amount <= 500
    wording = "looks fine" if call.drift and call.number > 1 else "is within the limit"
    return Verdict(
        within_policy=within, why=f"{case.reason}: {case.amount} {wording if within else 'is over the limit'}"
    )


def write_draft(call: ActivityCall, case: Case, verdict: Verdict) -> Draft:
    """Model call: propose an amount and a letter. A drifting model adds a goodwill of 5.00 the second time."""
    goodwill = Decimal("5.00") if call.drift and call.number > 1 else Decimal(0)
    amount = case.amount + goodwill
    letter = f"Dear {case.customer.strip()}, we refund {amount} {case.currency} for your {case.product.strip()}."
    return Draft(amount=amount, letter=letter)


@refund.step
def load_case(ctx: Context, state: RefundState) -> Any:
    """Read the case; a long note goes beside the state."""
    state.case = ctx.activity(read_case, state.case_id)
    note = ctx.activity(read_note, state.case_id)
    state.note = note if len(note) <= LONG_NOTE else ctx.artifact(note)
    return policy_check


@refund.step
def policy_check(ctx: Context, state: RefundState) -> Any:
    """Ask the model about the policy."""
    state.verdict = ctx.activity(assess_policy, state.case, cost=0.02)
    return draft_decision


@refund.step
def draft_decision(ctx: Context, state: RefundState) -> Any:
    """Ask the model for a draft."""
    state.draft = ctx.activity(write_draft, state.case, state.verdict, cost=0.05)
    return manager_approval


@refund.step
def manager_approval(ctx: Context, state: RefundState) -> Any:
    """Wait for the manager, who may approve, lower the amount or reject; any other edit is asked about again."""
    assert state.case and state.draft and state.verdict
    question = f"refund {state.draft.amount} {state.case.currency} for case {state.case_id}? {state.verdict.why}"
    decision = ctx.approval("refund_manager", question)
    if decision.verdict == "rejected":
        return Done("cancelled", f"rejected by {decision.by}")
    amount = agreed_amount(state.draft.amount, decision.changes)
    if amount is None:
        return manager_approval
    state.amount = amount
    return execute_refund


@refund.step
def execute_refund(ctx: Context, state: RefundState) -> Any:
    """Effect: pay the money back."""
    assert state.case
    request = {"order": state.case.order_id, "amount": str(state.amount), "currency": state.case.currency}
    state.refund_receipt = ctx.effect("payments", "refund", request).id
    return send_mail


@refund.step
def send_mail(ctx: Context, state: RefundState) -> Any:
    """Effect: tell the customer."""
    assert state.case and state.draft
    request = {"to": state.case.email, "text": state.draft.letter}
    state.mail_receipt = ctx.effect("mail", "send", request).id
    return close_ticket


@refund.step
def close_ticket(ctx: Context, state: RefundState) -> Any:
    """Effect: close the ticket. The run is completed."""
    state.ticket_receipt = ctx.effect("tickets", "close", {"case": state.case_id}).id
    return None


def agreed_amount(drafted: Decimal, changes: dict[str, Any]) -> Decimal | None:
    """The amount after a manager's `changes`; None for anything but a smaller positive amount."""
    try:
        amount = Decimal(str(changes.get("amount", drafted)))
        return amount if 0 < amount <= drafted and set(changes) <= {"amount"} else None
    except ArithmeticError:
        return None
