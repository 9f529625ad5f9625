"""A recorded run, call by call: which calls are in doubt, made twice or never made, and results nobody asked for.

The run that an agent's log holds has no processes and no taps, so this is a list of calls in order, not a `Timeline`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from labkit.timeline.text import plain
from labkit.trajectory.accidents import Happened, StrayResult, site, what_happened
from labkit.trajectory.checks import read_all
from labkit.trajectory.identity import SameEffect, same_effects
from labkit.trajectory.model import Trajectory
from labkit.trajectory.told import ended

SIGNS = {"answered": "•", "failed": "✗", "in doubt": "?", "never made": "-", "stray": "!"}
STYLES = {"failed": "red", "in doubt": "bold yellow", "never made": "dim", "stray": "bold magenta"}


class Beat(msgspec.Struct, kw_only=True):
    """One line: a call or a stray result. `mark` is one of SIGNS, `said` tells it in words.

    `twice` holds the numbers of the other lines with the same effect, `known` says that twice is a duplicate and no
    question. `effect` is False for a call that only reads.
    """

    number: int
    turn: int
    place: str
    call: str
    effect: bool
    mark: str
    said: str
    twice: list[int] = msgspec.field(default_factory=list)
    known: bool = False

    @property
    def words(self) -> str:
        """What stands behind the call: how it ended, and where else it is."""
        if not self.twice:
            return self.said
        others = " and ".join(map(str, self.twice))
        return f"{'DUPLICATE' if self.known else 'TWICE?'} see {others} · {self.said}"


class RecordedTimeline(msgspec.Struct, kw_only=True):
    """One recorded run, drawn: `str()` for a terminal, `_repr_html_` for a notebook, `data()` for a program."""

    trajectory: str
    beats: list[Beat]
    happened: Happened

    @classmethod
    def of(
        cls, trajectory: Trajectory, effects: Set[str] = frozenset(), rules: Sequence[SameEffect] = ()
    ) -> RecordedTimeline:
        """The timeline of one run; without `effects`, every call is taken for one."""
        happened = what_happened(trajectory, effects, rules)
        beats = [
            Beat(
                number=0,
                turn=turn,
                place=call.place,
                call=(where := site(call, turn)).call,
                effect=not effects or call.name in effects,
                mark="in doubt" if call.in_doubt else call.outcome if call.made else "never made",
                said=("IN DOUBT: " if call.in_doubt else "") + ended(where),
            )
            for turn, each in enumerate(trajectory.turns, 1)
            for call in each.calls
        ]
        for stray in happened.strays:
            _insert(beats, stray)
        for number, beat in enumerate(beats, 1):
            beat.number = number
        _link(beats, happened)
        return cls(trajectory=trajectory.id, beats=beats, happened=happened)

    @property
    def title(self) -> str:
        """The run in one line."""
        strays = len(self.happened.strays)
        more = f", and {strays} result{'' if strays == 1 else 's'} nobody asked for" if strays else ""
        return f"{self.trajectory}: {len(self.beats) - strays} recorded calls{more}"

    def data(self) -> dict[str, Any]:
        """The lines as plain JSON data."""
        return {"trajectory": self.trajectory, "beats": msgspec.to_builtins(self.beats)}

    def svg(self) -> str:
        """The picture as one self-contained SVG text."""
        from labkit.timeline.recorded_svg import draw

        return draw([self])

    def _repr_html_(self) -> str:
        from labkit.timeline.recorded_svg import page

        return page(self)

    def __rich__(self) -> RenderableType:
        shown = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), show_header=False)
        for _ in range(4):
            shown.add_column(overflow="fold")
        for beat in self.beats:
            call = Text(beat.call, style="bold" if beat.effect else "")
            words = Text(beat.words, style="bold red" if beat.known else STYLES.get(beat.mark, ""))
            turn = f"turn {beat.turn}" if beat.turn else ""
            shown.add_row(str(beat.number), turn, Text.assemble(SIGNS[beat.mark], " ", call), words)
        return Group(Text(self.title, style="bold"), shown)

    def __str__(self) -> str:
        return plain(self)

    __repr__ = __str__


def timelines(
    paths: Sequence[str | Path], effects: Iterable[str] = (), same_effect: Iterable[str] = ()
) -> list[RecordedTimeline]:
    """The timelines of the runs in `paths` in which something stands out; of all, where it does in none.

    Raises InvalidInput for a file that does not fit, or a rule that fits no call.
    """
    runs, chosen = read_all(paths), frozenset(effects)
    tools = chosen or {call.name for each in runs for call in each.calls}
    rules = same_effects(same_effect, runs, tools)
    drawn = [RecordedTimeline.of(run, chosen, rules) for run in runs]
    return [each for each in drawn if each.happened.anything] or drawn


def _insert(beats: list[Beat], stray: StrayResult) -> None:
    """Put a stray result behind the last line that stands before it in the recording."""
    named = " of ".join(filter(None, [stray.id, stray.tool])) or "without id or name"
    beat = Beat(
        number=0,
        turn=0,
        place=stray.place,
        call=f"result {named}",
        effect=stray.open,
        mark="stray",
        said=f"NOBODY ASKED: {stray.why}: {stray.said}",
    )
    before = [at for at, each in enumerate(beats, 1) if _order(each.place) <= _order(stray.place)]
    beats.insert(before[-1] if before else 0, beat)


def _order(place: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", place)]


def _link(beats: list[Beat], happened: Happened) -> None:
    """Tell each line that is one effect with others where these are."""
    for repeat in happened.repeated:
        places = {(each.turn, each.place, each.call) for each in repeat.calls}
        same = [beat for beat in beats if (beat.turn, beat.place, beat.call) in places]
        for beat in same:
            beat.twice = [each.number for each in same if each is not beat]
            beat.known = repeat.duplicate
