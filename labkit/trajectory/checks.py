"""What is checked before a recording is crashed: its files, the effects that a person names, engines and policies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

import msgspec

from labkit.errors import InvalidInput
from labkit.scenario import Scenario
from labkit.sim.lives import Simulation
from labkit.trajectory.model import Trajectory
from labkit.trajectory.read import read
from labkit.trajectory.workflow import as_workflow


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
        f"{what}; tools called: {listed(tools)}",
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


def listed(tools: dict[str, int]) -> str:
    """Tools by name, and how often each was called: `get_order (4x), issue_refund (2x)`."""
    return ", ".join(f"{name} ({count}x)" for name, count in sorted(tools.items())) or "none"
