"""What is special to LangGraph came out as it is written here, on the versions of the lock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from langgraph.cache.base import BaseCache
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import utils

from labkit.measure.servers import services_for
from labkit.stacks.probes.langgraph import PROBES
from labkit.stacks.probes.langgraph_holes import injected, pickled
from labkit.stacks.probes.langgraph_kills import RACES
from labkit.stacks.probes.langgraph_lives import launching

NEEDS_POSTGRES = "Postgres: old checkpoints can be pruned"
HOLDS = {
    "sync: a kill where the next node begins repeats nothing",
    "sync: a finished parallel node is not executed again",
    "async: a finished parallel node is not executed again",
    "update_state with as_node marks a node as done",
    "sync: what cannot be stored is refused before the next node",
    "a type of one's own comes back",
    "with DeltaChannel a step costs the same in a run twice as long",
    "SQLite: a thread can be deleted",
    NEEDS_POSTGRES,
    "CVE-2026-27794: a pickle in the cache is not loaded",
    "CVE-2025-67644: the key of a metadata filter does not become SQL",
    "CVE-2026-28277: a call in a stored value is not made, with strict msgpack",
}
UNSUPPORTED = {"SQLite: old checkpoints can be pruned"}
WITHIN_5_MS = "functional: a kill 5 ms after a task's result is there repeats nothing"
"""On a machine with nothing else to do it does; on a busy one a thread may need longer."""
TRIES = 15
"""Enough to see a race that is lost in a third of all cases; the survey repeats it more often."""


@pytest.fixture(scope="module", autouse=True)
def launcher() -> Iterator[None]:
    """One process that imports LangGraph and is forked for all probes."""
    with launching():
        yield


@pytest.mark.parametrize("name", [name for name in PROBES if name not in RACES and name != NEEDS_POSTGRES])
def test_a_probe_comes_out_as_written(name, tmp_path):
    found = PROBES[name](tmp_path / "probe", {})
    assert found.outcome == ("unsupported" if name in UNSUPPORTED else "pass" if name in HOLDS else "fail"), found.seen


@pytest.mark.parametrize("name", RACES)
def test_a_race_comes_out_as_written(name, tmp_path):
    found = RACES[name](tmp_path / "probe", {}, TRIES)
    assert found.seen.endswith(f"of {TRIES}")
    if name != WITHIN_5_MS:
        assert found.outcome == ("pass" if name in HOLDS else "fail"), found.seen


def test_the_postgres_saver_can_be_pruned(tmp_path):
    assert PROBES[NEEDS_POSTGRES](tmp_path, {}).outcome == "not run"
    with services_for(["postgres"], tmp_path / "servers") as services:
        if services.missing:
            pytest.skip(reason=f"the Postgres saver was not pruned: {services.missing}")
        assert PROBES[NEEDS_POSTGRES](tmp_path, services.addresses).outcome == "pass"


def test_a_cache_that_loads_pickles_is_noticed(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(BaseCache, "serde", JsonPlusSerializer(pickle_fallback=True))  # the default before 4.0.0
    assert pickled(tmp_path / "probe", {}).outcome == "fail"


def test_a_filter_key_that_becomes_sql_is_noticed(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(utils, "_validate_filter_key", lambda key: None)  # as it was before 3.0.1
    assert injected(tmp_path / "probe", {}).outcome == "fail"


def test_what_is_written_here_names_probes():
    assert set(PROBES) >= HOLDS | UNSUPPORTED
