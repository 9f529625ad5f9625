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

ON_POSTGRES = [name for name in PROBES if name.startswith("Postgres")]
HOLDS = {
    "sync: a kill where the next node begins repeats nothing",
    "sync: a finished parallel node is not executed again",
    "async: a finished parallel node is not executed again",
    "ainvoke, sync: a kill where the next node begins repeats nothing",
    "a killed run comes back the same with ainvoke",
    "ainvoke goes on with what invoke began, and invoke with what ainvoke began",
    "update_state with as_node marks a node as done",
    "sync: what cannot be stored is refused before the next node",
    "a type of one's own comes back",
    "with DeltaChannel a step costs the same in a run twice as long",
    "SQLite: a thread can be deleted",
    "Postgres, sync: a kill where the next node begins repeats nothing",
    "Postgres, ainvoke, sync: a kill where the next node begins repeats nothing",
    "Postgres: a killed run comes back the same with ainvoke",
    "Postgres: old checkpoints can be pruned",
    "CVE-2026-27794: a pickle in the cache is not loaded",
    "CVE-2025-67644: the key of a metadata filter does not become SQL",
    "CVE-2026-28277: a call in a stored value is not made, with strict msgpack",
}
UNSUPPORTED = {"SQLite: old checkpoints can be pruned"}
RARE = {
    "ainvoke, async: a kill in a coroutine that awaited for 0.2 s repeats no node before it",
    "ainvoke, async: a kill in a function that blocked for 0.2 s repeats no node before it",
    "ainvoke, functional: a kill 5 ms after a task's result is there repeats nothing",
    "functional: a kill 5 ms after a task's result is there repeats nothing",
    "Postgres, sync: a kill where the write of the checkpoint begins repeats nothing",
}
"""Races that a thread seldom loses, and more often on a busy machine: only that they were run is certain."""
TRIES = 15
"""Enough to see a race that is lost in a third of all cases; the survey repeats it more often."""


@pytest.fixture(scope="module", autouse=True)
def launcher() -> Iterator[None]:
    """One process that imports LangGraph and is forked for all probes."""
    with launching():
        yield


@pytest.mark.parametrize("name", [name for name in PROBES if name not in RACES and name not in ON_POSTGRES])
def test_a_probe_comes_out_as_written(name, tmp_path):
    found = PROBES[name](tmp_path / "probe", {})
    assert found.outcome == ("unsupported" if name in UNSUPPORTED else "pass" if name in HOLDS else "fail"), found.seen


@pytest.mark.parametrize("name", [name for name in RACES if name not in ON_POSTGRES])
def test_a_race_comes_out_as_written(name, tmp_path):
    check_race(name, tmp_path / "probe", {})


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The address of a Postgres server."""
    with services_for(["postgres"], tmp_path_factory.mktemp("servers")) as services:
        if services.missing:
            pytest.skip(reason=f"the Postgres saver was not tried: {services.missing}")
        yield services.addresses


@pytest.mark.parametrize("name", ON_POSTGRES)
def test_a_probe_of_the_postgres_saver_comes_out_as_written(name, postgres, tmp_path):
    if name in RACES:
        check_race(name, tmp_path / "probe", postgres)
    else:
        found = PROBES[name](tmp_path / "probe", postgres)
        assert found.outcome == ("pass" if name in HOLDS else "fail"), found.seen


@pytest.mark.parametrize("name", ON_POSTGRES)
def test_without_a_server_a_probe_is_not_run(name, tmp_path):
    assert PROBES[name](tmp_path / "probe", {}).outcome == "not run"


def test_a_cache_that_loads_pickles_is_noticed(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(BaseCache, "serde", JsonPlusSerializer(pickle_fallback=True))  # the default before 4.0.0
    assert pickled(tmp_path / "probe", {}).outcome == "fail"


def test_a_filter_key_that_becomes_sql_is_noticed(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(utils, "_validate_filter_key", lambda key: None)  # as it was before 3.0.1
    assert injected(tmp_path / "probe", {}).outcome == "fail"


def test_what_is_written_here_names_probes():
    assert set(PROBES) >= HOLDS | UNSUPPORTED


def check_race(name: str, folder: Path, services: dict[str, str]) -> None:
    """Run a race a few times and hold it against what is written here."""
    found = RACES[name](folder, services, TRIES)
    assert found.seen.endswith(f"of {TRIES}")
    if name not in RARE:
        assert found.outcome == ("pass" if name in HOLDS else "fail"), found.seen
