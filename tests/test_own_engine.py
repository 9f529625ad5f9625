"""One's own engine: found as a class, a name or `module:Class`, judged by what it declares, refused when it is none."""

from __future__ import annotations

import re
import sys
from itertools import product

import pytest
from workflows import chain, loop

from labkit import Lab, bench, compare, explore
from labkit.cases.refund import refund
from labkit.effects.policies import POLICIES
from labkit.engines import ENGINES, EventSourcedEngine, HybridEngine, SnapshotEngine
from labkit.errors import InvalidInput
from labkit.matrix import matrix
from labkit.own_engines import OWN, engine_class, engine_name, engine_spec


class Mine(SnapshotEngine):
    """A sound engine under a name of its own."""

    name = "mine"


class MyJournal(EventSourcedEngine):
    """The same with a journal."""

    name = "my-journal"


class Often(HybridEngine):
    """A hybrid that writes a snapshot after every step."""

    name = "often"

    def __init__(self, store, codec):
        super().__init__(store, codec, every=1)


@pytest.fixture(autouse=True)
def forgotten():
    """No test finds what another one made known."""
    yield
    OWN.clear()


@pytest.mark.parametrize("engine", [Mine, MyJournal, Often])
def test_theory_asks_for_what_an_engine_declares_and_not_for_its_name(engine):
    for workflow in (
        refund,
        chain([["think", "bank.pay", "post.send"], ["ask", "fail", "desk.open"]]),
        loop(2, "think"),
    ):
        report = matrix(workflow, engines=engine, providers=("as-declared", "neither"))
        assert report.unexpected == 0, report.disagreements
        assert {cell.engine for cell in report.cells} == {engine.name}


def test_an_engine_is_given_as_a_class_a_name_or_where_it_is():
    spec = f"{Mine.__module__}:Mine"
    assert engine_name(spec) == engine_name(Mine) == engine_name("mine") == "mine"
    assert engine_class("mine") is Mine and engine_spec("mine") == spec
    assert [engine_name(engine) for engine in ENGINES.values()] == list(ENGINES)
    assert explore(chain([["bank.pay"]]), engine=spec).engine == "mine"


def test_a_lab_runs_one_and_kills_its_processes(tmp_path):
    with Lab(tmp_path / "lab.db", engine=Mine) as lab:
        killed = lab.kill(refund, case=17, at="W3")
        assert killed.exit_status != 0
        assert lab.resume("refund-17", approve=True).status == "completed"
        assert lab.runs()["engine"].tolist() == ["mine"]


def test_engines_are_compared_and_benched_where_another_process_can_import_them():
    rows = compare(refund, engines=[Mine, "hybrid"], case=17).rows
    assert [(row.engine, row.verdict) for row in rows] == [("mine", "invalid"), ("hybrid", "invalid")]
    report = bench.run(engines=[Mine], policies=["ledger"], windows=["W3"])
    assert report.ok and {cell.engine for cell in report.cells} == {"mine"}


def test_a_class_that_no_other_process_can_import_is_refused_before_anything_is_killed():
    class Local(SnapshotEngine):
        name = "local"

    assert explore(chain([["bank.pay"]]), engine=Local).ok
    with pytest.raises(InvalidInput, match="no other process can import"):
        bench.run(engines=[Local])


LACKS = {
    "name": "name is None, expected a text",
    "schema": "schema is None, expected a text",
    "journals": "journals is None, expected True or False",
    "begin": "there is no begin(self, tx, run)",
    "load": "there is no load(self, run_id)",
    "record": "there is no record(self, tx, run, event)",
    "commit": "there is no commit(self, tx, run, event)",
    "history": "there is no history(self, run_id)",
    "fork": "there is no fork(self, tx, run_id, at, new_id)",
    "compact": "there is no compact(self, tx, run)",
}


@pytest.mark.parametrize("member", LACKS)
def test_a_class_that_lacks_something_is_told_what(member):
    members = {**vars(SnapshotEngine), "name": "mine"}
    del members[member]
    with pytest.raises(InvalidInput, match=re.escape(LACKS[member])):
        engine_name(type("Half", (), members))


def test_what_is_no_engine_is_refused():
    with pytest.raises(InvalidInput, match=re.escape("load takes (self), expected (self, run_id)")):
        engine_name(type("Odd", (Mine,), {"load": lambda self: None}))
    with pytest.raises(InvalidInput, match="has the name 'snapshot', which is an engine of the lab"):
        engine_name(type("Nameless", (SnapshotEngine,), {}))
    with pytest.raises(InvalidInput, match="there is no engine 'vapour'"):
        explore(refund, engine="vapour")
    with pytest.raises(InvalidInput, match=f"(?s){sys.modules[__name__].__name__} has no class 'Absent'.*Mine"):
        engine_name(f"{__name__}:Absent")
    with pytest.raises(InvalidInput, match="is no engine"):
        explore(refund, engine=int)


def test_every_policy_goes_with_an_engine_of_ones_own():
    for engine, policy in product((Mine, MyJournal), POLICIES):
        assert explore(chain([["think", "bank.pay"]]), engine=engine, policy=policy).unexpected == 0
