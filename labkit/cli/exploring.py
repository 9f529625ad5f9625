"""`labkit matrix`, `explore`, `replay` and `interleave`: every crash, without killing anything."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labkit.cli import options
from labkit.cli.output import begun_with, emit, progress, said_with
from labkit.errors import LabError
from labkit.lab.tables import table

if TYPE_CHECKING:
    from labkit.lab.facade import Lab
    from labkit.model import Workflow
    from labkit.sim.counterexample import Counterexample
    from labkit.timeline import Timeline

ENGINE_HELP = "Your own engine, as module:Class; the file has its name."
REPLAY_HELP = "Your own workflow, as module:attribute; a file never decides what is imported."
UNFENCED = (
    "A database can refuse the write of an owner that was paused and lost its run; a provider can refuse its call only "
    "if it knows the key: a target that does not dedup executes it a second time."
)
OUT_HELP = "Save the counterexample here, if there is one."


def matrix(
    workflow: options.WorkflowName = None,
    named: options.WorkflowOption = None,
    engine: options.Engines = None,
    policy: options.Policies = None,
    provider: options.Providers = None,
    crashes: options.Crashes = 1,
    call_faults: options.CallFaults = None,
    case: options.Case = None,
    inputs: options.Inputs = None,
    as_json: options.Json = False,
) -> None:
    """Explore every schedule of crashes for engine x policy x provider; compare with what theory expects.

    Exit code 1 when a schedule came out otherwise than expected, or when a run did not reach its end.
    """
    from labkit import matrix as table_of

    flow = options.workflow_of(options.name_of(workflow, named))
    chosen = {"engines": options.engines(engine), "policies": options.policies(policy)}
    given = options.inputs_of(flow, case, inputs)
    with progress(f"{flow.name}, at most {crashes} {'crash' if crashes == 1 else 'crashes'}") as tell:
        report = table_of.matrix(
            flow,
            **chosen,
            providers=options.providers(provider),
            crashes=crashes,
            call_faults=call_faults or None,
            inputs=given,
            progress=tell,
        )
    emit(as_json, begun_with(given, report), lambda: said_with(given, table_of.render(report)))
    raise typer.Exit(0 if report.ok else 1)


def explore(
    workflow: options.WorkflowName = None,
    named: options.WorkflowOption = None,
    engine: options.Engine = None,
    policy: options.Policy = None,
    provider: options.Provider = "as-declared",
    drift: options.Drift = False,
    crashes: options.Crashes = 1,
    call_faults: options.CallFaults = None,
    case: options.Case = None,
    inputs: options.Inputs = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help=OUT_HELP)] = None,
    as_json: options.Json = False,
) -> None:
    """Explore every schedule of crashes of one combination; save the shortest that breaks an invariant.

    Exit code 1 when an invariant was broken, or when something was not reached or is open.
    """
    from labkit.sim import explore as search

    name = options.name_of(workflow, named)
    flow, names = options.workflow_of(name), options.combination(engine, policy, provider)
    given = options.inputs_of(flow, case, inputs)
    options.writable(out, options.is_json_with("format", "schedule"))
    with progress(f"{flow.name} on {names.engine}, {names.policy}") as tell:
        count = _adding(tell)
        wanted: dict[str, Any] = {"drift": drift, "crashes": crashes, "call_faults": call_faults or None}
        report = search(flow, **names._asdict(), **wanted, progress=count, **given)
    if report.counterexample:
        report.counterexample.workflow = name  # the name by which `labkit replay` finds it again
    saved = report.counterexample.save(out) if out and report.counterexample else None
    said, following = _found(report.counterexample, out, saved)
    emit(as_json, begun_with(given, report), lambda: said_with(given, str(report), *said), following)
    raise typer.Exit(0 if report.ok else 1)


def replay(
    counterexample: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `labkit explore --out` wrote.")],
    workflow: Annotated[str | None, typer.Option(metavar="NAME", help=REPLAY_HELP)] = None,
    engine: Annotated[str | None, typer.Option(metavar="NAME", help=ENGINE_HELP)] = None,
    as_json: options.Json = False,
) -> None:
    """Play a saved counterexample again: draw each process, and name the invariants that break.

    Exit code 1 when one is still broken.
    """
    from rich.console import Group

    from labkit.cases import known_case
    from labkit.lab.facade import Lab
    from labkit.sim.counterexample import Counterexample, happens
    from labkit.sim.simulate import replay as play
    from labkit.sim.simulate import shortest

    found = Counterexample.load(counterexample)
    options.engines([engine] if engine else [])  # known from now on by the name that the file has
    flow = options.workflow_of(workflow) if workflow else known_case(found.workflow)
    story = play(found, flow)
    names = {"engine": found.engine, "policy": found.policy, "provider": found.provider}
    with Lab(":memory:", **names, drift=found.drift, faults=found.faults, workflows=[flow]) as lab:
        timeline = _played_again(lab, flow, found)
    broken = [{"invariant": each.invariant, "text": each.text} for each in story.violations]
    enough = shortest(found, flow)
    data = {"counterexample": found, "violations": broken, "shortest": enough, "timeline": timeline.data()}
    said = [f"broken rule '{each['invariant']}': {each['text']}" for each in broken]
    said = said or ["no invariant is broken any more"]
    said = [*([f"calls that go wrong: {happens(found.faults, ())}"] if found.faults else []), *said]
    said += [f"enough: {happens(found.faults, enough)}"] if enough != found.schedule else []
    emit(as_json, data, lambda: Group(timeline, "", *said))
    raise typer.Exit(1 if broken else 0)


def interleave(
    workflow: options.WorkflowName = None,
    named: options.WorkflowOption = None,
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

    flow = options.workflow_of(options.name_of(workflow, named))
    names, given = options.combination(engine, policy, provider), options.inputs_of(flow, case, inputs)
    with progress(f"{flow.name}: two workers"):
        report = search(flow, **names._asdict(), **given)
    again = f"labkit interleave {options.name_of(workflow, named)} --provider dedup"
    following = [again] if report.broken and names.provider != "dedup" else []
    emit(as_json, begun_with(given, report), lambda: said_with(given, _interleaved(report)), following)
    raise typer.Exit(0 if report.ok else 1)


def _played_again(lab: Lab, flow: Workflow[Any], found: Counterexample) -> Timeline:
    """The schedule once more, in a lab that keeps traces."""
    from labkit.cli.running import work
    from labkit.scenario import MOST_RESUMED

    run_id = "run-1"
    for tap in found.schedule:
        lab.kill(flow, at=tap, real=False, run_id=run_id, **found.inputs)
    with suppress(LabError):  # how it ended is among the violations
        work(lab, flow, run_id, found.inputs, again=MOST_RESUMED if found.faults else 0)
    return lab.timeline(run_id)


def _adding(tell: Callable[[int, int | None], None]) -> Callable[[int], None]:
    """Turns news of so many more schedules into their sum."""
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        tell(done, None)

    return count


def _found(counterexample: Counterexample | None, out: Path | None, saved: Path | None) -> tuple[list[str], list[str]]:
    """What to say about a counterexample, and the commands to type next."""
    if counterexample is None:
        return ([f"no counterexample: {out} was not written"] if out else []), []
    from labkit.own_engines import engine_spec

    named = {"workflow": counterexample.workflow, "engine": engine_spec(counterexample.engine)}
    own = "".join(f" --{option} {name}" for option, name in named.items() if ":" in name)
    replay = [f"labkit replay {shlex.quote(str(saved))}{own}"] if saved else []
    return ["", f"counterexample: {counterexample}", *([] if saved else ["--out FILE saves it"])], replay


def _interleaved(report: Any) -> Any:
    from rich.console import Group

    head = (
        f"{report.workflow} on {report.engine}, {report.policy}, {report.provider}: "
        f"{report.interleavings} interleavings of two workers, {report.refused} stale writes refused, "
        f"{report.ambiguous} left for a person, {len(report.broken)} broke an invariant"
    )
    rows = [(each.paused_at, each.woken_at, "; ".join(v.invariant for v in each.violations)) for each in report.broken]
    if not rows:
        return head
    return Group(head, table(("first paused at", "woken at", "broken"), rows[:20]), UNFENCED)
