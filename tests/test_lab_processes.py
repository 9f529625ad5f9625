"""What the lab promises about processes: kills are real, others resume, one provider a database, none is left over."""

from __future__ import annotations

import json
from pathlib import Path

import psutil
import pytest

from labkit import Lab, compare, refund
from labkit.bench.launch import KILLED
from labkit.engines import ENGINES
from labkit.errors import InvalidInput
from labkit.model import Workflow


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lab.db"


def outside(lab: Lab) -> list[tuple[str, str]]:
    """What was executed outside, as (target, receipt)."""
    frame = lab.provider()
    return [(row.target, row.receipt_id) for row in frame.itertuples() if row.kind == "effect"]


@pytest.mark.parametrize(
    ("window", "executed"), [("W2", []), ("W3", [("payments", "payments-1")]), ("W4", [("payments", "payments-1")])]
)
def test_a_kill_is_real_and_another_process_resumes(window: str, executed: list, path: Path):
    with Lab(path, policy="bare") as lab:
        killed = lab.kill(refund, at=window, case=17)
        assert killed.exit_status == KILLED and not psutil.pid_exists(killed.pid)
        assert killed.window == window and killed.run and killed.run.status == "running"
        assert outside(lab) == executed
        assert lab.resume(killed.run_id).status == "completed"
        assert len(outside(lab)) == 3 + len(executed), "without a protocol an executed effect is executed again"
        first, second = lab.timeline("refund-17").lanes
        assert (first.pid, first.killed_at, first.status) == (killed.pid, killed.tap, "killed")
        assert second.status == "completed"


def test_a_real_kill_can_hit_the_recovery_too(path: Path):
    with Lab(path, policy="ledger") as lab:
        for window in ("W3", "W2", "W5"):
            assert lab.kill(refund, at=window, case=17).exit_status == KILLED
        assert lab.resume("refund-17").status == "completed"
        assert [target for target, _ in outside(lab)] == ["payments", "mail", "tickets"]
        assert [lane.window for lane in lab.timeline("refund-17").lanes] == ["W3", "W2", "W5", ""]


def test_a_tap_that_is_not_passed_is_named_beforehand_and_nothing_runs(path: Path):
    with Lab(path) as lab:
        with pytest.raises(InvalidInput, match="near taps: execute_refund/call:executed#1"):
            lab.kill(refund, at="execute_refnd/call:executed#1", case=17)
        with pytest.raises(InvalidInput, match="execute_refund, send_mail, close_ticket"):
            lab.kill(refund, at="W3", effect="send_male", case=17)
        assert lab.runs().empty and lab.provider().empty


def test_a_lab_in_memory_refuses_a_real_kill():
    with Lab(":memory:") as lab, pytest.raises(InvalidInput, match="real=False"):
        lab.kill(refund, at="W3", case=17)


def test_a_workflow_that_no_other_process_can_import_is_refused(path: Path):
    local: Workflow = Workflow("local", version="1", state=refund.state, begin=refund.begin, targets=refund.targets)
    for step in refund.steps.values():
        local.step(step)
    with Lab(path) as lab, pytest.raises(InvalidInput, match="local"):
        lab.kill(local, at="W3", case=17)


def test_two_labs_on_one_database_share_one_provider(path: Path):
    with Lab(path) as first:
        first.start(refund, case=17, approve=True)
        with Lab(path) as second:
            second.start(refund, case=30, approve=True)
            assert len(outside(first)) == len(outside(second)) == 6
    with Lab(path) as third:
        third.start(refund, case=14, approve=True)
        assert len(outside(third)) == 9


def test_the_provider_that_was_joined_may_go_and_the_lab_starts_its_own(path: Path):
    first, second = Lab(path), Lab(path)
    try:
        first.start(refund, case=17, approve=True)
        second.start(refund, case=30, approve=True)
        first.close()
        second.start(refund, case=14, approve=True)
        assert len(outside(second)) == 9
    finally:
        first.close()
        second.close()


def test_a_provider_that_is_open_with_other_capabilities_is_refused(path: Path):
    with Lab(path) as first:
        first.start(refund, case=17)
        with Lab(path, provider="neither") as second, pytest.raises(InvalidInput, match="is open with"):
            second.start(refund, case=30)


def test_closing_leaves_no_process_behind(path: Path):
    before = {child.pid for child in psutil.Process().children()}
    with Lab(path) as lab:
        lab.start(refund, case=17)
        assert {child.pid for child in psutil.Process().children()} - before
    assert not {child.pid for child in psutil.Process().children()} - before


@pytest.mark.parametrize("real", [True, False])
def test_one_crash_on_three_engines_shows_what_a_policy_buys(real: bool):
    bare, ledger = (compare(refund, at="W3", policy=policy, real=real, case=17) for policy in ("bare", "ledger"))
    assert [row.engine for row in bare.rows] == list(ENGINES)
    assert [len(row.executed) for row in bare.rows] == [2, 2, 2]
    assert [len(row.executed) for row in ledger.rows] == [1, 1, 1]
    assert {row.verdict for row in bare.rows} == {"invalid"} and {row.verdict for row in ledger.rows} == {"valid"}
    assert {row.exit_status for row in bare.rows} == {KILLED if real else None}
    assert bare.table["verdict"].iloc[0].startswith("invalid, broken rules: 'no duplicate effect', ")
    assert " at W3 of execute_refund, policy bare, " in bare.title
    shown = [column.header for column in bare.__rich__().columns]
    assert shown == ["engine", "provider's ledger", "activity calls", "status", "verdict"]
    assert list(bare.ledgers["hybrid"]) == ["refund 49.90 EUR → payments-1", "refund 49.90 EUR → payments-2"]
    assert "\\n" not in str(bare) and max(map(len, str(bare).splitlines())) <= 100
    assert "payments-2" in str(bare) and "payments-2" in bare._repr_html_() and json.dumps(bare.data())


@pytest.mark.parametrize(
    ("window", "tap"),
    [
        ("W1", "intent:before"),
        ("W2", "call:before"),
        ("W3", "call:executed"),
        ("W4", "call:after"),
        ("W5", "confirm:after"),
    ],
)
def test_each_window_means_one_tap_of_the_effect_on_every_engine(window: str, tap: str):
    rows = compare(refund, at=window, policy="ledger", effect="close_ticket", real=False, case=17).rows
    assert {row.killed_at for row in rows} == {f"close_ticket/{tap}#1"}
    assert {row.timeline.lanes[0].window for row in rows} == {window} and {row.verdict for row in rows} == {"valid"}
