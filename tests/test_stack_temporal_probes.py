"""What is special to Temporal, tried on a real server with real kills, and what the Replayer says of recorded runs."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from labkit.measure.servers import services_for
from labkit.stacks.probes import temporal_replay as replay
from labkit.stacks.probes.temporal import PROBES
from labkit.stacks.temporal import _Inserted, _Refund, _Renamed

FAIL = {
    "an activity that was killed after its effect is not executed again",
    "a local activity that had completed is not executed again after a kill",
    "a run that is under way goes on when it is forked",
    "an id that was used is refused, without being asked for it",
    "a result of three megabytes fails the run, and its activity is not executed again",
    "replay notices an argument that was changed",
    "a node of a graph that was killed after its effect is not executed again",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with services_for(["temporal"], tmp_path_factory.mktemp("servers")) as services:
        if services.missing:
            pytest.skip(reason=f"the probes of Temporal were not run: {services.missing}")
        yield services.addresses


@pytest.mark.parametrize("name", [name for name in PROBES if name not in replay.REPLAY])
def test_a_promise_on_a_server(name, server, tmp_path):
    if "a graph" in name and find_spec("temporalio.langgraph") is None:
        assert PROBES[name](tmp_path / "probe", server).outcome == "not run"
        pytest.skip(reason="temporalio-langgraph is not installed: the plugin was not run")
    finding = PROBES[name](tmp_path / "probe", server)
    assert finding.outcome == ("fail" if name in FAIL else "pass"), finding.seen


@pytest.mark.parametrize("name", replay.REPLAY)
def test_a_promise_of_replay_needs_no_server(name, tmp_path):
    finding = replay.REPLAY[name](tmp_path, {})
    assert finding.outcome == ("fail" if name in FAIL else "pass"), finding.seen


def test_a_replay_that_does_not_fit_writes_nothing_into_a_progress_bar():
    code = "from labkit.stacks.probes.temporal_replay import misfit; from labkit.stacks.temporal import _Renamed;"
    code += "print(misfit('refund', _Renamed))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Nondeterminism" in told.stdout and told.stderr == ""


def test_without_a_server_a_probe_was_not_run(tmp_path):
    finding = PROBES["a signal and a timer survive the worker"](tmp_path / "probe", {})
    assert finding.outcome == "not run" and "no temporal server" in finding.seen


def test_the_recorded_refund_fits_its_code_and_no_changed_code():
    assert replay.misfit("refund", _Refund) == ""
    for changed in (_Renamed, _Inserted):
        assert "Nondeterminism" in replay.misfit("refund", changed)


def test_a_history_names_no_process_and_no_folder_of_the_machine():
    for path in sorted(replay.HISTORIES.glob("*.json")):
        text = path.read_text("utf-8")
        assert set(re.findall(r'"identity": "\d*(\D.*)"', text)) <= {"@machine", "client@machine"}, path.name
        assert "/" not in "".join(re.findall(r'"(?:workflowId|name)": "(.*)"', text)), path.name


def test_a_killed_worker_shows_in_the_history_only_as_a_second_attempt():
    attempts = [
        event.activity_task_started_event_attributes.attempt
        for event in replay.history("order-killed").events
        if event.HasField("activity_task_started_event_attributes")
    ]
    assert attempts == [2, 1]
