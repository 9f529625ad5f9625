"""`labkit run` and `labkit taps`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from labkit.cli import options
from labkit.cli.output import emit
from labkit.cli.standing import death, next_commands
from labkit.errors import EffectUnknown, InvalidInput, ProviderAway
from labkit.lab.tables import table
from labkit.scratch import scratch_folder

if TYPE_CHECKING:
    from labkit.lab.facade import Lab
    from labkit.lab.view import Killed, RunView
    from labkit.model import Workflow

EFFECT_HELP = "The effect whose window --crash means: its step, as pay, or pay/2 for the second effect of a step."
CRASH_HELP = "SIGKILL a child at this tap, or in this window (W1 to W5); repeated: kill its successor, too."


class Wish(NamedTuple):
    """What `labkit run` is asked for; `name` is the run's id. `inputs` are empty where none were given."""

    workflow: Workflow[Any]
    inputs: dict[str, Any]
    run_id: str | None
    crashes: list[str]
    effect: str | None
    resume: bool
    approve: bool
    faults: list[str]

    @property
    def name(self) -> str:
        """The run's id."""
        from labkit.lab.naming import run_id_of

        return run_id_of(self.workflow, self.inputs or self.workflow.example) if self.run_id is None else self.run_id


def open_lab(path: Path, wish: Wish, names: options.Combination, drift: bool) -> Lab:
    """The lab at `path`, with the engine, policy and provider by name, and the calls that are to go wrong."""
    from labkit.lab.facade import Lab
    from labkit.scenario import Scenario
    from labkit.sim.calls import faults_named

    engine, policy, provider = names
    named: dict[str, Any] = {"engine": engine, "policy": policy, "provider": provider, "drift": drift}
    inputs = wish.inputs or wish.workflow.example
    faults = faults_named(Scenario(workflow=wish.workflow, inputs=inputs, **named), wish.faults) if wish.faults else ()
    return Lab(path, **named, faults=faults, workflows=[wish.workflow])


def work(
    lab: Lab, workflow: Workflow[Any], run_id: str, inputs: dict[str, Any], *, again: int, approve: bool = True
) -> list[str]:
    """Start or resume a run as a worker does: it is resumed `again` so many times after a call without a clear answer.

    Returns what was said of those calls. Raises what the last call raises.
    """
    told: list[str] = []
    while True:
        try:
            if lab.find(run_id) is None:
                lab.start(workflow, run_id=run_id, approve=approve, **inputs)
            else:
                lab.resume(run_id, approve=approve)
            return told
        except (EffectUnknown, ProviderAway) as unclear:
            if len(told) >= again:
                raise
            told.append(unclear.what)


def carry_out(lab: Lab, wish: Wish) -> tuple[list[Killed], list[str]]:
    """Kill one child after another, then start or resume the run here, if that is wished.

    Return who died, and what was said of calls after which the run was resumed.
    """
    from labkit.scenario import MOST_RESUMED

    named = {"run_id": wish.name, **wish.inputs}
    killed = [lab.kill(wish.workflow, at=at, effect=wish.effect, **named) for at in wish.crashes]
    if not wish.resume:
        return killed, []
    again = MOST_RESUMED if wish.faults else 0
    return killed, work(lab, wish.workflow, wish.name, wish.inputs, again=again, approve=wish.approve)


def run(
    workflow: options.WorkflowName = None,
    named: options.WorkflowOption = None,
    case: options.Case = None,
    inputs: options.Inputs = None,
    crash: Annotated[list[str] | None, typer.Option("--crash", metavar="TAP", help=CRASH_HELP)] = None,
    effect: Annotated[str | None, typer.Option(metavar="EFFECT", help=EFFECT_HELP)] = None,
    resume: Annotated[bool, typer.Option("--resume/--no-resume", help="Leave the run dead after --crash.")] = True,
    approve: Annotated[bool, typer.Option("--approve/--no-approve", help="Play the manager, or wait for one.")] = True,
    db: Annotated[Path | None, typer.Option(metavar="FILE", help="Keep the run in this database.")] = None,
    run_id: Annotated[str | None, typer.Option(metavar="RUN", help="Another run id than refund-17.")] = None,
    engine: options.Engine = None,
    policy: options.Policy = None,
    provider: options.Provider = "as-declared",
    drift: options.Drift = False,
    fault: options.Faults = None,
    as_json: options.Json = False,
) -> None:
    """Run or resume a workflow, kill it for real if you name a tap, and draw what happened.

    With --crash a child process dies at the tap and this process, which has not touched the run before, resumes it.
    Without --db everything is in a temporary folder.
    """
    _require_sense(crash, effect, resume, db)
    name = options.name_of(workflow, named)
    flow, names = options.workflow_of(name), options.combination(engine, policy, provider)
    wish = Wish(flow, options.given_inputs(case, inputs), run_id, crash or [], effect, resume, approve, fault or [])
    with ExitStack() as stack:
        folder = stack.enter_context(scratch_folder()) if db is None else ""
        lab = stack.enter_context(open_lab(options.kept(db) or Path(folder) / "lab.db", wish, names, drift))
        _keeps(lab.find(wish.name), wish, engine, policy)
        killed, unclear = carry_out(lab, wish)
        found = lab.find(wish.name)
        timeline = lab.timeline(wish.name) if found else None
        following = next_commands(found, timeline.effects if timeline else [], name, db)
        data: dict[str, Any] = {"killed": [each.data() for each in killed], "unclear": unclear}
        data |= {"run": found.data() if found else None, "timeline": timeline.data() if timeline else None}
        data |= {"missing": found.missing if found else [], "next": ", then ".join(following)}
        emit(as_json, data, lambda: _shown(killed, unclear, timeline, data["missing"]), following)


def taps(
    workflow: options.WorkflowName = None,
    named: options.WorkflowOption = None,
    case: options.Case = None,
    inputs: options.Inputs = None,
    engine: options.Engine = None,
    policy: options.Policy = None,
    provider: options.Provider = "as-declared",
    as_json: options.Json = False,
) -> None:
    """List the taps that a run passes, each with its crash window: every place where --crash can kill."""
    from labkit.check.windows import windows
    from labkit.lab.foresee import foresee
    from labkit.scenario import Scenario

    flow = options.workflow_of(options.name_of(workflow, named))
    names = options.combination(engine, policy, provider)
    given = options.inputs_of(flow, case, inputs)
    passed = foresee(
        Scenario(workflow=flow, inputs=given, engine=names.engine, policy=names.policy, provider=names.provider)
    )
    rows = [{"tap": str(tap), "window": window} for tap, window in zip(passed, windows(passed), strict=True)]
    data = {"workflow": flow.name, **names._asdict(), "taps": rows}
    title = f"{flow.name} on {names.engine}, policy {names.policy}: {len(rows)} taps"
    emit(as_json, data, lambda: table(("tap", "window"), (row.values() for row in rows), title))


def _require_sense(crash: list[str] | None, effect: str | None, resume: bool, db: Path | None) -> None:
    """Raise InvalidInput for options that mean nothing without others."""
    if not resume and not (db and crash):
        raise InvalidInput("--no-resume leaves a killed run for a look: it needs --crash TAP and --db FILE")
    if effect and not crash:
        raise InvalidInput("--effect says whose window --crash means: it needs --crash W1 to W5")


def _keeps(found: RunView | None, wish: Wish, engine: str | None, policy: str | None) -> None:
    """Refuse to go on with a run with another workflow, input, engine or policy than it was begun with."""
    if found is None:
        return
    found.require(wish.workflow, wish.inputs)
    for kind, asked, own in (("engine", engine, found.engine), ("policy", policy, found.run.policy)):
        if asked not in (None, own):
            raise InvalidInput(
                f"run {found.id} was begun with {kind} {own}, not {asked}",
                safe="the run is untouched",
                next=f"leave --{kind} out, or use another --run-id",
            )


def _shown(killed: list[Killed], unclear: list[str], timeline: Any, missing: list[str]) -> Any:
    from rich.console import Group
    from rich.text import Text

    parts: list[Any] = [part for each in killed for part in (death(each), "")]
    parts += [f"a worker resumed the run: {what}" for what in unclear]
    return Group(*parts, *([timeline] if timeline else []), *(Text(f"unknown: {reason}") for reason in missing))
