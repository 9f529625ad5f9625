"""The first look at a recording whose effects nobody has named yet: what has happened, and which tools were called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from rich.console import RenderableType

from labkit.trajectory.accidents import Happened, what_happened
from labkit.trajectory.checks import listed, read_all
from labkit.trajectory.identity import same_effects
from labkit.trajectory.told import shown, what_has_happened

UNNAMED = "Which of these tools change the world, no log says: name each by --effect, and see what a crash would do."


class Look(msgspec.Struct, kw_only=True):
    """What `happened` in each recorded run, any call taken for a possible effect; how often each tool was called."""

    happened: list[Happened]
    trajectories: int
    calls: int
    tools: dict[str, int]


def look(paths: Sequence[str | Path], same_effect: Iterable[str] = ()) -> Look:
    """Say what has happened in the runs in `paths`; nothing is crashed. `same_effect` is as for `analyse`.

    Raises InvalidInput for a file that does not fit, or a rule that fits no call.
    """
    trajectories = read_all(paths)
    tools = Counter(call.name for each in trajectories for call in each.calls)
    rules = same_effects(same_effect, trajectories, tools)
    return Look(
        happened=[what_happened(each, rules=rules) for each in trajectories],
        trajectories=len(trajectories),
        calls=sum(tools.values()),
        tools=dict(sorted(tools.items())),
    )


def render(seen: Look) -> RenderableType:
    """The look for a person."""
    lines = [*what_has_happened(seen.happened, "call"), "", f"Tools called: {listed(seen.tools)}.", UNNAMED]
    return shown(lines)
