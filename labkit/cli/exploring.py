"""`labkit matrix`, `explore`, `replay` and `interleave`: every crash, without killing anything."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labkit.cli import options
from labkit.cli.output import emit, progress
from labkit.errors import LabError
from labkit.lab.tables import table

if TYPE_CHECKING:
    from labkit.lab.facade import Lab
    from labkit.model import Workflow
    from labkit.sim.counterexample import Counterexample
    from labkit.timeline import Timeline

REPLAY_HELP = "Your own workflow, as module:attribute; a file never decides what is imported."
OUT_HELP = "Save the counterexample here, if there is one."


def matrix(
    workflow: options.WorkflowOption = "refund",
    engine: options.Engines = None,
    policy: options.Policies = None,
    provider: options.Providers = None,
    crashes: options.Crashes = 1,
    case: options.Case = None,
    inputs: options.Inputs = None,
    as_json: options.Json = False,
) -> None:
    """Explore every schedule of crashes for engine x policy x provider; compare with what theory expects.

    Exit code 1 when a schedule came out otherwise than expected.
    """
    from labkit import matrix as table_of

    flow = options.workflow_of(workflow)
    chosen = {"engines": options.engines(engine), "policies": options.policies(policy)}
    with progress(f"{flow.name}, {crashes} crashes") as tell:
        report = table_of.matrix(
            flow,
            **chosen,
            providers=options.providers(provider),
            crashes=crashes,
            inputs=options.inputs_of(flow, case, inputs),
            progress=tell,
        )
    emit(as_json, report, lambda: table_of.render(report))
    raise typer.Exit(1 if report.unexpected else 0)


def explore(
    workflow: options.WorkflowName = "refund",
    engine: options.Engine = None,
    policy: options.Policy = None,
    provider: options.Provider = "as-declared",
    drift: options.Drift = False,
    crashes: options.Crashes = 1,
    case: options.Case = None,
    inputs: options.Inputs = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help=OUT_HELP)] = None,
    as_json: options.Json = False,
) -> None:
    """Explore every schedule of crashes of one combination; save the shortest that breaks an invariant.

    Exit code 1 when an invariant was broken.
    """
    from labkit.sim import explore as search

    flow, names = options.workflow_of(workflow), options.combination(engine, policy, provider)
    given = options.inputs_of(flow, case, inputs)
    with progress(f"{flow.name} on {names.engine}, {names.policy}") as tell:
        count = _adding(tell)
        report = search(flow, **names._asdict(), drift=drift, crashes=crashes, progress=count, **given)
    if report.counterexample:
        report.counterexample.workflow = workflow  # the name by which `labkit replay` finds it again
    saved = report.counterexample.save(out) if out and report.counterexample else None
    emit(as_json, report, lambda: _found(str(report), report.counterexample, saved))
    raise typer.Exit(0 if report.ok else 1)


def replay(
    counterexample: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `labkit explore --out` wrote.")],
    workflow: Annotated[str | None, typer.Option(metavar="NAME", help=REPLAY_HELP)] = None,
    as_json: options.Json = False,
) -> None:
    """Play a saved counterexample again: draw each process, and name the invariants that break.

    Exit code 1 when one is still broken.
    """
    from rich.console import Group

    from labkit.cases import known_case
    from labkit.lab.facade import Lab
    from labkit.sim.counterexample import Counterexample
    from labkit.sim.simulate import replay as play

    found = Counterexample.load(counterexample)
    flow = options.workflow_of(workflow) if workflow else known_case(found.workflow)
    story = play(found, flow)
    names = {"engine": found.engine, "policy": found.policy, "provider": found.provider}
    with Lab(":memory:", **names, drift=found.drift, faults=found.faults, workflows=[flow]) as lab:
        timeline = _played_again(lab, flow, found)
    broken = [{"invariant": each.invariant, "text": each.text} for each in story.violations]
    data = {"counterexample": found, "violations": broken, "timeline": timeline.data()}
    said = [f"broken: {each['invariant']}: {each['text']}" for each in broken] or ["no invariant is broken any more"]
    emit(as_json, data, lambda: Group(timeline, "", *said))
    raise typer.Exit(1 if broken else 0)


def interleave(
    workflow: options.WorkflowName = "refund",
    engine: options.Engine = None,
    policy: options.Policy = None,
    provider: options.Provider = "as-declared",
    case: options.Case = None,
    inputs: options.Inputs = None,
    as_json: options.Json = False,
) -> None:
    """Explore every interleaving of two workers on one run, with at most two preemptions.

    Exit code 1 when an invariant was broken.
    """
    from labkit.sim.interleave import interleave as search

    flow, names = options.workflow_of(workflow), options.combination(engine, policy, provider)
    with progress(f"{flow.name}: two workers"):
        report = search(flow, **names._asdict(), **options.inputs_of(flow, case, inputs))
    emit(as_json, report, lambda: _interleaved(report))
    raise typer.Exit(0 if report.ok else 1)


def _played_again(lab: Lab, flow: Workflow[Any], found: Counterexample) -> Timeline:
    """The schedule once more, in a lab that keeps traces."""
    run_id = "run-1"
    for tap in found.schedule:
        killed = lab.kill(flow, at=tap, real=False, run_id=run_id, **found.inputs)
    with suppress(LabError):  # how it ended is among the violations
        if killed.run is None:
            lab.start(flow, run_id=run_id, approve=True, **found.inputs)
        else:
            lab.resume(run_id, approve=True)
    return lab.timeline(run_id)


def _adding(tell: Callable[[int, int | None], None]) -> Callable[[int], None]:
    """Turns news of so many more schedules into their sum."""
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        tell(done, None)

    return count


def _found(report: str, counterexample: Counterexample | None, saved: Path | None) -> Any:
    from rich.console import Group

    lines = [report]
    if counterexample:
        lines += ["", f"counterexample: {counterexample}"]
        lines.append(f"next: labkit replay {saved}" if saved else "next: --out FILE saves it, labkit replay plays it")
    return Group(*lines)


def _interleaved(report: Any) -> Any:
    from rich.console import Group

    head = (
        f"{report.workflow} on {report.engine}, {report.policy}, {report.provider}: "
        f"{report.interleavings} interleavings of two workers, {report.refused} stale writes refused, "
        f"{report.ambiguous} left for a person, {len(report.broken)} broke an invariant"
    )
    rows = [(each.paused_at, each.woken_at, "; ".join(v.invariant for v in each.violations)) for each in report.broken]
    return Group(head, *([table(("first paused at", "woken at", "broken"), rows[:20])] if rows else []))
