"""Two workers on one run: the fencing token stops a paused owner's writes, and cannot stop its call on the way."""

from __future__ import annotations

import itertools
import re
import threading
from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace

from labkit.scenario import Scenario
from labkit.sim.interleave import InterleaveReport, interleave, play
from labkit.sim.lives import NOT_STORED, Simulation, first_life
from labkit.taps import Tap, listening
from tests.workflows import chain

ORDER = chain([["think"], ["ask"], ["bank.pay"], ["post.send"]])
RESULT = "the recovered result equals that of a fault-free run"  # the receipt in it may be that of the second call
UNSENT = re.compile("/(attempt:after|call:before)#")  # marked as tried, and not yet at the provider


@cache
def found(engine: str, provider: str) -> InterleaveReport:
    return interleave(ORDER, engine=engine, policy="ledger", provider=provider)


@pytest.mark.parametrize("provider", ["dedup", "neither"])
def test_no_two_workers_break_anything_and_stale_owners_are_refused(engine, provider):
    report = found(engine, provider)
    assert report.ok, report.broken[0]
    assert report.refused > 0
    assert (report.ambiguous > 0) == (provider == "neither")


def test_a_paused_owner_that_calls_after_it_lost_the_run_is_the_only_hazard_where_one_can_only_look_up(engine):
    report = found(engine, "lookup")
    assert report.broken
    for played in report.broken:
        late = [place.split("/")[0] for place in (played.paused_at, played.woken_at) if UNSENT.search(place)]
        twice = [broken.text for broken in played.violations if broken.invariant == "no duplicate effect"]
        assert twice
        assert all(any(f".{step} was executed 2 times" in text for step in late) for text in twice), played
        assert {broken.invariant for broken in played.violations} <= {"no duplicate effect", RESULT}, played
    paused = {played.paused_at for played in report.broken if played.second is None}
    assert paused == {f"{step}/{moment}#1" for step in ("s2", "s3") for moment in ("attempt:after", "call:before")}


def switch_points(taps: list[Tap]) -> list[int]:
    """Where a worker can be paused: everywhere but inside a transaction."""
    return [at for at, tap in enumerate(taps) if tap.phase != "before" or tap.operation in NOT_STORED]


def test_every_interleaving_is_played_once(engine):
    simulation = Simulation(Scenario(workflow=ORDER, inputs={}, engine=engine, provider="dedup"))
    first = first_life(simulation)
    expected = 0
    for pause in switch_points(first.taps):  # the second worker finds what a dead process would have left
        second = simulation.live(first.images[first.image_of[pause]], keep_images=False)
        expected += 1 + len(switch_points(second.taps))
    assert found(engine, "dedup").interleavings == expected


def test_a_worker_is_preempted_at_most_twice_and_everything_else_runs_to_its_end():
    scenario = Scenario(workflow=ORDER, inputs={}, provider="lookup")
    reference = first_life(Simulation(scenario)).evidence
    broken = found("hybrid", "lookup").broken[0]
    who: list[int] = []
    with listening(lambda label, phase: who.append(threading.get_ident())):
        again, _ = play(scenario, broken.first, broken.second, reference)
    assert again == broken
    turns = [worker for worker, _ in itertools.groupby(who)]
    assert len(turns) == 4  # the first is preempted, the second is preempted, both end
    assert turns[0] == turns[2] != turns[1] == turns[3]


def test_a_worker_that_dies_of_an_error_is_reported_and_nobody_waits_for_it():
    workflow = chain([["think"], ["bank.pay"]])

    def refuses_a_second_owner(ctx: Any, state: Any) -> Any:
        if ctx.run.fence > 1:
            raise ZeroDivisionError("second owner")
        return "s1"

    workflow.steps["s0"] = refuses_a_second_owner
    report = interleave(workflow)
    assert not report.ok
    assert "ZeroDivisionError: second owner" in report.broken[0].violations[0].text


def test_no_interleaving_played_is_not_success():
    assert not replace(found("hybrid", "dedup"), interleavings=0).ok
