"""Parity on other workflows than the refund: each shape dies in each window of each effect, simulated and for real."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from labkit.bench.campaign import LANES, SCRATCH
from labkit.bench.job import spec_of
from labkit.bench.judging import judge_trial, reference_of
from labkit.bench.launch import DEFAULT_MODE
from labkit.bench.trial import Site, Trial, open_sites
from labkit.cases.refund import refund
from labkit.check.evidence import Evidence
from labkit.check.invariants import Violation
from labkit.check.windows import acknowledged, places
from labkit.engines import ENGINES
from labkit.model import TERMINAL, Workflow
from labkit.provider.faults import Fault
from labkit.scenario import Scenario
from labkit.scratch import scratch_folder
from labkit.sim.explore import Judge
from labkit.taps import Tap
from tests.shapes import effects, flow

MODULES = (effects, flow)
SHAPES = {
    f"{module.__name__.rpartition('.')[2]}:{name}": found
    for module in MODULES
    for name, found in vars(module).items()
    if isinstance(found, Workflow)
}
REFUSED = tuple(Fault("bank", "pay", nth, "refuse") for nth in range(1, 9))
FAULTS = {"effects:caught_refusal": REFUSED, "effects:refusal": REFUSED}
POLICIES = ("bare", "ledger")
LAST_OF = ("W1", "W2")  # of these windows the last tap is taken, of the others the first


class Facts(NamedTuple):
    """What a crash led to: the same for a simulated and a real one."""

    status: str
    executed: Counter[str]
    activities_again: int
    broken: list[str]
    data: Any


def test_there_are_shapes_enough():
    assert len(SHAPES) >= 25


def representatives(taps: list[Tap]) -> list[int]:
    """The index of one tap for each window of each effect, and of one tap between effects."""
    chosen: dict[Any, int] = {}
    for index, place in enumerate(places(taps)):
        if place.window in LAST_OF or place[:2] not in chosen:
            chosen[place[:2]] = index
    return sorted(chosen.values())


def facts(evidence: Evidence | None, violations: list[Violation], error: str) -> Facts:
    """The facts of one schedule; a recovery that failed leaves no more than that it did."""
    if evidence is None or error:
        return Facts("error", Counter(), 0, ["every recovery ends"], None)
    broken = list(dict.fromkeys(violation.invariant for violation in violations))
    data = evidence.run.outcome() if evidence.run and evidence.status in TERMINAL else None
    return Facts(evidence.status, evidence.executed(), evidence.activities_repeated(), broken, data)


def simulated(judge: Judge, index: int) -> Facts:
    """What follows a simulated crash at a tap of the run without a crash."""
    reference = judge.reference
    image = reference.images[reference.image_of[index]]
    kept = Counter(acknowledged(reference.taps[: index + 1]))
    life = judge.simulation.live(image, keep_images=False)
    violations, _ = judge.judge(life, image, kept, image.untracked)
    return facts(life.evidence, violations, life.error)


def trials(sites: list[Site], name: str, scenario: Scenario, taps: list[Tap]) -> list[Trial]:
    """A trial without a crash, and one for each tap, in as many lanes as there are sites."""
    name = f"{name}-{scenario.engine}-{scenario.policy}".replace("_", "-").replace(":", "-")
    todo = list(enumerate([(), *((tap,) for tap in taps)]))
    done: dict[int, Trial] = {}

    def lane(number: int, site: Site) -> None:
        for index, schedule in todo[number :: len(sites)]:
            done[index] = site.trial(scenario, f"{name}-{index}", schedule)

    with ThreadPoolExecutor(len(sites)) as pool:
        list(pool.map(lane, range(len(sites)), sites))
    return [done[index] for index, _ in todo]


@pytest.fixture(scope="module")
def sites():
    with (
        scratch_folder("shapes", inside=SCRATCH) as folder,
        open_sites(DEFAULT_MODE, spec_of(refund), Path(folder) / "site", LANES) as found,
    ):
        yield found


@pytest.mark.parametrize("name", SHAPES)
def test_a_real_kill_in_each_window_of_each_effect_leads_to_what_the_simulator_says(name, sites):
    for engine, policy in product(ENGINES, POLICIES):
        scenario = Scenario(workflow=SHAPES[name], inputs={}, engine=engine, policy=policy, faults=FAULTS.get(name, ()))
        judge = Judge(scenario)
        taps = judge.reference.taps
        chosen = representatives(taps)
        first, *rest = trials(sites, name, scenario, [taps[index] for index in chosen])
        assert first.lives[0].passed == taps, (engine, policy)
        reference = reference_of(scenario, first, scenario.twin().capabilities)
        assert first.evidence.executed() == judge.reference.evidence.executed(), (engine, policy)
        for index, trial in zip(chosen, rest, strict=True):
            at = (engine, policy, str(taps[index]), places(taps)[index].window)
            assert trial.lives[0].reached, at
            last = trial.lives[-1]
            violations = judge_trial(scenario, trial, trial.evidence, reference)[0] if trial.evidence else []
            assert facts(trial.evidence, violations, last.output if last.failed else "") == simulated(judge, index), at


def test_a_crash_one_tap_later_would_be_noticed():
    judge = Judge(Scenario(workflow=SHAPES["effects:think_pay"], inputs={}, engine="snapshot", policy="bare"))
    calls = [index for index, tap in enumerate(judge.reference.taps) if tap.operation == "call"]
    before, executed, _ = (simulated(judge, index) for index in calls)
    assert (before.broken, sum(before.executed.values())) == ([], 1)
    assert ("no duplicate effect" in executed.broken, sum(executed.executed.values())) == (True, 2)
