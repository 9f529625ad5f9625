"""`labkit approve`, `resolve`, `cancel` and `decide`: what a person decides, and what a new process may do."""

from __future__ import annotations

import codecs
import json
import sys
from typing import Annotated, Any

import typer

from labkit.cli import options
from labkit.cli.output import emit
from labkit.cli.standing import tell_standing
from labkit.errors import InvalidInput

MAX_CHECKPOINT = 1_000_000  # bytes
EXAMPLE = {
    "status": "running",
    "effect_status": "ambiguous",
    "effect_key": "acme/refund/refund-17/4.execute_refund",
    "attempts": 1,
    "max_attempts": 8,
    "schema_version": 1,
    "workflow_release": "1.0.0",
    "durability_mode": "sync",
}


def approve(
    run_id: options.RunId,
    db: options.Database,
    verdict: Annotated[str, typer.Option(help="approved, edited or rejected.")] = "approved",
    by: Annotated[str, typer.Option(help="Who decides.")] = "manager",
    changes: Annotated[str | None, typer.Option(metavar="JSON", help='With edited: {"amount": "20.00"}.')] = None,
    tenant: options.Tenant = None,
    workflow: options.WorkflowCode = None,
    as_json: options.Json = False,
) -> None:
    """Answer the question that a run waits for. The decision is written; `labkit run` goes on."""
    from labkit.lab.facade import Lab

    with Lab(options.existing(db), tenant=tenant, workflows=options.own(workflow)) as lab:
        view = lab.approve(run_id, verdict=verdict, by=by, changes=_object(changes))
        tell_standing(lab, view, workflow, db, as_json)


def resolve(
    effect_key: Annotated[str, typer.Argument(metavar="EFFECT_KEY", help="As `labkit effects` prints it.")],
    db: options.Database,
    verdict: Annotated[str, typer.Option(help="confirmed (with --receipt), not-done or rejected.")],
    receipt: Annotated[str, typer.Option(help="The provider's receipt of a confirmed effect.")] = "",
    tenant: options.Tenant = None,
    workflow: options.WorkflowCode = None,
    as_json: options.Json = False,
) -> None:
    """Say what became of an ambiguous effect. The verdict is written; `labkit run` goes on."""
    from labkit.lab.facade import Lab

    with Lab(options.existing(db), tenant=tenant, workflows=options.own(workflow)) as lab:
        view = lab.resolve(effect_key, verdict, receipt)
        tell_standing(lab, view, workflow, db, as_json)


def cancel(
    run_id: options.RunId,
    db: options.Database,
    reason: Annotated[str, typer.Option(help="Why; kept with the run.")] = "cancelled by hand",
    tenant: options.Tenant = None,
    workflow: options.WorkflowCode = None,
    as_json: options.Json = False,
) -> None:
    """Close an open run for good; whoever works on it can write no more."""
    from labkit.lab.facade import Lab

    with Lab(options.existing(db), tenant=tenant, workflows=options.own(workflow)) as lab:
        view = lab.cancel(run_id, reason)
        tell_standing(lab, view, workflow, db, as_json)


def decide(
    selftest: Annotated[bool, typer.Option("--selftest", help="Decide four textbook checkpoints.")] = False,
    example: Annotated[bool, typer.Option("--example", help="Print a valid checkpoint to start from.")] = False,
    as_json: options.Json = False,
) -> None:
    """Read a checkpoint as JSON from standard input; say what a new process may do about its effect.

    The answer is execute, advance, reconcile or stop.
    """
    from labkit.effects import decision

    if selftest:
        line = decision.selftest()
        passed = {name: value == "true" for name, _, value in (each.partition("=") for each in line.split())}
        emit(as_json, passed, lambda: line)
        raise typer.Exit(0 if all(passed.values()) else 1)
    if example:
        emit(as_json, EXAMPLE, lambda: json.dumps(EXAMPLE, indent=2))
        return
    action = decision.decide(_checkpoint())
    emit(as_json, {"action": action}, lambda: action)


def _checkpoint() -> Any:
    import msgspec

    from labkit.effects.decision import Checkpoint

    hint = "labkit decide --example prints a valid checkpoint"
    if sys.stdin.isatty():
        print(f"reading a checkpoint as JSON, up to the end of input (Ctrl-D); {hint}", file=sys.stderr)
    body = sys.stdin.buffer.read(MAX_CHECKPOINT + 1).removeprefix(codecs.BOM_UTF8)
    if len(body) > MAX_CHECKPOINT:
        raise InvalidInput(f"the checkpoint has more than {MAX_CHECKPOINT:,} bytes", safe="nothing was decided")
    if not body.strip():
        raise InvalidInput("not a checkpoint: the input is empty", safe="nothing was decided", next=hint)
    try:
        return msgspec.json.decode(body, type=Checkpoint)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidInput(f"not a checkpoint: {error}", safe="nothing was decided", next=hint) from None


def _object(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    hint = """--changes '{"amount": "20.00"}'"""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"--changes {text!r} is not JSON: {error}", safe="nothing was written", next=hint) from None
    if not isinstance(found, dict):
        raise InvalidInput(f"--changes {text!r} is not a JSON object", safe="nothing was written", next=hint)
    return found
