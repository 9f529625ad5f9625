"""Options that several commands share, and the checks of what they are given."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from labkit.errors import InvalidInput, known

if TYPE_CHECKING:
    from labkit.model import Workflow

WORKFLOW_HELP = "A case of the lab (refund, the default), or module:attribute of your own."
WorkflowName = Annotated[str | None, typer.Argument(metavar="WORKFLOW", help=WORKFLOW_HELP)]
WorkflowOption = Annotated[str | None, typer.Option("--workflow", metavar="NAME", help="The same as WORKFLOW.")]
Case = Annotated[int | None, typer.Option(help="The input `case`: a row of datasets/refund_cases.csv.")]
Inputs = Annotated[
    list[str] | None, typer.Option("--input", metavar="NAME=VALUE", help="An input of the workflow; VALUE as JSON.")
]
Engine = Annotated[str | None, typer.Option(help="snapshot, event-sourced or hybrid (the default).")]
Engines = Annotated[list[str] | None, typer.Option("--engine", help="Only this engine; may be repeated.")]
Policy = Annotated[str | None, typer.Option(help="bare, keyed, ledger (the default) or outbox.")]
Policies = Annotated[list[str] | None, typer.Option("--policy", help="Only this policy; may be repeated.")]
Provider = Annotated[str, typer.Option(help="What each provider can do: dedup, lookup, neither, or as-declared.")]
Providers = Annotated[
    list[str] | None, typer.Option("--provider", help="Only this provider: dedup, lookup, neither or as-declared.")
]
Drift = Annotated[bool, typer.Option("--drift", help="Models answer differently when they are asked again.")]
Crashes = Annotated[int, typer.Option(min=1, max=3, help="Crashes in a schedule, at most.")]
FAULT_HELP = (
    "A call that goes wrong, at this effect (the first one by default): timeout_before, timeout_after, refused, "
    "reply_lost, reply_twice or away."
)
Faults = Annotated[list[str] | None, typer.Option("--fault", metavar="NAME[:EFFECT]", help=FAULT_HELP)]
CallFaults = Annotated[
    list[str] | None,
    typer.Option(
        "--call-faults",
        metavar="NAME",
        help="Calls that go wrong, too: all, timeout_before, timeout_after, refused, reply_lost, reply_twice or away.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Database = Annotated[Path, typer.Option("--db", metavar="FILE", help="The lab's database.")]
Tenant = Annotated[str | None, typer.Option(help="Only this tenant's runs.")]
WorkflowCode = Annotated[
    str | None, typer.Option("--workflow", metavar="NAME", help="Where the code of the run is, if it is your own.")
]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run's id, such as refund-17.")]


def engines(names: Iterable[str] | None) -> tuple[str, ...]:
    """The engines by name, checked; raise InvalidInput with the nearest name otherwise."""
    from labkit.own_engines import engine_name

    return tuple(dict.fromkeys(map(engine_name, names or ())))


def policies(names: Iterable[str] | None) -> tuple[str, ...]:
    """The policies by name, checked."""
    from labkit.effects.policies import POLICIES

    return all_known("policy", names, POLICIES)


def providers(names: Iterable[str] | None) -> tuple[str, ...]:
    """The providers by name, checked."""
    from labkit.scenario import PROVIDERS

    return all_known("provider", names, PROVIDERS)


class Combination(NamedTuple):
    """One engine, policy and provider, by name."""

    engine: str
    policy: str
    provider: str


def combination(engine: str | None, policy: str | None, provider: str) -> Combination:
    """One engine, policy and provider by name, checked; left out, they are hybrid and ledger."""
    (engine,) = engines(["hybrid" if engine is None else engine])
    (policy,) = policies(["ledger" if policy is None else policy])
    return Combination(engine, policy, *providers([provider]))


def all_known(kind: str, names: Iterable[str] | None, choices: Iterable[str]) -> tuple[str, ...]:
    """The names, each one of `choices`; raise InvalidInput with the nearest one otherwise."""
    return tuple(known(kind, name, choices) for name in names or ())


def workflow_of(name: str) -> Workflow[Any]:
    """The workflow called `name`; code in the current folder is found, too."""
    from labkit.cases import find_workflow

    module, _, attribute = name.partition(":")
    stem = module.removesuffix(".py").replace("\\", "/").strip("./").replace("/", ".")
    if not stem or module != stem:
        example = f"{stem or 'module'}:{attribute or 'attribute'}"
        raise InvalidInput(f"{name!r} names no module", safe="nothing was run", next=example)
    return find_workflow(name)


def name_of(positional: str | None, option: str | None) -> str:
    """The workflow's name, given in either place; raise InvalidInput for two names."""
    named = [name for name in (positional, option) if name is not None]
    if len(set(named)) > 1:
        raise InvalidInput(f"two workflows were named: {' and '.join(named)}", safe="nothing was run", next="name one")
    return named[0] if named else "refund"


def inputs_of(workflow: Workflow[Any], case: int | None, given: list[str] | None) -> dict[str, Any]:
    """The inputs of a run as they were given, else the workflow's own example.

    Raise InvalidInput when they are malformed, or when no run can begin with them.
    """
    from labkit.runner import first_state

    found = given_inputs(case, given) or dict(workflow.example)
    first_state(workflow, found)
    return found


def given_inputs(case: int | None, given: list[str] | None) -> dict[str, Any]:
    """The inputs that `--case` and `--input` name, each once; raise InvalidInput if malformed."""
    found: dict[str, Any] = {} if case is None else {"case": case}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise InvalidInput(f"--input {text!r} is not NAME=VALUE", safe="nothing was run", next="--input case=17")
        if name in found:
            raise InvalidInput(f"the input {name} is given twice", safe="nothing was run", next="give it once")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value  # plain text need not be quoted twice
    return found


def own(workflow: str | None) -> list[Workflow[Any]]:
    """The workflow that was named, if one was."""
    return [workflow_of(workflow)] if workflow else []


def existing(db: Path) -> Path:
    """The path of a database that is there; raise InvalidInput otherwise, so that looking makes no file."""
    if not db.parent.is_dir():
        raise InvalidInput(f"there is no folder {db.parent}", safe="nothing was made", next="correct --db")
    if not db.exists():
        make = f"labkit run refund --case 17 --db {shlex.quote(str(db))}"
        raise InvalidInput(f"there is no database {db}", safe="nothing was made", next=make)
    return db


def kept(db: Path | None) -> Path | None:
    """The path of a database that outlives the command; raise InvalidInput for one in memory."""
    if str(db) == ":memory:":
        raise InvalidInput("a database in memory keeps nothing", safe="nothing was run", next="--db lab.db, or no --db")
    return db


def writable(out: Path | None, ours: Callable[[bytes], bool]) -> None:
    """Raise InvalidInput unless a report can be written to `out`: a new file, or one of `ours` to be replaced."""
    if out is None:
        return
    why = ""
    if out.is_dir():
        why = "is a folder"
    elif not out.parent.is_dir():
        why = f"cannot be made: there is no folder {out.parent}"
    elif out.exists() and not ours(out.read_bytes()):
        why = "is there already and is no such report"
    elif not os.access(out if out.exists() else out.parent, os.W_OK):
        why = "cannot be written"
    if why:
        raise InvalidInput(f"--out {out} {why}", safe="nothing was run, and the file is untouched", next="name another")


def none_of(option: str, others: Mapping[str, object]) -> None:
    """Raise InvalidInput when one of the `others` was given, that mean nothing with `option`."""
    given = [name for name, value in others.items() if value]
    if given:
        raise InvalidInput(f"{option} goes without {', '.join(given)}", safe="nothing was run", next="leave one out")


def is_json_with(*fields: str) -> Callable[[bytes], bool]:
    """Tells whether a file's content is a JSON object with these fields, or nothing at all."""

    def ours(content: bytes) -> bool:
        try:
            found = json.loads(content or "null")
        except ValueError:
            return False
        return not content or (isinstance(found, dict) and set(fields) <= set(found))

    return ours
