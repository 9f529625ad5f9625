"""Frameworks in a notebook: a real kill that is shown, a record where a server is missing, nothing left behind."""

from __future__ import annotations

from collections.abc import Iterator

import psutil
import pytest

from labkit.claims.measured import Row, write
from labkit.errors import LabError
from labkit.lab import stacks
from labkit.lab.stacks import StackLab, measured


@pytest.fixture(scope="module")
def lab() -> Iterator[StackLab]:
    """A lab for the stack without a framework."""
    made = StackLab("bare-saved")
    yield made
    made.close()


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A recorded table of one cell and one probe of Temporal, and a server that does not answer."""
    cell = {"policy": "bare", "situation": "crash", "window": "W3", "effect": "execute_refund"}
    rows = [
        Row(stack="temporal", kind="cell", trials=40, duplicated=40, versions="temporalio 1.0", **cell),
        Row(stack="temporal", kind="probe", name="a signal and a timer survive the worker", outcome="pass", seen="so"),
    ]
    write(tmp_path / "measured.csv", rows)
    monkeypatch.setattr(stacks, "MEASURED", tmp_path / "measured.csv")
    monkeypatch.setenv("LABKIT_TEMPORAL", "127.0.0.1:1")


@pytest.mark.parametrize(("policy", "times", "key"), [("bare", 2, "None"), ("ledger", 1, "acme/refund/run-1")])
def test_a_kill_is_shown_with_both_sides(lab, policy, times, key):
    trial = lab.kill("bare-saved", window="W3", policy=policy)
    assert (trial.status, trial.executed["execute_refund"], trial.recorded) == ("completed", times, False)
    assert len(trial.ledger.query("effect == 'execute_refund'")) == times
    assert str(trial.ledger.key[0]).startswith(key)
    told = dict(trial.lines())
    assert f"execute_refund {times}x" in told["the provider says"]
    assert told["came back"].endswith("next: execute_refund")


def test_where_the_server_is_missing_the_record_is_shown_and_says_so(table):
    lab = StackLab("temporal")
    try:
        assert "no server answers" in lab.missing["temporal"]
        trial = lab.kill("temporal", window="W3")
        found = lab.probe("temporal", "a signal and a timer survive the worker")
        with pytest.raises(LabError, match="nothing is recorded of"):
            lab.kill("temporal", window="W5")
    finally:
        lab.close()
    assert (trial.recorded, trial.duplicated, trial.status) == (True, ["execute_refund"], "completed")
    assert dict(trial.lines())["recorded, not run here"] == "temporal, policy bare"
    assert list(found.loc["a signal and a timer survive the worker"]) == ["pass", "recorded: so"]


def test_what_a_run_that_stopped_has_not_done_yet_is_said(lab):
    stopped = lab.kill("bare-saved", window="W3", policy="ledger", effect="send_mail")
    assert dict(stopped.lines())["so"] == "failed; not done yet: close_ticket"
    whole = lab.kill("bare-saved", window="W3", policy="ledger")
    assert dict(whole.lines())["so"] == "completed; each effect once"


def test_the_situation_without_a_kill_is_refused_by_kill(lab):
    with pytest.raises(LabError, match="nothing is killed"):
        lab.kill("bare-saved", window="", effect="", situation="no kill")


def test_the_recorded_cells_are_a_table(table):
    assert list(measured("temporal")["duplicated"]) == [40]
    assert measured("dbos").empty and measured(policy="ledger").empty


def test_close_leaves_neither_a_process_nor_a_file():
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    lab = StackLab("bare")
    folder = lab._folder
    lab.kill("bare", window="W5")
    assert folder.exists() and {process.pid for process in psutil.Process().children(recursive=True)} > before
    lab.close()
    assert not folder.exists()
    assert {process.pid for process in psutil.Process().children(recursive=True)} == before
