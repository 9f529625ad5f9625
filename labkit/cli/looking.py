"""`labkit runs`, `history`, `effects`, `outside`, `doctor` and `demo`: look, and change nothing."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labkit.cli import options
from labkit.cli.output import emit, telling
from labkit.cli.standing import verdicts
from labkit.lab.tables import table

if TYPE_CHECKING:
    import pandas as pd


def runs(db: options.Database, tenant: options.Tenant = None, as_json: options.Json = False) -> None:
    """List the runs of a database."""
    from labkit.lab.facade import Lab

    with Lab(options.existing(db), tenant=tenant) as lab:
        shown = ("run_id", "tenant_id", "workflow_id", "engine", "status", "created_at")
        nothing = f"{db} holds no run{f' of tenant {tenant}' if tenant else ' yet'}"
        _frame("runs", lab.runs(), as_json, shown, nothing)


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
        frame, shown = lab.effects(run_id), ("effect_key", "status", "attempts", "receipt_id")
        doubtful = frame[frame.status == "ambiguous"]
        notes = [f"{row.effect_key} is in doubt: {row.reconcile}" for row in doubtful.itertuples()]
        commands = verdicts(doubtful.effect_key, f"--db {shlex.quote(str(db))}")
        _frame("effects", frame, as_json, shown, f"run {run_id} has planned no effect", notes, commands)


def outside(db: options.Database, as_json: options.Json = False) -> None:
    """List what really happened at the provider: the receipts that a person needs to resolve a doubt.

    It is read from the provider's ledger files, so that it can be read when the database is damaged.
    """
    from labkit.lab.outside import world_folder
    from labkit.provider.ledger_file import read_ledger
    from labkit.store.sqlite import SqliteStore
    from labkit.timeline.operations import describe

    folder = world_folder(options.existing(db))
    if not folder.exists():
        SqliteStore(db).close()  # or it is no database, and nothing can have happened
    entries = [entry for path in sorted(folder.glob("provider-*.jsonl")) for entry in read_ledger(path)[0]]
    columns = ("target", "what", "subject", "receipt_id")
    rows = [
        (entry.target, describe(entry).partition(" → ")[0], entry.subject, entry.receipt_id)
        for entry in entries
        if entry.kind != "activity"
    ]
    title = f"orders: {len(rows)}; activity calls: {len(entries) - len(rows)} (--json lists them)"
    emit(as_json, {"outside": entries}, lambda: table(columns, rows, title) if entries else "nothing has happened yet")


def doctor(as_json: options.Json = False) -> None:
    """Say what works on this machine, and what to type for the rest.

    Exit code 1 when something that the lab needs is missing.
    """
    from labkit.doctor import checks

    found = checks()
    rows = []
    for check in found:
        state = "ok" if check.ok else "MISSING" if check.needed else "not here"
        rows.append((check.name, state, folded(check.found if check.ok else f"{check.found}. {check.advice}")))
    emit(as_json, {"checks": found}, lambda: table(("what", "", "what was found, and what to do"), rows))
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


def _frame(
    name: str,
    frame: pd.DataFrame,
    as_json: bool,
    shown: tuple[str, ...] = (),
    nothing: str = "nothing is kept",
    notes: Sequence[str] = (),
    commands: Sequence[str] = (),
) -> None:
    """Print a frame: all of it as JSON, or the columns `shown` as a table; `nothing` says that it is empty."""
    from rich.console import Group

    records: list[dict[Any, Any]] = frame.to_dict(orient="records")
    columns = shown or tuple(frame.columns)
    rows = ([_short(column, record[column]) for column in columns] for record in records)
    shape = Group(table(columns, rows), *notes) if records else nothing
    emit(as_json, {name: records}, lambda: shape, commands)


def folded(text: str, width: int = 50) -> str:
    """`text` with a line break after a separator in every path that is wider than `width`, so that none is cut in the
    middle of a name."""
    lines = [""]
    for part in re.findall(r"[^/\\]*[/\\]|[^/\\]+", text):
        word = lines[-1].rpartition(" ")[2]
        if len(word + part.partition(" ")[0]) > width and word:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _short(column: str, value: Any) -> Any:
    """A time to the minute; all else as it is."""
    return str(value)[:16] if column.endswith("_at") else value
