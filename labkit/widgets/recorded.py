"""A run that a lab recorded, as something that can be rehearsed: its scenario, and the crashes that it really had."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from msgspec.structs import replace

from labkit.errors import InvalidInput
from labkit.lab.facade import Lab
from labkit.lab.view import RunView
from labkit.scenario import Scenario
from labkit.taps import Tap, TapCounter
from labkit.timeline import Timeline
from labkit.timeline.operations import describe

MOST_CRASHES = 2  # of one run that a timeline shows
LONGEST = 200  # letters of `name:value` that a run keeps of each input


class Recorded(NamedTuple):
    """One run: how it was run, and the taps at which its processes died, as one rehearsed process counts them."""

    scenario: Scenario
    schedule: list[str]
    timeline: Timeline

    @classmethod
    def of(cls, lab: Lab, run: str | RunView, inputs: dict[str, Any]) -> Recorded:
        """What `lab` knows of a run. `inputs` are those that it was begun with, or empty: then as it recorded them.

        Raises UnknownRun, and InvalidInput for other inputs, for inputs that were recorded in part only, and for a
        run of another version of the workflow.
        """
        view = lab.run(run)
        scenario = lab.scenario(view)
        view.require(scenario.workflow, inputs)
        if view.run.workflow_version != scenario.workflow.version:
            versions = f"{view.run.workflow_version}, the code here is {scenario.workflow.version}"
            raise _refused(view.id, f"was begun with version {versions}", "lab.timeline(run) shows what happened")
        if long := [ref.partition(":")[0] for ref in view.run.input_refs if len(ref) >= LONGEST and not inputs]:
            raise _refused(view.id, f"keeps only the beginning of input {', '.join(long)}", "give the inputs as well")
        timeline = lab.timeline(view)
        return cls(replace(scenario, inputs=inputs or view.inputs), _schedule(timeline), timeline)

    def require(self, rehearsed: Timeline) -> None:
        """Raise InvalidInput unless a rehearsal of these crashes went as the run did, as far as the run came."""
        lives = zip(_lives(self.timeline), _lives(rehearsed), strict=True)
        found = [(f"process {n}", was, would) for n, (was, would) in enumerate(lives, 1)]
        found.append(("the provider", _outside(self.timeline), _outside(rehearsed)))
        for who, was, would in found:
            for one, other in zip_longest(was, would[: len(was)], fillvalue="nothing more"):
                if one != other:
                    raise _refused(
                        self.timeline.run_id,
                        f"went another way than its crashes alone lead to: {who}: {one}, where a rehearsal has {other}",
                        "lab.timeline(run) shows what happened; a person's answers and other faults are not rehearsed",
                    )


def require_few(schedule: Sequence[str]) -> None:
    """Raise InvalidInput for more crashes than a timeline shows."""
    if len(schedule) > MOST_CRASHES:
        raise InvalidInput(
            f"the schedule holds {len(schedule)} crashes, a timeline shows at most {MOST_CRASHES}",
            safe="nothing was run",
            next="labkit replay FILE tells a saved one; lab.timeline(run) one that happened",
        )


def _lives(timeline: Timeline) -> list[list[str]]:
    """The taps from one death to the next, counted anew: a rehearsed process does at once what several did in turn."""
    lives: list[list[Tap]] = [[]]
    for lane in timeline.lanes:
        lives[-1] += [Tap.parse(tap) for operation in lane.operations for tap in operation.taps]
        if lane.killed_at:
            lives.append([])
    return [_counted(life) for life in lives]


def _counted(life: list[Tap]) -> list[str]:
    count = TapCounter()
    return [str(count(tap.label, tap.phase)) for tap in life]


def _schedule(timeline: Timeline) -> list[str]:
    """The tap of each death, as its life counts it."""
    died = [Tap.parse(lane.killed_at) for lane in timeline.lanes if lane.killed_at]
    passed = [Counter(tap.rpartition("#")[0] for tap in life) for life in _lives(timeline)]
    places = [f"{tap.label}:{tap.phase}" for tap in died]
    return [f"{place}#{counted[place]}" for place, counted in zip(places, passed, strict=False)]


def _outside(timeline: Timeline) -> list[str]:
    return [f"{entry.kind} of {entry.subject}, {describe(entry)}" for entry in timeline.outside]


def _refused(run_id: str, what: str, hint: str) -> InvalidInput:
    return InvalidInput(f"run {run_id} {what}", safe="the run is untouched, nothing was run", next=hint)
