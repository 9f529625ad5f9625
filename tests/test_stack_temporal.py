"""Temporal under the same conformance and the same kills as every other stack, on a real server."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
from stack_site import sites_of

from labkit.measure.stage import conformance
from labkit.measure.trial import WINDOWS, Cell, Result, Site
from labkit.stacks.conformance import CHECKS

SAME = {"guards an effect": "fail", "brings back the environment": "fail"}
UNTOLD = {"brings back the facts": "unsupported", "brings back the pointer": "unsupported"}
NOT_YET = {"goes on after a crash": "fail", "has a history": "fail", "starting again is harmless": "fail"}
OUTCOMES = {"temporal": SAME, "temporal-local": SAME | UNTOLD | NOT_YET | {"forks": "unsupported"}}
"""How the checks come out; those that are not named pass."""
Sites = tuple[str, list[Site]]
NUMBERS = count(1)


@pytest.fixture(scope="module", params=list(OUTCOMES))
def sites(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    """A variant by name, and two sites for it: most of a trial is waiting for a timeout."""
    with sites_of(request.param, tmp_path_factory.mktemp(request.param), 2) as places:
        yield request.param, places


def trials(sites: Sites, cells: list[Cell]) -> list[Result]:
    """One trial of each cell, two at a time."""

    def run(number: int) -> list[Result]:
        site, mine = sites[1][number], cells[number::2]
        return [site.trial(cell, f"trial-{next(NUMBERS)}") for cell in mine]

    with ThreadPoolExecutor(2) as pool:
        halves = list(pool.map(run, range(2)))
    return [halves[place % 2][place // 2] for place in range(len(cells))]


def cells_of(name: str, policy: str, *at: str, effect: str = "execute_refund", situation: str = "crash") -> list[Cell]:
    """The effect killed in each of these windows."""
    return [Cell(stack=name, policy=policy, window=window, effect=effect, situation=situation) for window in at]


def test_what_a_variant_keeps_and_what_it_does_not(sites):
    name, (site, _) = sites
    found = {check: finding.outcome for check, finding in conformance(site, name)}
    assert found == dict.fromkeys(CHECKS, "pass") | OUTCOMES[name]


def test_a_lost_reply_repeats_the_effect_and_a_ledger_does_not(sites):
    name = sites[0]
    results = trials(sites, cells_of(name, "bare", *WINDOWS) + cells_of(name, "ledger", *WINDOWS))
    assert {(result.kind, result.status) for result in results} == {("judged", "completed")}
    assert not any(result.false_finish or result.wrong or result.paid for result in results)
    again = name == "temporal-local"  # killed in W5, it has not told the server of the refund
    assert [bool(result.duplicated) for result in results] == [False, False, True, True, again] + [False] * 5


def test_a_second_resumer_shares_the_work(sites):
    [result] = trials(sites, cells_of(sites[0], "bare", "W2", situation="second resumer"))
    assert (result.kind, result.status) == ("judged", "completed")
    assert not result.duplicated or sites[0] == "temporal-local"  # there a slow process is overtaken: both may act


def test_an_effect_that_only_a_person_can_settle_ends_the_run(sites):
    [result] = trials(sites, cells_of(sites[0], "ledger", "W3", effect="send_mail"))
    assert (result.status, len(result.open), result.duplicated) == ("failed", 1, [])
    assert "NeedsPerson" in result.detail
