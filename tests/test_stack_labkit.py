"""Our own engines are stacks: the same conformance and the same kills as for everybody else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from stack_site import sites_of

from labkit.cases.desk import EFFECTS
from labkit.measure.stage import conformance
from labkit.measure.trial import WINDOWS, Cell, Site
from labkit.stacks.conformance import CHECKS

FAILS = {
    "labkit-snapshot": {"guards an effect", "brings back the environment", "inserted code is noticed"},
    "labkit-event-sourced": {"guards an effect", "brings back the environment"},
    "labkit-hybrid": {"guards an effect", "brings back the environment", "inserted code is noticed"},
}


@pytest.fixture(scope="module", params=list(FAILS))
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Site]]:
    """One of our engines by name, and where its processes run."""
    with sites_of(request.param, tmp_path_factory.mktemp(request.param)) as [place]:
        yield request.param, place


def test_an_engine_keeps_what_it_promises_and_nothing_else(site):
    name, place = site
    found = {check: finding.outcome for check, finding in conformance(place, name)}
    assert found == {check: "fail" if check in FAILS[name] else "pass" for check in CHECKS}


@pytest.mark.parametrize("policy", ["bare", "ledger"])
def test_only_a_lost_reply_repeats_an_effect_and_a_ledger_repeats_none(site, policy):
    name, place = site
    cells = [Cell(stack=name, policy=policy, window=at, effect=step) for step in EFFECTS for at in WINDOWS]
    results = {cell: place.trial(cell, f"{policy}-{number}") for number, cell in enumerate(cells)}
    assert {result.kind for result in results.values()} == {"judged"}
    repeated = {(cell.effect, cell.window) for cell, result in results.items() if result.duplicated}
    lost_reply = {(step, at) for step in EFFECTS for at in ("W3", "W4")}
    assert repeated == (lost_reply if policy == "bare" else set())
    assert not any(result.false_finish or result.wrong or result.paid for result in results.values())


def test_starting_a_run_again_is_refused_and_does_nothing(site):
    name, place = site
    cell = Cell(stack=name, policy="bare", window="W5", effect="execute_refund", situation="started again")
    result = place.trial(cell, "again")
    assert (result.status, result.duplicated) == ("failed", [])
    assert "is taken" in result.detail


def test_two_resumers_repeat_nothing_with_a_ledger(site):
    name, place = site
    cell = Cell(stack=name, policy="ledger", window="W1", effect="execute_refund", situation="second resumer")
    result = place.trial(cell, "two")  # either may refuse the other: the engine's owner and the ledger's are two
    assert (result.kind, result.duplicated, result.false_finish) == ("judged", [], False)
