"""`labkit runs`, `history`, `effects`, `doctor` and `demo`: look, and change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from labkit.cli import options
from labkit.cli.output import emit, telling
from labkit.lab.tables import table

if TYPE_CHECKING:
    import pandas as pd


def runs(db: options.Database, tenant: options.Tenant = None, as_json: options.Json = False) -> None:
    """List the runs of a database."""
    from labkit.lab.facade import Lab

    with Lab(options.existing(db), tenant=tenant) as lab:
        _frame("runs", lab.runs(), as_json, ("run_id", "tenant_id", "workflow_id", "engine", "status", "created_at"))


def history(
    run_id: options.RunId,
    db: options.Database,
    tenant: options.Tenant = None,
    workflow: options.WorkflowCode = None,
    as_json: options.Json = False,
) -> None:
    """List what is kept of a run: one line a durable write."""
    from labkit.lab.facade import Lab

    with Lab(options.existing(db), tenant=tenant, workflows=options.own(workflow)) as lab:
        _frame("history", lab.history(run_id), as_json)


def effects(
    run_id: options.RunId, db: options.Database, tenant: options.Tenant = None, as_json: options.Json = False
) -> None:
    """List the effects of a run that our own ledger knows, and what to do about those in doubt."""
    from labkit.lab.facade import Lab

    with Lab(options.existing(db), tenant=tenant) as lab:
        _frame("effects", lab.effects(run_id), as_json, ("effect_key", "status", "attempts", "receipt_id", "reconcile"))


def doctor(as_json: options.Json = False) -> None:
    """Say what works on this machine, and what to type for the rest.

    Exit code 1 when something that the lab needs is missing.
    """
    from labkit.doctor import checks

    found = checks()
    rows = []
    for check in found:
        state = "ok" if check.ok else "MISSING" if check.needed else "not here"
        rows.append((check.name, state, check.found, "" if check.ok else check.advice))
    emit(as_json, {"checks": found}, lambda: table(("what", "", "found", "what to do"), rows))
    raise typer.Exit(1 if any(check.needed and not check.ok for check in found) else 0)


def demo(
    real: Annotated[bool, typer.Option("--real/--simulated", help="Kill real processes, or only simulate.")] = True,
    as_json: options.Json = False,
) -> None:
    """The story in a minute: the same kill on three engines, first without care, then with a ledger."""
    from rich.console import Console

    from labkit.demo import tell

    with telling("killing") as say:
        found = tell(Console(quiet=as_json), say, real=real)
    if as_json:
        emit(True, {policy: comparison.data() for policy, comparison in found.items()}, str)


def _frame(name: str, frame: pd.DataFrame, as_json: bool, shown: tuple[str, ...] = ()) -> None:
    records: list[dict[Any, Any]] = frame.to_dict(orient="records")
    columns = shown or tuple(frame.columns)
    rows = ([record[column] for column in columns] for record in records)
    emit(as_json, {name: records}, lambda: table(columns, rows))
