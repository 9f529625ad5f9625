"""The check of an engine passes the lab's own and sound ones like them, and finds each broken one, and says where."""

from __future__ import annotations

import pytest
from broken_engines import BROKEN, NoVersionCheck, TextOrder
from command import answer, labkit, refused

from labkit import check_engine, explore
from labkit.cases.for_engines import LONG, WORKFLOWS
from labkit.cases.refund import refund
from labkit.engines import HybridEngine
from labkit.errors import InvalidInput
from labkit.own_engines import OWN
from labkit.taps import Tap


@pytest.fixture(autouse=True)
def forgotten():
    """No test finds what another one made known."""
    yield
    OWN.clear()


class Rare(HybridEngine):
    """A sound engine that writes a snapshot every seven steps."""

    name = "rare"

    def __init__(self, store, codec):
        super().__init__(store, codec, every=7)


def test_a_sound_engine_passes_every_check(engine):
    seen: list[tuple[int, int]] = []
    report = check_engine(engine, progress=lambda *at: seen.append(at))
    assert report.ok, str(report)
    assert {finding.check.split(",")[0] for finding in report.findings} == set(WORKFLOWS)
    assert all(finding.tried for finding in report.findings)
    assert seen == [(done, len(seen)) for done in range(1, len(seen) + 1)]


def test_a_sound_engine_of_ones_own_passes():
    report = check_engine(Rare)
    assert report.ok and report.engine == "rare", str(report)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda each: each.name)
def test_every_broken_engine_is_found_and_the_workflow_named(broken):
    report = check_engine(broken, stop=True)
    assert not report.ok and len(report.failed) == 1
    for finding in report.failed:
        assert finding.check.split(",")[0] in WORKFLOWS and finding.problem
        assert f"{finding.check}, {finding.policy}: FAILED: {finding.problem}" in str(report)


def test_versions_in_the_order_of_texts_pass_the_refund_and_fail_at_once_on_a_long_run():
    assert explore(refund, engine=TextOrder).ok
    (first,) = check_engine(TextOrder, stop=True).findings
    assert first.check == "long" and first.problem
    (tap,) = first.schedule
    assert int(Tap.parse(tap).step.removeprefix("s")) < LONG


def test_only_two_workers_show_a_version_that_is_not_checked():
    failed = check_engine(NoVersionCheck).failed
    assert [finding.check for finding in failed] == ["branch, two workers"]
    assert "worker 1 pauses at" in failed[0].schedule[0]


def test_what_is_no_engine_is_refused():
    with pytest.raises(InvalidInput, match="there is no begin"):
        check_engine(type("Half", (), {"name": "half", "schema": "x", "journals": False}))


def test_the_command_says_what_failed_and_ends_with_1():
    ran = labkit("check-engine", "tests.broken_engines:TextOrder", "--stop")
    assert ran.exit_code == 1, ran.output
    assert "long, ledger: FAILED: acknowledged progress" in ran.stdout and "crash at s9/commit:after#1" in ran.stdout
    assert answer(labkit("check-engine", "snapshot", "--json"))["engine"] == "snapshot"
    assert answer(labkit("check-engine", "tests.broken_engines:TextOrder", "--stop", "--json"), 1)["findings"][0][
        "problem"
    ]


def test_a_counterexample_of_ones_own_engine_is_replayed_when_it_is_named(tmp_path):
    file, engine = tmp_path / "found.json", "tests.broken_engines:LosesAField"
    explored = labkit("explore", "refund", "--engine", engine, "--out", file)
    assert explored.exit_code == 1 and f"--engine {engine}" in explored.output
    OWN.clear()
    assert "there is no engine 'loses-a-field'" in refused(labkit("replay", file))
    assert labkit("replay", file, "--engine", engine).exit_code == 1


@pytest.mark.parametrize("name", ["vapour", "tests.broken_engines:Absent", "json:JSONDecoder"])
def test_the_command_refuses_what_is_no_engine(name):
    assert "engine" in refused(labkit("check-engine", name))
