"""What a crash would have done to recorded runs: the analysis of whole files, and the report that a person reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from pathlib import Path

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from labkit.check.verdict import VERDICTS
from labkit.effects.policies import POLICIES
from labkit.engines import ENGINES
from labkit.trajectory.accidents import Happened, what_happened
from labkit.trajectory.checks import check, check_effects, listed, read_all
from labkit.trajectory.crashes import Row, crash_everywhere
from labkit.trajectory.identity import same_effects
from labkit.trajectory.model import Trajectory
from labkit.trajectory.told import and_, shown, what_has_happened

HARMS = ("duplicated", "lost", "ambiguous", "untracked")
Progress = Callable[[int, int], None]
"""Told (rows done, rows in all) after each row."""


class Report(msgspec.Struct, kw_only=True):
    """What `happened` in each recorded run, and what a crash would have done to it.

    How many `trajectories`, tool `calls`, and `effects` among these were read (`effects_failed`: answered with an
    error in the recording), how many `schedules` were explored, how often each of the `tools` was called, which
    effects were `never_called`, which tools were taken as `reads`, and one row for each trajectory, engine and policy.
    """

    happened: list[Happened]
    trajectories: int
    calls: int
    effects: int
    effects_failed: int
    schedules: int
    tools: dict[str, int]
    never_called: list[str]
    reads: list[str]
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
    same_effect: Iterable[str] = (),
) -> Report:
    """Say what has happened in every recorded run in `paths`, and crash each once at every tap.

    `effects` are the tools that change the world, `provider` what these can do about repeats; no engine or policy
    named means all of them. `same_effect` says what makes two calls one effect: `TOOL:field,field`, or `field,field`
    for every tool. A call that failed or is in doubt in the recording is crashed like any other: it was sent. Raises
    InvalidInput for a file that does not fit, a name that does not exist, or when no effect is named; with
    `every_effect` also when one of them was never called.
    """
    trajectories = read_all(paths)
    tools = Counter(call.name for each in trajectories for call in each.calls)
    chosen, never_called = check_effects(tools, effects, every_effect)
    rules = same_effects(same_effect, trajectories, chosen)
    pairs = list(product(dict.fromkeys(engines) or ENGINES, dict.fromkeys(policies) or POLICIES))
    check(trajectories, chosen, pairs, provider)
    happened = [what_happened(each, chosen, rules) for each in trajectories]
    rows = _rows(trajectories, happened, chosen, (pairs, provider), progress)
    calls = [call for each in trajectories for call in each.calls]
    return Report(
        happened=happened,
        trajectories=len(trajectories),
        calls=len(calls),
        effects=sum(call.name in chosen and call.made for call in calls),
        effects_failed=sum(call.name in chosen and call.failed for call in calls),
        schedules=sum(row.schedules for row in rows),
        tools=dict(sorted(tools.items())),
        never_called=never_called,
        reads=sorted(set(tools) - chosen),
        rows=rows,
    )


def _rows(
    trajectories: list[Trajectory],
    happened: list[Happened],
    effects: set[str],
    on: tuple[list[tuple[str, str]], str],
    progress: Progress | None,
) -> list[Row]:
    """One row for each trajectory, engine and policy; `on` holds these pairs, and what the provider can do."""
    pairs, provider = on
    rows: list[Row] = []
    for (run, held), pair in product(zip(trajectories, happened, strict=True), pairs):
        rows.append(crash_everywhere(run, effects, *pair, provider, held))
        if progress:
            progress(len(rows), len(trajectories) * len(pairs))
    return rows


def render(report: Report) -> RenderableType:
    """The report for a person: what has happened, a table of what a crash would do, and a few sentences.

    Where every engine fares alike, a policy has one line for all of them.
    """
    # Text, never markup: names come from the recording.
    reads = {name: count for name, count in report.tools.items() if name in report.reads}
    said = [*sentences(report), *([f"Taken as reads, which may be repeated: {listed(reads)}."] if reads else [])]
    opening = shown(what_has_happened(report.happened, "effect call"))
    return Group(opening, Text(), _table(report), *map(Text, said))


def _table(report: Report) -> Table:
    runs = f"{report.trajectories} recorded run{'' if report.trajectories == 1 else 's'}"
    effects = f"{report.effects} effect call{'' if report.effects == 1 else 's'}"
    failed = f", {report.effects_failed} failed when recorded" if report.effects_failed else ""
    title = f"What one crash would do: {runs}, {effects}{failed}"
    table = Table(title=title, box=SIMPLE_HEAD, show_edge=False, padding=0)
    for name in ("engine", "policy"):
        table.add_column(name, no_wrap=True)
    for name in ("schedules", *HARMS, "model"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.caption = "effect calls that some crash did this to; model: calls paid again"
    for engines, rows in _alike(report):
        harmed = [str(len(_calls(rows, harm))) for harm in HARMS]
        schedules, paid = sum(row.schedules for row in rows), sum(row.model_calls_repeated.total for row in rows)
        table.add_row(engines, rows[0].policy, f"{schedules:,}", *harmed, f"{paid:,}", _worst(rows))
    return table


def _alike(report: Report) -> list[tuple[str, list[Row]]]:
    """The rows of each line of the table: by engine and policy, or by policy where all engines fare alike in each."""
    engines, policies = (
        list(dict.fromkeys(getattr(row, name) for row in report.rows)) for name in ("engine", "policy")
    )
    apart = {
        (e, p): [row for row in report.rows if (row.engine, row.policy) == (e, p)] for e in engines for p in policies
    }
    fares = {pair: (*(_calls(rows, harm) for harm in HARMS), _worst(rows)) for pair, rows in apart.items()}
    if len(engines) > 1 and all(fares[each, policy] == fares[engines[0], policy] for each, policy in fares):
        together = [[row for row in report.rows if row.policy == policy] for policy in policies]
        return [(f"all {len(engines)} alike", rows) for rows in together]
    return [(engine, rows) for (engine, _), rows in apart.items()]


def _worst(rows: list[Row]) -> str:
    return max((row.verdict for row in rows), key=VERDICTS.index)


def sentences(report: Report) -> list[str]:
    """Which calls a crash repeats or loses; what it leaves to a person, and what it costs; why not all is valid.

    Another one warns of effects that no run called: the name may be mistyped, and a call go unwatched.
    """
    twice, lost, doubt = (_by_policy(report, harm) for harm in ("duplicated", "lost", "ambiguous"))
    safe = [policy for policy in dict.fromkeys(row.policy for row in report.rows) if policy not in twice]
    first = f"No single crash repeats any of the {report.effects} effect calls"
    if twice:
        name, call = min(min(calls) for calls in twice.values())
        first = f"One crash at a bad moment repeats {_told(twice, report)}, for example {call} of {name}"
        first += f"; under {and_(safe)} it repeats none" if safe else ""
    first += f", and loses {_told(lost, report)}." if lost else ", and none is lost."
    second = "A crash leaves no effect call ambiguous"
    if doubt:
        why = "the provider can neither recognise a repeat nor be asked"
        second = f"A crash leaves {_told(doubt, report)} ambiguous until a person has looked, because {why}"
    most = max(row.model_calls_repeated.max for row in report.rows)
    paid = sum(row.model_calls_repeated.total for row in report.rows)
    second += f"; it makes at most {most} model call{'' if most == 1 else 's'} be paid again, "
    said = [first, f"{second}{paid:,} in all {report.schedules:,} schedules.", *_why(report)]
    if report.never_called:
        said.append(f"Never called: {and_(report.never_called)}; tools called: {listed(report.tools)}.")
    return said


def _why(report: Report) -> list[str]:
    """The invariants that crashes break, with schedules and policies; what the recording itself holds against it."""
    broken: dict[str, dict[str, int]] = {}
    for row in report.rows:
        for name, schedules in row.invariants.items():
            by_policy = broken.setdefault(name, {})
            by_policy[row.policy] = by_policy.get(row.policy, 0) + schedules
    why = [f'"{name}" in {sum(by.values()):,} schedules ({", ".join(by)})' for name, by in sorted(broken.items())]
    said = [f"Invalid: a crash breaks {and_(why)}."] if why else []
    twice = [f"{each.calls[0].call} of {run.trajectory}" for run in report.happened for each in run.duplicates]
    said += [f"Invalid without any crash: the recording itself repeats {and_(twice[:3])}."] if twice else []
    doubtful = [run for run in report.happened if run.open]
    if len(doubtful) == 1:
        said.append(
            f"Not valid under any policy while this is open in {doubtful[0].trajectory}: {and_(doubtful[0].open)}."
        )
    elif doubtful:
        runs = and_([run.trajectory for run in doubtful]) if len(doubtful) <= 3 else f"{len(doubtful)} runs"
        said.append(f"Not valid under any policy: the recordings of {runs} leave open what has happened.")
    return said


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
    parts = [f"{number} of {report.effects} effect calls under {and_(names)}" for number, names in by_number.items()]
    return and_(parts)
