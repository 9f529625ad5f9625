"""`labkit check-engine`: an engine of one's own, on the workflows that are made for it."""

from __future__ import annotations

from typing import Annotated

import typer

from labkit.cli import options
from labkit.cli.output import emit, progress

ENGINE_HELP = "Your engine as module:Class, or one of the lab's: snapshot, event-sourced, hybrid."


def check_engine(
    engine: Annotated[str, typer.Argument(metavar="ENGINE", help=ENGINE_HELP)],
    stop: Annotated[bool, typer.Option("--stop", help="Check nothing after the first failure.")] = False,
    as_json: options.Json = False,
) -> None:
    """Check an engine: every crash of workflows made for it, two workers, forks and compaction.

    The workflows are long, loop, branch, make many effects in a step, ask and wait. Exit code 1 when a check failed;
    each that failed is named with its workflow and the shortest schedule.
    """
    from labkit.sim.engine_check import check_engine as check

    (name,) = options.engines([engine])
    with progress(f"engine {name}") as tell:
        report = check(name, stop=stop, progress=tell)
    emit(as_json, report, lambda: str(report))
    raise typer.Exit(0 if report.ok else 1)
