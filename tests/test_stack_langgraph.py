"""LangGraph under the same conformance and the same kills as every other stack."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from stack_site import sites_of

from labkit.measure.stage import conformance
from labkit.measure.trial import WINDOWS, Cell, Site
from labkit.stacks.conformance import CHECKS
from labkit.stacks.langgraph import STACKS

ALWAYS = {"guards an effect", "brings back the environment", "starting again is harmless"}
LOST = {"renamed code is noticed", "inserted code is noticed"}
NO_FACTS = {"brings back the facts", "brings back the pointer", "has a history"}
FAILS = {
    "langgraph": ALWAYS | LOST,
    "langgraph-async": ALWAYS,
    "langgraph-exit": ALWAYS | NO_FACTS | {"goes on after a crash"},
    "langgraph-functional": ALWAYS | NO_FACTS,
    "langgraph-shared": ALWAYS | NO_FACTS,
}
"""The checks that each variant fails, whenever it is asked; with either saver."""
CRASHED = {"goes on after a crash", "brings back the facts", "brings back the pointer", *LOST}
RACY = {
    "langgraph-async": CRASHED,
    "langgraph-functional": {"goes on after a crash"},
    "langgraph-shared": {"goes on after a crash", "inserted code is noticed"},
}
"""The checks whose outcome hangs on whether a thread of the saver was faster than the kill."""
WRITTEN_AT_ONCE = "langgraph"


@pytest.fixture(scope="module", params=[stack.name for stack in STACKS])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Site]]:
    """One variant by name, and where its processes run."""
    with sites_of(request.param, tmp_path_factory.mktemp(request.param)) as [place]:
        yield request.param, place


def test_what_a_variant_keeps_and_what_it_does_not(site):
    name, place = site
    fails, races = FAILS[on_sqlite(name)], RACY.get(on_sqlite(name), ())
    found = {check: finding.outcome for check, finding in conformance(place, name)}
    expected = {check: "fail" if check in fails else "pass" for check in CHECKS}
    if "has a history" in fails:
        expected["forks"] = "unsupported"  # there is no checkpoint between two steps
    racy = {check: found[check] for check in races}
    assert found == expected | racy
    assert set(racy.values()) <= {"pass", "fail"}


def test_a_lost_reply_repeats_the_effect_and_in_sync_mode_nothing_else_does(site):
    name, place = site
    repeated = repeats(name, place, "bare")
    assert repeated >= {"W3", "W4"}
    assert repeated <= {"W3", "W4", "W5"}
    assert "W5" not in repeated or on_sqlite(name) != WRITTEN_AT_ONCE


def test_a_ledger_repeats_nothing(site):
    assert repeats(*site, "ledger") == set()


def test_started_again_with_its_input_it_does_everything_again(site):
    name, place = site
    cell = Cell(stack=name, policy="bare", window="W5", effect="execute_refund", situation="started again")
    result = place.trial(cell, "again")
    assert (result.status, result.duplicated, result.paid) == ("completed", ["execute_refund"], 4)


def on_sqlite(name: str) -> str:
    """The variant that differs in its saver only."""
    return name.replace("-postgres", "")


def repeats(name: str, place: Site, policy: str) -> set[str]:
    """Kill once in every window of the refund; return those after which an effect was repeated."""
    cells = [Cell(stack=name, policy=policy, window=at, effect="execute_refund") for at in WINDOWS]
    results = {cell.window: place.trial(cell, f"{policy}-{cell.window.lower()}") for cell in cells}
    assert {(result.kind, result.status) for result in results.values()} == {("judged", "completed")}
    assert not any(result.false_finish or result.wrong or result.paid for result in results.values())
    return {window for window, result in results.items() if result.duplicated}
