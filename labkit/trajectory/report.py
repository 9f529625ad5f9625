"""What a crash would have done to recorded runs: the analysis of whole files, and the report that a person reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from itertools import product
from pathlib import Path

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from labkit.effects.policies import POLICIES
from labkit.engines import ENGINES
from labkit.errors import InvalidInput
from labkit.scenario import Scenario
from labkit.sim.lives import Simulation
from labkit.trajectory.crashes import Row, crash_everywhere
from labkit.trajectory.model import Trajectory
from labkit.trajectory.read import read
from labkit.trajectory.workflow import as_workflow

VERDICTS = ("valid", "unknown", "invalid")
HARMS = ("duplicated", "lost", "ambiguous", "untracked")
Progress = Callable[[int, int], None]
"""Told (rows done, rows in all) after each row."""


class Report(msgspec.Struct, kw_only=True):
    """How many `trajectories`, tool `calls`, and `effects` among these were read (`effects_failed`: answered with an
    error in the recording), how many `schedules` were explored, how often each of the `tools` was called, which
    effects were `never_called`, and one row for each trajectory, engine and policy.
    """

    trajectories: int
    calls: int
    effects: int
    effects_failed: int
    schedules: int
    tools: dict[str, int]
    never_called: list[str]
    rows: list[Row]


def analyse(
    paths: Sequence[str | Path],
    effects: Iterable[str],
    engines: Iterable[str] = (),
    policies: Iterable[str] = (),
    provider: str = "neither",
    progress: Progress | None = None,
    *,
    every_effect: bool = False,
) -> Report:
    """Crash every recorded run in `paths` once at every tap; no engine or policy named means all of them.

    `effects` are the tools that change the world, `provider` what these can do about repeats. A call that failed in
    the recording is crashed like any other: it was sent, and an error does not prove that nothing happened. Raises
    InvalidInput for a file that does not fit, a name that does not exist, or when no effect is named; with
    `every_effect` also when one of them was never called.
    """
    trajectories = read_all(paths)
    tools = Counter(call.name for trajectory in trajectories for call in trajectory.calls)
    chosen, never_called = check_effects(tools, effects, every_effect)
    pairs = list(product(dict.fromkeys(engines) or ENGINES, dict.fromkeys(policies) or POLICIES))
    check(trajectories, chosen, pairs, provider)
    rows: list[Row] = []
    for trajectory, (engine, policy) in product(trajectories, pairs):
        rows.append(crash_everywhere(trajectory, chosen, engine, policy, provider))
        if progress:
            progress(len(rows), len(trajectories) * len(pairs))
    calls = [call for trajectory in trajectories for call in trajectory.calls]
    return Report(
        trajectories=len(trajectories),
        calls=len(calls),
        effects=sum(call.name in chosen for call in calls),
        effects_failed=sum(call.name in chosen and call.failed for call in calls),
        schedules=sum(row.schedules for row in rows),
        tools=dict(sorted(tools.items())),
        never_called=never_called,
        rows=rows,
    )


def read_all(paths: Sequence[str | Path]) -> list[Trajectory]:
    """The trajectories of all files; the ids of several files carry the file's path, `runs.jsonl:run-1`."""
    if len(paths) == 1:
        return read(paths[0])
    found = []
    for path in dict.fromkeys(map(str, paths)):
        try:
            found += [msgspec.structs.replace(each, id=f"{path}:{each.id}") for each in read(path)]
        except InvalidInput as refused:
            raise InvalidInput(f"{path}: {refused.what}", safe=refused.safe, next=refused.next) from refused
    return found


def check_effects(tools: dict[str, int], effects: Iterable[str], every: bool = False) -> tuple[set[str], list[str]]:
    """The effects as a set, and those among them that no run called (`tools`: calls by name).

    Raises InvalidInput, with the nearest of the tools that were called, when no effect is named, when none of them was
    called, or with `every` when one was not.
    """
    chosen = set(effects)
    never_called = sorted(chosen - set(tools))
    if chosen and (not never_called or (len(never_called) < len(chosen) and not every)):
        return chosen, never_called
    what = f"no call of {' or '.join(map(repr, never_called))} was recorded" if chosen else "no effect was named"
    near = [close for name in never_called for close in get_close_matches(name, tools, 1)]
    meant = f"did you mean {' and '.join(near)}? " if near else ""
    raise InvalidInput(
        f"{what}; tools called: {_listed(tools)}",
        safe="nothing was run",
        next=f"{meant}Name each tool that changes the world (books, pays, sends, deletes) by --effect NAME; leave out "
        "those that were not called, that only read, or that do no harm when repeated",
    )


def check(trajectories: list[Trajectory], effects: set[str], pairs: list[tuple[str, str]], provider: str) -> None:
    """Raise InvalidInput for an engine, policy or provider that does not exist, or a run too long, before any crash."""
    for trajectory in trajectories:
        workflow = as_workflow(trajectory, effects, provider)
    for engine, policy in pairs:
        Simulation(Scenario(workflow=workflow, inputs={}, engine=engine, policy=policy))


def render(report: Report) -> RenderableType:
    """The report for a person: a table with one line for each engine and policy, and two sentences."""
    failed = f"{report.effects_failed} of these failed when recorded"
    title = f"{report.trajectories} recorded runs, {report.effects} effect calls, {failed}"
    table = Table(title=title, box=SIMPLE_HEAD, show_edge=False, padding=0)
    for name in ("engine", "policy"):
        table.add_column(name, no_wrap=True)
    for name in ("schedules", *HARMS, "model"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.caption = "effect calls that some crash did this to; model: calls paid again"
    for engine, policy in dict.fromkeys((row.engine, row.policy) for row in report.rows):
        rows = [row for row in report.rows if (row.engine, row.policy) == (engine, policy)]
        harmed = [str(len(_calls(rows, harm))) for harm in HARMS]
        schedules, paid = sum(row.schedules for row in rows), sum(row.model_calls_repeated.total for row in rows)
        worst = max((row.verdict for row in rows), key=VERDICTS.index)
        table.add_row(engine, policy, f"{schedules:,}", *harmed, f"{paid:,}", worst)
    # Text, never markup: names come from the recording.
    return Group(table, *(Text(sentence) for sentence in sentences(report)))


def sentences(report: Report) -> list[str]:
    """Two sentences: which calls a crash repeats or loses; what it leaves to a person, and what it costs.

    A third one warns of effects that no run called: the name may be mistyped, and a call go unwatched.
    """
    twice, lost, doubt = (_by_policy(report, harm) for harm in ("duplicated", "lost", "ambiguous"))
    safe = [policy for policy in dict.fromkeys(row.policy for row in report.rows) if policy not in twice]
    first = f"No single crash repeats any of the {report.effects} effect calls"
    if twice:
        name, call = min(min(calls) for calls in twice.values())
        first = f"One crash at a bad moment repeats {_told(twice, report)}, for example {call} of {name}"
        first += f"; under {_and(safe)} it repeats none" if safe else ""
    first += f", and loses {_told(lost, report)}." if lost else ", and none is lost."
    second = "A crash leaves no effect call ambiguous"
    if doubt:
        why = "the provider can neither recognise a repeat nor be asked"
        second = f"A crash leaves {_told(doubt, report)} ambiguous until a person has looked, because {why}"
    most = max(row.model_calls_repeated.max for row in report.rows)
    paid = sum(row.model_calls_repeated.total for row in report.rows)
    second += f"; it makes at most {most} model call{'' if most == 1 else 's'} be paid again, "
    said = [first, f"{second}{paid:,} in all {report.schedules:,} schedules."]
    if report.never_called:
        said.append(f"Never called: {_and(report.never_called)}; tools called: {_listed(report.tools)}.")
    return said


def _listed(tools: dict[str, int]) -> str:
    return ", ".join(f"{name} ({count}x)" for name, count in sorted(tools.items())) or "none"


def _calls(rows: Iterable[Row], harm: str) -> set[tuple[str, str]]:
    """The calls, as (trajectory, step), that came to `harm` in at least one schedule."""
    return {(row.trajectory, count.call) for row in rows for count in getattr(row, harm)}


def _by_policy(report: Report, harm: str) -> dict[str, set[tuple[str, str]]]:
    found = {
        row.policy: _calls((each for each in report.rows if each.policy == row.policy), harm) for row in report.rows
    }
    return {policy: calls for policy, calls in found.items() if calls}


def _told(harmed: dict[str, set[tuple[str, str]]], report: Report) -> str:
    """`23 of 45 effect calls under bare and keyed`, one part for each number."""
    by_number: dict[int, list[str]] = {}
    for policy, calls in harmed.items():
        by_number.setdefault(len(calls), []).append(policy)
    parts = [f"{number} of {report.effects} effect calls under {_and(names)}" for number, names in by_number.items()]
    return _and(parts)


def _and(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
