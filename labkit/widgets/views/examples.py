"""An example for each cell of the matrix: its counterexample, else a crash in its window that shows what it counts."""

from __future__ import annotations

from typing import Any, NamedTuple

from labkit.check.cells import Cell
from labkit.check.windows import windows
from labkit.matrix import MatrixReport
from labkit.model import Workflow
from labkit.scenario import Scenario
from labkit.sim.counterexample import Counterexample
from labkit.widgets.rehearsal import Death, Rehearsal, Told

MOST_CRASHES = 2  # that a timeline shows
CellKey = tuple[str, str, str, str]


class Example(NamedTuple):
    """A schedule whose first crash is in the cell's window; `found` says that it is the report's counterexample."""

    schedule: Counterexample
    told: Told
    found: bool


class Examples:
    """Finds an example for each cell of a report on this workflow and these inputs."""

    def __init__(self, report: MatrixReport, workflow: Workflow[Any], inputs: dict[str, Any]) -> None:
        self._workflow, self._inputs = workflow, inputs
        self.cells: dict[CellKey, Cell] = {(c.engine, c.policy, c.provider, c.window): c for c in report.cells}
        self._found = {(c.engine, c.policy, c.provider): c for c in report.counterexamples}
        self._rehearsals: dict[tuple[str, str, str], Rehearsal] = {}

    def of(self, key: CellKey) -> Example:
        """The example of a cell."""
        engine, policy, provider, window = key
        rehearsal = self._rehearsal(engine, policy, provider)
        taps = rehearsal.first.life.taps
        places = [at for at, found in enumerate(windows(taps)) if found == window]
        known = self._found.get((engine, policy, provider))
        names = [str(tap) for tap in taps]
        if known and 0 < len(known.schedule) <= MOST_CRASHES and known.schedule[0] in {names[at] for at in places}:
            return Example(known, self._lived(rehearsal, known.schedule), True)
        tried = {rehearsal.image((rehearsal.first, at)): at for at in reversed(places)}  # the first tap of each image
        told = {at: rehearsal.after([(rehearsal.first, at)]) for at in sorted(tried.values())}
        like = (at for at, each in told.items() if each.verdict == self.cells[key].verdict)
        at = next(like, places[0])
        return Example(self._schedule(rehearsal, [names[at]], told[at]), told[at], False)

    def _rehearsal(self, engine: str, policy: str, provider: str) -> Rehearsal:
        names = engine, policy, provider
        if names not in self._rehearsals:
            scenario = Scenario(
                workflow=self._workflow, inputs=self._inputs, engine=engine, policy=policy, provider=provider
            )
            self._rehearsals[names] = Rehearsal(scenario)
        return self._rehearsals[names]

    def _lived(self, rehearsal: Rehearsal, schedule: list[str]) -> Told:
        deaths: list[Death] = []
        process = rehearsal.first
        for tap in schedule:
            deaths.append((process, [str(each) for each in process.life.taps].index(tap)))
            process = rehearsal.live(deaths[-1], keep_images=True)
        return rehearsal.after(deaths)

    def _schedule(self, rehearsal: Rehearsal, schedule: list[str], told: Told) -> Counterexample:
        return Counterexample.of(rehearsal.scenario, schedule, told.violations)
