"""What waits for a person in a lab, as plain data: what happened, what both sides say, what is safe, what to do."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

from labkit.check.evidence import Evidence
from labkit.coordination.approvals import Approval
from labkit.effects.ledger import Entry
from labkit.errors import LabError
from labkit.lab.facade import Lab
from labkit.model import TERMINAL, WAITING
from labkit.provider.protocol import Entry as Outside
from labkit.timeline.operations import describe

HAPPENED, NOTHING, REFUSED = "happened", "nothing", "refused"
STANDS = {
    "waiting_for_approval": "It asks a question. Nothing goes on before it is answered; the answer is used once.",
    "waiting_for_person": "It stands still. Nothing more is sent before a person has said what became of its effect.",
    "waiting_for_timer": "It waits for a time. Resume it when the time has come; before, nothing happens.",
    "quarantined": "Its record cannot be trusted. Nothing is executed: look into its history.",
    "running": "Nothing holds it up: it goes on when a process resumes it.",
}
CLOSED = "It is closed, and its effects stand. Nothing happens by itself."
SAFE = {
    ("ambiguous", HAPPENED): "The provider has it: say that it happened. To say otherwise would do it again.",
    ("ambiguous", NOTHING): "The provider has nothing of it: say that it did not happen, and it is tried again.",
    ("ambiguous", REFUSED): "The provider refused it: say so.",
    ("confirmed", HAPPENED): "Both sides agree: leave it, or undo it.",
    ("confirmed", NOTHING): "We say confirmed, and the provider has nothing of it: find out why before you go on.",
    ("executing", HAPPENED): "The provider has it; the next process finds that out by itself.",
    ("executing", NOTHING): "The provider has nothing of it; the next process finds that out by itself.",
    ("planned", NOTHING): "The next process will call.",
    ("planned", REFUSED): "The next process will call.",
}
AT_RISK = (
    "Our ledger says that it was never done, and the provider has it. To resume does it a second time, unless the "
    "provider recognises the key."
)
TWICE = "The provider has done it {} times, our ledger knows one receipt. What is too much has to be undone there."
SETTLED = "Nothing is left to decide."


def waiting(lab: Lab, also: str = "") -> list[dict[str, Any]]:
    """One record a run that is open, or closed with effects in doubt or standing after it was given up.

    The run `also` is among them, whatever became of it; `settled` says that nothing of it waits any more.
    """
    found = []
    for run_id, status in lab.runs()[["run_id", "status"]].itertuples(index=False):
        try:
            known = lab.evidence(run_id)
            record = _run(known, lab.run(run_id).engine)
        except LabError as failure:
            nothing = {"effects": [], "actions": [], "settled": False}
            found.append({"run": run_id, "status": status, "problem": str(failure), **nothing})
            continue
        settled = status in TERMINAL and not _left(known, status)
        if not settled or run_id == also:
            found.append({**record, "settled": settled})
    order = list(dict.fromkeys(("waiting_for_person", *WAITING, "quarantined", "running", *TERMINAL)))
    return sorted(found, key=lambda each: (order.index(each["status"]), each["run"]))


def _question(asks: Approval) -> dict[str, str]:
    return {"step": asks.step, "role": asks.role, "text": asks.question, "about": asks.about}


def _left(known: Evidence, status: str) -> bool:
    """Whether a closed run has left an effect in doubt, or effects that stand though it did not complete."""
    doubt = any(entry.status in ("ambiguous", "executing") for entry in known.effects)
    return doubt or (status != "completed" and any(entry.status == "confirmed" for entry in known.effects))


def _run(known: Evidence, engine: str) -> dict[str, Any]:
    run = known.run
    assert run is not None, "the lab has read it"
    asked = next((each for each in known.approvals if each.status == "requested"), None)
    asks = asked if run.status == "waiting_for_approval" else None
    return {
        "run": run.run_id,
        "what": f"{run.workflow_id} {run.workflow_version} on {engine}, policy {run.policy}",
        "inputs": ", ".join(run.input_refs),
        "status": run.status,
        "reason": run.reason,
        "done": run.completed_steps,
        "stands": STANDS.get(run.status, CLOSED),
        "question": _question(asks) if asks else None,
        "effects": [_effect(entry, known, run.status) for entry in sorted(known.effects, key=_settled)],
        "actions": list(_run_actions(run.run_id, run.status)),
    }


def _settled(entry: Entry) -> bool:
    """False for what is in doubt: it comes first."""
    return entry.status not in ("ambiguous", "executing")


def _effect(entry: Entry, known: Evidence, status: str) -> dict[str, Any]:
    theirs = [each for each in known.outside if each.subject == entry.subject and each.kind != "activity"]
    says = _says(theirs)
    receipts = [each.receipt_id for each in theirs if each.kind == "effect"]
    danger = _danger(entry, receipts)
    return {
        "key": entry.effect_key,
        "step": entry.step,
        "what": f"{entry.operation} at {entry.target}",
        "request": json.dumps(json.loads(entry.request), ensure_ascii=False)[:300],
        "status": entry.status,
        "attempts": entry.attempts,
        "receipt": entry.receipt_id,
        "error": entry.last_error,
        "hint": entry.compensate if entry.status == "confirmed" else entry.reconcile,
        "outside": [describe(each) for each in theirs],
        "receipts": receipts,
        "by_person": entry.status == "planned" and not entry.attempts and bool(entry.last_error),
        "at_risk": bool(danger),
        "safe": danger or SAFE.get((entry.status, says), SETTLED),
        "actions": list(_effect_actions(entry, says, status)),
    }


def _danger(entry: Entry, receipts: list[str]) -> str:
    """What is wrong, or goes wrong if the run goes on; nothing for most effects."""
    if entry.status == "planned" and receipts:
        return AT_RISK
    return TWICE.format(len(receipts)) if len(receipts) > 1 else ""


def _says(theirs: list[Outside]) -> str:
    """What the provider's ledger says of an effect."""
    if any(each.kind == "effect" for each in theirs):
        return HAPPENED
    return REFUSED if any(each.kind == "refused" for each in theirs) else NOTHING


def _run_actions(run_id: str, status: str) -> Iterator[dict[str, Any]]:
    name = shlex.quote(run_id)
    if status == "waiting_for_approval":
        yield _action("approve", "approve", f"{run_id}: say yes", f"labkit approve {name} --db FILE")
        edited = f"labkit approve {name} --db FILE --verdict edited --changes JSON"
        yield _action("edit", "approve with changes", f"{run_id}: say yes, with these changes", edited, ask="changes")
        rejected = f"labkit approve {name} --db FILE --verdict rejected"
        yield _action("reject", "reject", f"{run_id}: say no", rejected)
    if status == "running":
        yield _action("resume", "resume", f"{run_id}: go on, as a new process would", "lab.resume(run)", main=True)
    if status not in TERMINAL:
        cancel = f"labkit cancel {name} --db FILE"
        yield _action("cancel", "cancel the run", f"{run_id}: close it for good, effects made so far stand", cancel)


def _effect_actions(entry: Entry, says: str, status: str) -> Iterator[dict[str, Any]]:
    key = shlex.quote(entry.effect_key)
    if entry.status == "ambiguous" or (status in TERMINAL and entry.status == "executing"):
        resolve = f"labkit resolve {key} --db FILE --verdict"
        it = f"{entry.operation} at {entry.target}"
        yes = f"{it}: record that it happened, with this receipt"
        no = f"{it}: record that it did not happen; the next process tries it again"
        never = f"{it}: record a refusal; the step is told of it"
        happened = f"{resolve} confirmed --receipt ID"
        yield _action("happened", "it happened", yes, happened, ask="receipt", main=says == HAPPENED)
        yield _action("not-done", "it did not happen", no, f"{resolve} not-done", main=says == NOTHING)
        yield _action("refused", "it shall never be done", never, f"{resolve} rejected", main=says == REFUSED)
    if entry.status == "confirmed":
        what = f"{entry.operation} at {entry.target}: undo {entry.receipt_id} at the provider, for real"
        yield _action("compensate", "undo it", what, "lab.compensate(key)")


def _action(do: str, label: str, confirm: str, type_: str, *, ask: str = "", main: bool = False) -> dict[str, Any]:
    """A button: what it does, what it is called, what is asked before, what to type instead, and what it needs."""
    return {"do": do, "label": label, "confirm": confirm, "type": type_, "ask": ask, "main": main}
