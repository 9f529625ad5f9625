"""What a person says to a lab: the answer to a question, and what became of an ambiguous effect."""

from __future__ import annotations

from labkit.coordination import approvals
from labkit.effects.reconcile import RESOLUTIONS, resolve
from labkit.errors import InvalidInput, known
from labkit.lab.machine import Machine
from labkit.model import Decision


def answer(machine: Machine, run_id: str, decision: Decision) -> None:
    """Write the decision about the open question of a run; the same one once more, when none is open, is harmless.

    Raises InvalidInput when nothing is asked, for an unknown verdict and for `edited` without changes; nothing is
    then written.
    """
    known("verdict", decision.verdict, approvals.VERDICTS)
    found, questions = machine.header(run_id), approvals.of_run(machine.store, run_id)
    asked = [each for each in questions if each.status == "requested"]
    if not asked and decision in [each.answer() for each in questions]:
        return
    if not asked:
        said = ", ".join(f"{each.status} by {told.by}" for each in questions if (told := each.answer()))
        raise InvalidInput(
            f"run {run_id} is {found.status} and asks for no approval{f': it was {said}' if said else ''}",
            safe="nothing was written",
            next=f"labkit run --run-id {run_id} --db {machine.path} shows it; lab.run({run_id!r}) in Python",
        )
    if decision.verdict == "edited" and not decision.changes:
        raise InvalidInput(
            "verdict edited changes nothing: no changes were given",
            safe="nothing was written",
            next="""--verdict edited --changes '{"amount": "20.00"}'; changes={"amount": "20.00"} in Python""",
        )
    with machine.recording(run_id):
        approvals.decide(machine.store, found.tenant_id, asked[0].request_id, decision)


def settle(machine: Machine, effect_key: str, verdict: str, receipt: str) -> str:
    """Write what became of an ambiguous effect; return the id of its run. What the ledger says already is harmless.

    Raises InvalidInput for an unknown effect or verdict, one that is not ambiguous, and a receipt that is missing or
    out of place; nothing is then written.
    """
    known("verdict", verdict, RESOLUTIONS)
    if (verdict == "confirmed") != bool(receipt):
        raise InvalidInput(
            f"verdict {verdict} {'needs a receipt' if verdict == 'confirmed' else f'has no receipt: {receipt!r}'}",
            safe="nothing was written",
            next=f"labkit outside --db {machine.path} lists receipts; lab.provider() in Python",
        )
    found = machine.effect(effect_key)
    said = "planned" if verdict == "not-done" else verdict
    if (found.status, found.receipt_id) != (said, receipt):
        with machine.recording(found.run_id):
            resolve(machine.store, found.tenant_id, effect_key, verdict, receipt)
    return found.run_id
