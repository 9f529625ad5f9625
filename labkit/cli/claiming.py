"""`labkit survey` and `claims`: measure everything about some frameworks, and hold what is published against it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labkit.cli import comparing, options
from labkit.cli.output import emit, progress

if TYPE_CHECKING:
    from labkit.claims.measured import Row

OUT_HELP = "The table that is written, such as datasets/measured.csv."
MEASURED_HELP = "Another table of measured rows than datasets/measured.csv, made by labkit survey."
VERDICT_HELP = "Only claims with this verdict: holds, fails, 'holds if' or 'not measured'; may be repeated."


def survey(
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help=OUT_HELP)],
    stack: comparing.Stacks = None,
    repeat: Annotated[int, typer.Option(min=1, help="Trials a cell.")] = comparing.REPEAT,
    seed: Annotated[int, typer.Option(help="Of the order in which cells are measured.")] = 1,
    lanes: Annotated[int, typer.Option(min=1, help="Cells that are measured at a time.")] = 2,
) -> None:
    """Measure cells, checks and probes of some frameworks, all by default, and write the table that claims are held to.

    Rows of other frameworks stay in the table. Interrupted, the same command goes on where it was. Exit code 1 when
    something was left out; it is said what, and why.
    """
    import shutil

    from labkit.claims.measured import read, replaced, write
    from labkit.claims.survey import survey as measure
    from labkit.errors import LabError
    from labkit.measure.durable import require_sound
    from labkit.measure.plan import plan_of
    from labkit.stacks.find import every_stack

    options.writable(out, lambda body: body.startswith(b"stack,kind,"))
    earlier = read(out) if out.exists() else []
    known = dict(every_stack())
    absent = {name: found.what for name, found in known.items() if isinstance(found, LabError) and not stack}
    plan = plan_of(stack or [name for name in known if name not in absent], (), repeat, seed)
    folder = comparing.HOME / f"survey-{plan.id}"
    require_sound(folder)
    with progress(f"{len(plan.stacks)} stacks") as tell:
        rows, unable = measure(plan, folder, lanes=lanes, tell=lambda what, done, of: tell(done, of))
    write(out, replaced(earlier, rows, list(known)))
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{out}: {len(rows)} rows measured")
    lines = [f"{name}: {why}" for name, why in {**absent, **unable}.items()] + left_out(rows)
    for line in lines:
        print(f"labkit: left out: {line}", file=sys.stderr)
    raise typer.Exit(1 if lines else 0)


def left_out(rows: Sequence[Row]) -> list[str]:
    """What was asked and not measured, a line each: checks and probes that were not run, and cells without a trial.
    What a framework does not offer was answered."""
    lines = [
        f"{row.stack}: the {row.kind} {row.name!r} was not run: {row.seen}" for row in rows if row.outcome == "not run"
    ]
    for stack in dict.fromkeys(row.stack for row in rows):
        cells = [row for row in rows if (row.stack, row.kind) == (stack, "cell")]
        if empty := [row for row in cells if not row.trials]:
            lines.append(f"{stack}: {len(empty)} of {len(cells)} cells have no trial: {empty[0].seen}")
    return lines


def claims(
    verdict: Annotated[list[str] | None, typer.Option("--verdict", help=VERDICT_HELP)] = None,
    measured: Annotated[Path | None, typer.Option("--measured", metavar="FILE", help=MEASURED_HELP)] = None,
    as_json: options.Json = False,
) -> None:
    """Set what is published about frameworks beside what was measured, with a verdict."""
    import msgspec

    from labkit.cases.service_desk import DATASETS
    from labkit.claims.table import SIGNS, judged, render

    wanted = options.all_known("verdict", verdict, SIGNS)
    found = judged(DATASETS / "claims.csv", measured or DATASETS / "measured.csv")
    shown = [each for each in found if each.verdict in (wanted or SIGNS)]
    data = [
        {**msgspec.to_builtins(each.claim), "verdict": each.verdict, "trials": each.trials, "condition": each.condition}
        for each in shown
    ]
    emit(as_json, {"claims": data}, lambda: render(shown))
