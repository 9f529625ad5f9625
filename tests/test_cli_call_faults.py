"""Calls that go wrong on the command line: explored, replayed, tabled, and played with a real provider."""

from __future__ import annotations

import pytest
from command import answer, labkit, refused

from labkit.provider.faults import CALL_FAULTS


def test_a_time_out_that_pays_twice_is_found_saved_and_replayed_without_any_crash(tmp_path):
    out = tmp_path / "found.json"
    asked = ("explore", "refund", "--policy", "bare", "--call-faults", "timeout_after", "--out", out)
    report = answer(labkit(*asked, "--json"), code=1)
    assert report["counterexample"]["schedule"] == []
    assert [cell["alone"] for cell in report["call_faults"]] == [["duplicated"]] * 3
    again = answer(labkit("replay", out, "--json"), code=1)
    assert {each["invariant"] for each in again["violations"]} == {"no duplicate effect"}
    said = labkit("replay", out).output
    assert "calls that go wrong: timeout_after at call 1 of payments.refund" in said and "DUPLICATE" in said


def test_the_matrix_has_a_second_table_of_calls_that_go_wrong():
    asked = ("matrix", "--engine", "snapshot", "--policy", "ledger", "--policy", "bare", "--call-faults", "all")
    report = answer(labkit(*asked, "--json"))
    assert report["unexpected"] == 0 and {cell["fault"] for cell in report["call_faults"]} == set(CALL_FAULTS)
    said = labkit(*asked).output
    assert "schedules with no crash or one, 0 unexpected" in said and "x100%" in said
    assert answer(labkit(*asked[:-2], "--json"))["call_faults"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("explore", "--call-faults", "timeout"), "did you mean timeout_after"),
        (("matrix", "--call-faults", "nothing"), "there is no call fault 'nothing'"),
        (("run", "--fault", "lost"), "there is no call fault 'lost'"),
        (("run", "--fault", "away:pay"), "name one of execute_refund, send_mail, close_ticket"),
    ],
)
def test_a_call_fault_that_does_not_exist_is_refused(arguments, said):
    assert said in " ".join(refused(labkit(*arguments)).split())


def test_a_run_with_a_lost_reply_is_resumed_by_a_worker_and_can_be_killed_besides(tmp_path):
    fault = ("--fault", "reply_lost:execute_refund", "--json")
    report = answer(labkit("run", "--policy", "bare", *fault))
    assert report["run"]["status"] == "completed" and len(report["unclear"]) == 1
    entries = [entry["target"] for entry in report["timeline"]["outside"] if entry["kind"] == "effect"]
    assert entries.count("payments") == 2
    killed = answer(labkit("run", "--policy", "bare", "--crash", "execute_refund/call:executed#2", *fault))
    assert killed["killed"][0]["tap"] == "execute_refund/call:executed#2"
    entries = [entry["target"] for entry in killed["timeline"]["outside"] if entry["kind"] == "effect"]
    assert entries.count("payments") == 3
    safe = answer(labkit("run", *fault))
    assert safe["run"]["status"] == "completed" and safe["unclear"] == []
