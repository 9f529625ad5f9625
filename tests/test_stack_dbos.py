"""DBOS as a stack: what it keeps through a kill, what it leaves to its user, and that a ledger closes the gap."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from stack_site import sites_of

from labkit.measure.stage import RealStage, conformance
from labkit.measure.trial import WINDOWS, Cell, Result, Site
from labkit.stacks.conformance import CHECKS

FAILS = {"guards an effect", "brings back the environment"}
LOST_REPLY = ["W3", "W4"]
ON_SQLITE = pytest.mark.parametrize("site", ["dbos"], indirect=True)
ON_POSTGRES = pytest.mark.parametrize("site", ["dbos-postgres"], indirect=True)


@pytest.fixture(scope="module")
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Site]]:
    """A stack by name, and where its processes run."""
    with sites_of(request.param, tmp_path_factory.mktemp(request.param)) as [place]:
        yield request.param, place


def measure(site: tuple[str, Site], **about: str) -> Result:
    """One trial of the stack; with a kill after execute_refund under bare, if it is not said otherwise."""
    name, place = site
    cell = Cell(stack=name, **{"effect": "execute_refund", "window": "W5", "policy": "bare", **about})
    return place.trial(cell, "-".join(["trial", *about.values()]).replace(" ", "-").lower())


@ON_SQLITE
def test_dbos_keeps_what_it_promises_and_nothing_else(site):
    name, place = site
    found = {check: finding.outcome for check, finding in conformance(place, name)}
    assert found == {check: "fail" if check in FAILS else "pass" for check in CHECKS}


@ON_POSTGRES
@pytest.mark.parametrize("check", ["approval across processes", "brings back the pointer", "forks"])
def test_on_postgres_it_keeps_the_same(site, check):
    name, place = site
    with place.world(check.replace(" ", "-")) as world:
        finding = CHECKS[check](RealStage(place, name, world))
    assert finding.outcome == "pass", finding.seen


@ON_SQLITE
@pytest.mark.parametrize("window", WINDOWS)
def test_a_step_whose_reply_is_lost_is_done_twice(site, window):
    result = measure(site, window=window)
    assert (result.kind, result.status, result.lost, result.paid) == ("judged", "completed", [], 0)
    assert result.duplicated == (["execute_refund"] if window in LOST_REPLY else [])


@ON_SQLITE
@pytest.mark.parametrize("window", WINDOWS)
def test_with_a_ledger_none_is_done_twice(site, window):
    result = measure(site, window=window, policy="ledger")
    assert (result.kind, result.status, result.duplicated, result.lost) == ("judged", "completed", [], [])


@ON_POSTGRES
@pytest.mark.parametrize("policy", ["bare", "ledger"])
def test_on_postgres_a_lost_reply_is_no_different(site, policy):
    result = measure(site, window="W3", policy=policy)
    assert (result.kind, result.status, result.lost) == ("judged", "completed", [])
    assert result.duplicated == (["execute_refund"] if policy == "bare" else [])


@ON_SQLITE
def test_an_effect_that_needs_a_person_ends_the_run_and_is_left_open(site):
    result = measure(site, window="W3", policy="ledger", effect="send_mail")
    assert (result.kind, result.status, result.duplicated) == ("judged", "failed", [])
    assert "NeedsPerson" in result.detail
    assert len(result.open) == 1


@ON_SQLITE
@pytest.mark.parametrize("situation", ["started again", "renamed", "clock forward", "clock back"])
def test_the_run_is_completed_although(site, situation):
    result = measure(site, situation=situation)
    assert (result.kind, result.status, result.duplicated, result.lost) == ("judged", "completed", [], [])


@ON_SQLITE
def test_an_inserted_step_ends_the_run_with_an_error(site):
    result = measure(site, situation="inserted")
    assert (result.status, result.duplicated, result.paid) == ("failed", [], 0)
    assert "DBOSUnexpectedStepError" in result.detail


@ON_SQLITE
def test_of_two_processes_that_recover_at_once_one_gets_the_run(site):
    result = measure(site, situation="second resumer", window="W1")
    assert (result.kind, result.status, result.lost) == ("judged", "completed", [])
