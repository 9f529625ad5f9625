"""The run header: who owns a run, how far it is, whether it is closed. Every write of a run passes here first.

`advance` is the optimistic, fenced update that makes a lost race visible: it changes one row or raises.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from labkit.errors import InvalidInput, InvalidState, StaleWrite, UnknownRun
from labkit.model import STATUSES, TERMINAL, Run
from labkit.store.protocol import Store, Tx

SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
  run_id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, workflow_id TEXT NOT NULL, workflow_version TEXT NOT NULL,
  engine TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, state_version INTEGER NOT NULL,
  fence INTEGER NOT NULL, owner TEXT NOT NULL, created_at TEXT NOT NULL
) WITHOUT ROWID;
"""


class Header(NamedTuple):
    """One row of `runs`."""

    run_id: str
    tenant_id: str
    workflow_id: str
    workflow_version: str
    engine: str
    status: str
    reason: str
    state_version: int
    fence: int
    owner: str
    created_at: str


def insert(tx: Tx, run: Run[Any], engine: str) -> None:
    """Write the header of a new run."""
    row = Header(
        run.run_id,
        run.tenant_id,
        run.workflow_id,
        run.workflow_version,
        engine,
        run.status,
        run.reason,
        run.state_version,
        run.fence,
        "",
        run.created_at,
    )
    tx.execute("INSERT INTO runs VALUES (?,?,?,?,?,?,?,?,?,?,?)", *row)


def header(source: Store | Tx, tenant_id: str, run_id: str) -> Header:
    """The header of a tenant's run; raise UnknownRun when there is none, also when another tenant has it."""
    rows = source.rows("SELECT * FROM runs WHERE run_id=? AND tenant_id=?", run_id, tenant_id)
    if not rows:
        raise UnknownRun(
            f"tenant {tenant_id} has no run {run_id}",
            safe="nothing was read or written",
            next="labkit runs lists the runs of this database",
        )
    found = Header._make(rows[0])
    if found.status not in STATUSES:
        raise InvalidState(
            f"run {run_id} has the unknown status {found.status!r}, expected one of {', '.join(STATUSES)}",
            safe="the run is untouched",
            next="run the version that wrote it",
        )
    return found


def check_free(tx: Tx, run_id: str) -> None:
    """Raise InvalidInput when any tenant has a run with this id."""
    if tx.rows("SELECT 1 FROM runs WHERE run_id=?", run_id):
        raise InvalidInput(
            f"run id {run_id} is taken",
            safe="the run with this id is untouched",
            next="resume it, or choose another id",
        )


def status_of(source: Store | Tx, tenant_id: str, run_id: str) -> str:
    """The status in the header of a tenant's run, or `none`."""
    rows = source.rows("SELECT status FROM runs WHERE run_id=? AND tenant_id=?", run_id, tenant_id)
    return str(rows[0][0]) if rows else "none"


def listing(store: Store, tenant_id: str) -> list[Header]:
    """The headers of all runs of a tenant, oldest first."""
    rows = store.rows("SELECT * FROM runs WHERE tenant_id=? ORDER BY created_at, run_id", tenant_id)
    return [Header._make(row) for row in rows]


def claim(tx: Tx, tenant_id: str, run_id: str, owner: str) -> Header:
    """Make `owner` the owner; return the header with its new fencing token: older owners can write no more."""
    tx.execute("UPDATE runs SET fence=fence+1, owner=? WHERE run_id=? AND tenant_id=?", owner, run_id, tenant_id)
    return header(tx, tenant_id, run_id)


def advance(tx: Tx, run: Run[Any], status: str | None = None, reason: str | None = None) -> None:
    """Count one durable write of `run`, and set its status; raise StaleWrite when the race is lost or the run closed.

    Changes `run.state_version`, `run.status` and `run.reason` to what the header now says.
    """
    run.status, run.reason = status or run.status, run.reason if reason is None else reason
    changed = tx.execute(
        "UPDATE runs SET state_version=state_version+1, status=?, reason=? WHERE run_id=? AND tenant_id=?"
        " AND state_version=? AND fence=? AND status<>'completed' AND status<>'cancelled' AND status<>'failed'",
        *(run.status, run.reason, run.run_id, run.tenant_id, run.state_version, run.fence),
    )
    if changed == 0:
        raise lost(tx, run)
    run.state_version += 1


def reopen(tx: Tx, tenant_id: str, run_id: str) -> None:
    """Let a waiting run go on: what it waited for has come. A run that does not wait is left as it is."""
    tx.execute(
        "UPDATE runs SET state_version=state_version+1, status='running', reason=''"
        " WHERE run_id=? AND tenant_id=? AND status LIKE 'waiting%'",
        *(run_id, tenant_id),
    )


def guard(tx: Tx, run: Run[Any]) -> None:
    """Raise StaleWrite unless this owner still owns the open run; changes nothing."""
    found = header(tx, run.tenant_id, run.run_id)
    if found.fence != run.fence or found.status in TERMINAL:
        raise lost(tx, run)


def lost(tx: Tx, run: Run[Any]) -> StaleWrite:
    """The error that says what this owner expected and what stands in the header."""
    found = header(tx, run.tenant_id, run.run_id)
    return StaleWrite(
        f"run {run.run_id}: this owner holds fence {run.fence} and version {run.state_version}, "
        f"the run is at fence {found.fence}, version {found.state_version}, status {found.status}",
        safe="nothing was written; the newer state stands",
        next="read the run again before doing anything",
    )


def fork(tx: Tx, run_id: str, new_id: str, state_version: int) -> None:
    """Write a header for `new_id`: a running copy of `run_id` as it was at `state_version`."""
    tx.execute(
        "INSERT INTO runs SELECT ?, tenant_id, workflow_id, workflow_version, engine, 'running', '', ?, 0, '',"
        " created_at FROM runs WHERE run_id=?",
        *(new_id, state_version, run_id),
    )
