"""What steps read past `ctx`: time, chance, ids and the environment, each another one in another process.

While a simulated process lives, the author's code is given stand-ins for these: they answer differently in each
process, and the same whenever that process is lived again, so that what follows from them is judged. What a step reads
is named with its line. A library that reads the time for itself is let alone unless a step's code called it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from labkit.codec import return_decoder
from labkit.memory.reach import LAB, Reach, is_authors
from labkit.model import Workflow
from labkit.runner import Runner
from labkit.sim.imported import fixed_reads
from labkit.sim.sets import orders_of_sets
from labkit.sim.standins import Moment, StandIn, stand_ins

_step = Runner._step.__code__


def fixed_places(workflow: Workflow[Any]) -> list[str]:
    """Where a step's source reads what is the same in each simulated process, and another in each real one."""
    real = {f"{each.module}.{each.name}": _real(each) for each in stand_ins(Moment())}
    return [*orders_of_sets(workflow.steps), *fixed_reads(workflow.steps, real)]


class Leaks:
    """Stands in for what the code of `workflow` reads past `ctx`.

    `found` maps what was read, with its place, to whether it is another one in each simulated process.
    """

    def __init__(self, workflow: Workflow[Any]) -> None:
        reach = Reach([*workflow.steps.values(), workflow.begin, workflow.tenant_of])
        self._moment = Moment()
        self.found: dict[str, bool] = dict.fromkeys(fixed_places(workflow), False)
        self._places: list[tuple[dict[str, Any], str, Any, Any]] = []
        if reach.functions:
            for function in reach.functions:
                with suppress(Exception):
                    return_decoder(function)  # its types are read before anything stands in for them
            self._stand_in(list(reach.spaces.values()))

    def told(self, *, varied: bool = True) -> list[str]:
        """What was read past `ctx`, each place once; with `varied` False only what is the same in each process."""
        return sorted(place for place, differs in self.found.items() if varied or not differs)

    @contextmanager
    def process(self, number: int, time: str) -> Iterator[None]:
        """Let process `number`, which begins at the ISO 8601 `time`, live while the block runs."""
        self._moment.begin(number, time)
        for space, name, _, stand_in in self._places:
            space[name] = stand_in
        try:
            yield
        finally:
            for space, name, real, stand_in in self._places:
                if space.get(name) is stand_in:  # else a step has put something else there
                    space[name] = real

    def _stand_in(self, spaces: list[dict[str, Any]]) -> None:
        """Find the modules that have these things, and the names under which the author has imported them."""
        for each in stand_ins(self._moment):
            module, name, varied, make = each
            real = _real(each)
            if real is None:  # not on this platform
                continue
            stand_in = make(real, self._noticing(f"{module}.{name}", varied))
            self._places.append((vars(sys.modules[module]), name, real, stand_in))
            for space in spaces:
                self._places += [(space, own, real, stand_in) for own, value in space.items() if value is real]

    def _noticing(self, what: str, varied: bool) -> Callable[[str], bool]:
        """A function that the stand-in for `what` asks: is it the author's code that reads this? It notes a step."""

        def by_the_author(detail: str = "") -> bool:
            frame = sys._getframe(2)
            if not _is_authors(frame):
                return False
            place = _place_in_step(frame)
            if place:
                self.found[f"{place} reads {what}{detail} past ctx"] = varied
            return True

        return by_the_author


def _real(each: StandIn) -> Any:
    return getattr(sys.modules[each.module], each.name, None)


def _is_authors(frame: FrameType) -> bool:
    name, file = str(frame.f_globals.get("__name__")), frame.f_globals.get("__file__")
    root = name.partition(".")[0]
    return is_authors(name, file) or (root != LAB and root not in sys.stdlib_module_names)


def _place_in_step(frame: FrameType | None) -> str:
    """The line of the author's that reads, and its step; empty outside of steps and inside of activities."""
    line = ""
    while frame:
        code = frame.f_code
        if code is _step:
            return f"{line}: step {frame.f_locals['name']}" if line else ""
        if code.co_name == "perform" and frame.f_globals.get("__name__") == "labkit.context":
            return ""  # an activity may read what it likes: its answer is recorded
        if not line and is_authors(str(frame.f_globals.get("__name__")), frame.f_globals.get("__file__")):
            line = f"{Path(code.co_filename).name}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
