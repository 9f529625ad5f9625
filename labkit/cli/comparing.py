"""`labkit bench --stack`, `stacks`, `conformance` and `worker`: existing frameworks under the same kill."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from labkit.cli import options
from labkit.cli.output import emit, progress
from labkit.errors import LabError
from labkit.scratch import scratch_folder

STACK_HELP = "A framework instead of our engines (labkit stacks lists them), or module:attribute of your own adapter."
DSN_HELP = "A Postgres on which workers share the campaign, such as postgresql://user@127.0.0.1:5432/lab."
SERVED_HELP = "A stack that it serves, or module:attribute of your own; all that are installed by default."
HOME = Path(".labkit")
"""Where a campaign lives that was not given a folder, until it is finished."""
REPEAT = 40

Stacks = Annotated[list[str] | None, typer.Option("--stack", metavar="NAME", help=STACK_HELP)]
Dsn = Annotated[str, typer.Option("--dsn", metavar="ADDRESS", help=DSN_HELP)]


def bench_stacks(
    names: list[str],
    policies: list[str] | None,
    repeat: int | None,
    seed: int,
    dsn: str,
    keep: Path | None,
    plain: bool,
    out: Path | None,
    as_json: bool,
) -> NoReturn:
    """Run the campaign over these stacks, print and write its report; exit 1 when something could not be judged."""
    import shutil

    from labkit.bench.launch import DEFAULT_MODE
    from labkit.measure.campaign import require_folder, run
    from labkit.measure.durable import require_sound
    from labkit.measure.plan import plan_of
    from labkit.measure.render import render

    plan = plan_of(names, policies or (), repeat or REPEAT, seed, "plain" if plain else DEFAULT_MODE)
    options.writable(out, options.is_json_with("trials", "cells"))
    folder = keep or HOME / plan.id
    require_sound(require_folder(folder))
    try:
        with progress(f"cells of {', '.join(plan.stacks)}") as tell:
            report = run(plan, folder, dsn=dsn, keep=keep is not None, progress=tell)
    except KeyboardInterrupt:
        print("labkit: the same command goes on where this one stopped", file=sys.stderr)
        raise
    if out:
        out.write_text(json.dumps(_data(report), indent=2) + "\n", "utf-8")
    emit(as_json, report, lambda: render(report))
    if keep is None:
        shutil.rmtree(folder, ignore_errors=True)
    raise typer.Exit(0 if report.ok else 1)


def stacks(as_json: options.Json = False) -> None:
    """List the frameworks that can be measured here, their versions, and the servers that they need."""
    from labkit.measure.plan import versions
    from labkit.stacks.find import ABSENT, every_stack

    rows = []
    for name, stack in every_stack():
        row = {"stack": name, "versions": "", "servers": "", "missing": ""}
        if isinstance(stack, LabError):
            row["missing"] = stack.what
        else:
            found = versions([name])
            absent = [package for package, version in found.items() if version == ABSENT]
            row["versions"] = ", ".join(f"{package} {found[package]}" for package in found if package not in absent)
            row["servers"] = ", ".join(stack.services)
            row["missing"] = ", ".join(f"{package} is {ABSENT}" for package in absent)
        rows.append(row)
    emit(as_json, {"stacks": rows}, lambda: _rows(rows))


def conformance(
    stack: Annotated[str, typer.Argument(metavar="STACK", help=STACK_HELP)],
    as_json: options.Json = False,
) -> None:
    """Ask one framework what every framework is asked: what comes back after a kill, and what is refused.

    Exit code 1 when a check could not be run; a check that fails is a result.
    """
    from labkit.measure.conforming import findings_of
    from labkit.measure.render import finding_table

    with scratch_folder("conformance") as folder, progress(f"{stack}: checks") as tell:
        found = findings_of(stack, Path(folder), tell)
    data = {name: {"outcome": finding.outcome, "seen": finding.seen} for name, finding in found.items()}
    emit(as_json, {"stack": stack, "checks": data}, lambda: finding_table(stack, found))
    raise typer.Exit(1 if any(finding.outcome == "not run" for finding in found.values()) else 0)


def worker(
    dsn: Dsn,
    stack: Annotated[list[str] | None, typer.Option("--stack", metavar="NAME", help=SERVED_HELP)] = None,
    lanes: Annotated[int, typer.Option(min=1, help="Cells that are measured at a time.")] = 2,
    once: Annotated[bool, typer.Option("--once", help="End when nothing is left that it can serve.")] = False,
) -> None:
    """Take part in the campaigns on a Postgres: any number of workers on any number of machines. End it with Ctrl-C.

    What a worker leaves unfinished, killed or interrupted, another one takes over.
    """
    from labkit.measure.worker import work

    with scratch_folder("worker") as folder:
        work(dsn, Path(folder), stacks=stack or (), lanes=lanes, once=once, tell=_tell)


def _tell(line: str) -> None:
    print(f"labkit: {line}", file=sys.stderr, flush=True)


def _data(report: Any) -> Any:
    import msgspec

    return msgspec.to_builtins(report, str_keys=True)


def _rows(rows: list[dict[str, str]]) -> Any:
    from rich.table import Table

    table = Table(title="frameworks under the same kill", title_justify="left")
    for column in rows[0]:
        table.add_column(column, no_wrap=column == "stack")
    for row in rows:
        table.add_row(*row.values())
    return table
