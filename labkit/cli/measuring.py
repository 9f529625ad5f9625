"""`labkit bench` and `perf`: real kills, speed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labkit.cli import comparing, options
from labkit.cli.output import begun_with, emit, progress, said_with, telling

if TYPE_CHECKING:
    from labkit.bench import BenchReport
    from labkit.model import Workflow

REPEAT_HELP = "Kill at each tap this often: once by default, 40 times with --stack."
KEEP_HELP = "Keep every trial's files and traces in this folder; a campaign that was interrupted goes on there."


def bench(
    workflow: options.WorkflowName = None,
    named: options.WorkflowOption = None,
    engine: options.Engines = None,
    policy: options.Policies = None,
    provider: options.Provider = "as-declared",
    stack: comparing.Stacks = None,
    repeat: Annotated[int | None, typer.Option(min=1, help=REPEAT_HELP)] = None,
    case: options.Case = None,
    inputs: options.Inputs = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the JSON report here, too.")] = None,
    keep: Annotated[Path | None, typer.Option(metavar="FOLDER", help=KEEP_HELP)] = None,
    plain: Annotated[bool, typer.Option("--plain", help="A new Python for each process instead of a fork.")] = False,
    seed: Annotated[int | None, typer.Option(help="Of the order in which the cells of --stack are measured.")] = None,
    dsn: comparing.Dsn = "",
    fault: Annotated[str, typer.Option("--fault", metavar="NAME[:EFFECT]", help=options.FAULT_HELP)] = "",
    as_json: options.Json = False,
) -> None:
    """Kill real processes at every tap, resume in fresh ones, and compare with what theory expects.

    With --stack, existing frameworks instead: each window of each effect, and what else may happen besides a crash.
    Exit code 1 when a trial came out otherwise than expected or could not be judged.
    """
    if stack:
        ours = {"WORKFLOW": workflow or named, "--engine": engine, "--case": case, "--input": inputs}
        options.none_of("--stack", {**ours, "--provider": provider != "as-declared", "--fault": fault})
        comparing.bench_stacks(stack, policy, repeat, 1 if seed is None else seed, dsn, keep, plain, out, as_json)
    options.none_of("a bench without --stack", {"--seed": seed, "--dsn": dsn})
    flow = options.workflow_of(options.name_of(workflow, named))
    given = options.inputs_of(flow, case, inputs)
    chosen = {
        "engines": options.engines(engine),
        "policies": options.policies(policy),
        "provider": options.providers([provider])[0],
    }
    _bench_engines(flow, given, {**chosen, "repeat": repeat or 1, "fault": fault}, keep, plain, out, as_json)


def _bench_engines(
    flow: Workflow[Any],
    given: dict[str, Any],
    chosen: dict[str, Any],
    keep: Path | None,
    plain: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run the campaign over our own engines, and conclude."""
    from labkit.bench import run as campaign
    from labkit.bench.launch import DEFAULT_MODE

    options.writable(out, options.is_json_with("trials", "cells"))
    mode = "plain" if plain else DEFAULT_MODE
    with progress(f"{flow.name}: real kills") as tell:
        report = campaign(
            **chosen, workflow=flow, inputs=given, mode=mode, out=keep, keep=keep is not None, progress=tell
        )
    _conclude(report, given, out, as_json)


def perf(
    quick: Annotated[bool, typer.Option("--quick", help="Measure next to nothing: does everything work here?")] = False,
    as_json: options.Json = False,
) -> None:
    """Measure our engines beside raw SQLite, LangGraph, DBOS and eventsourcing, and hold them against their marks."""
    from labkit import perf as speed

    with telling("measuring") as tell:
        report = speed.measure(progress=tell, quick=quick)
    emit(as_json, report, lambda: speed.render(report))


def _conclude(report: BenchReport, given: dict[str, Any], out: Path | None, as_json: bool) -> None:
    """Write and print a campaign's report; end as it ended."""
    from labkit.bench import render

    data = begun_with(given, report)
    if out:
        out.write_text(json.dumps(data, indent=2) + "\n", "utf-8")
    emit(as_json, data, lambda: said_with(given, render(report)))
    if report.interrupted:
        raise KeyboardInterrupt
    raise typer.Exit(0 if report.ok else 1)
