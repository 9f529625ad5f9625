"""Approvals: a question to a person that survives every crash, is asked once and is used once."""

from __future__ import annotations

from typing import Any

import msgspec

from labkit.canonical import canonical
from labkit.codec import encode, read_back
from labkit.errors import InvalidInput
from labkit.model import TERMINAL, Decision, Run
from labkit.store import runs
from labkit.store.protocol import Store, Tx

SCHEMA = """
CREATE TABLE IF NOT EXISTS approvals (
  request_id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, run_id TEXT NOT NULL, step TEXT NOT NULL, role TEXT NOT NULL,
  question TEXT NOT NULL, status TEXT NOT NULL, decision BLOB NOT NULL, used INTEGER NOT NULL,
  about TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
"""
ADDED = ("approvals", "about", "TEXT NOT NULL DEFAULT ''")  # databases of older versions lack this column
VERDICTS = ("approved", "edited", "rejected")
YES = ("approved", "edited")
_decision = msgspec.json.Decoder(Decision)
_content = msgspec.json.Decoder(dict[str, Any])


class Approval(msgspec.Struct, kw_only=True):
    """One approval: `status` is requested, approved, edited, rejected or expired; `used` counts steps that took it.

    `about` is what the question is about, as canonical JSON; empty when the step gave nothing.
    """

    request_id: str
    tenant_id: str
    run_id: str
    step: str
    role: str
    question: str
    status: str
    decision: bytes
    used: int
    about: str = ""

    def answer_to(self, role: str, question: str, about: dict[str, Any] | None = None) -> Decision | None:
        """The decision about this very question; raise InvalidInput when another one was asked under this id."""
        now = content(about)
        if (self.role, self.question, self.about) != (role, question, now):
            raise InvalidInput(
                f"approval {self.request_id} asks {_asked(self.role, self.question, self.about)}, "
                f"now the step asks {_asked(role, question, now)}",
                safe="the decision about the old question is not used; nothing was done",
                next="keep what is asked about in the state of an earlier step, or cancel the run",
            )
        return self.answer()

    @property
    def subject(self) -> dict[str, Any] | None:
        """What the question is about, as plain data, or None when the step gave nothing."""
        return read_back(_content, self.about.encode(), f"approval {self.request_id}") if self.about else None

    def answer(self) -> Decision | None:
        """The person's decision, or None while there is none."""
        if not self.decision:
            return None
        decision: Decision = read_back(_decision, self.decision, f"decision of approval {self.request_id}")
        return decision


FIELDS = Approval.__struct_fields__


def content(about: dict[str, Any] | None) -> str:
    """What a question is about, as it is stored and compared: canonical JSON, empty for None."""
    return "" if about is None else canonical(about).decode()


def _asked(role: str, question: str, about: str) -> str:
    """A question in one line of an error."""
    return f"{role} {question[:200]!r}" + (f" about {about[:200]}" if about else "")


def request(
    tx: Tx, run: Run[Any], request_id: str, step: str, role: str, question: str, about: dict[str, Any] | None = None
) -> None:
    """Write the question, once; asking again changes nothing."""
    row = (request_id, run.tenant_id, run.run_id, step, role, question, "requested", b"", 0, content(about))
    tx.execute("INSERT OR IGNORE INTO approvals VALUES (?,?,?,?,?,?,?,?,?,?)", *row)


def find(source: Store | Tx, request_id: str) -> Approval | None:
    """The approval with this id, or None."""
    rows = source.rows("SELECT * FROM approvals WHERE request_id=?", request_id)
    return Approval(**dict(zip(FIELDS, rows[0], strict=True))) if rows else None


def of_run(source: Store | Tx, run_id: str) -> list[Approval]:
    """Every approval that a run asked for."""
    rows = source.rows("SELECT * FROM approvals WHERE run_id=? ORDER BY request_id", run_id)
    return [Approval(**dict(zip(FIELDS, row, strict=True))) for row in rows]


def decide(store: Store, tenant: str, request_id: str, decision: Decision) -> None:
    """Write a person's decision and let the run go on; raise InvalidInput if unknown, decided already or malformed."""
    if decision.verdict not in VERDICTS or (decision.changes and decision.verdict != "edited"):
        raise InvalidInput(
            f"approval {request_id}: verdict {decision.verdict!r} with changes {decision.changes}; "
            f"expected one of {', '.join(VERDICTS)}, and changes only with edited",
            safe="nothing was written",
        )
    with store.transaction("run/approve") as tx:
        found = find(tx, request_id)
        if found is None or found.tenant_id != tenant or found.status != "requested":
            state = found.status if found and found.tenant_id == tenant else "unknown"
            raise InvalidInput(f"approval {request_id} is {state}, expected requested", safe="nothing was written")
        status = runs.header(tx, tenant, found.run_id).status
        if status in TERMINAL:
            raise InvalidInput(f"run {found.run_id} is {status}: nothing is left to decide", safe="nothing was written")
        body = encode(decision, f"decision of approval {request_id}")
        tx.execute("UPDATE approvals SET status=?, decision=? WHERE request_id=?", decision.verdict, body, request_id)
        runs.reopen(tx, tenant, found.run_id)


def use(tx: Tx, request_id: str) -> None:
    """Count that a step took the decision."""
    tx.execute("UPDATE approvals SET used=used+1 WHERE request_id=?", request_id)
