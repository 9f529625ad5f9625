"""What the commands do: run, kill, resume, explore, replay, and what a person decides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import answer, labkit, really, refused

from labkit import sim
from labkit.bench.launch import KILLED

ROOT = Path(__file__).resolve().parent.parent
OWN = """
from labkit.model import State, Workflow
class Empty(State):
    word: str = ""
flow = Workflow("own", version="1", state=Empty, begin=lambda word="": Empty(word=word))
@flow.step
def only(ctx, state):
    print("own code, run")
    return None
"""


def test_a_run_is_killed_for_real_and_resumed_in_another_process(tmp_path: Path):
    done = really("run", "refund", "--crash", "W3", "--policy", "bare", "--engine", "snapshot", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert done.returncode == 0 and done.stderr == ""
    (killed,) = found["killed"]
    assert killed["exit_status"] == KILLED and killed["tap"] == "execute_refund/call:executed#1"
    assert found["run"]["status"] == "completed"
    assert [finding["mark"] for finding in found["timeline"]["findings"]] == ["duplicate"]
    assert list(tmp_path.iterdir()) == [], "without --db nothing stays"


def test_a_kill_is_told_with_its_process_and_drawn(tmp_path: Path):
    told = labkit("run", "--crash", "W3", "--db", tmp_path / "lab.db").stdout
    assert f"ended with status {KILLED}" in told and "✗ process 1 was killed at execute_refund/call:executed#1" in told
    assert "process 2 ended: completed" in told


def test_a_person_takes_a_run_through_approval_and_doubt(tmp_path: Path):
    db = tmp_path / "lab.db"
    assert answer(labkit("run", "--no-approve", "--db", db, "--json"))["next"].startswith("labkit approve refund-17")
    assert answer(labkit("approve", "refund-17", "--db", db, "--json"))["status"] == "running"
    answer(labkit("run", "--crash", "W3", "--effect", "send_mail", "--no-resume", "--db", db, "--json"))
    assert answer(labkit("run", "--db", db, "--json"))["run"]["status"] == "waiting_for_person"
    entries = {row["step"]: row for row in answer(labkit("effects", "refund-17", "--db", db, "--json"))["effects"]}
    assert entries["send_mail"]["status"] == "ambiguous"
    key = entries["send_mail"]["effect_key"]
    resolved = labkit("resolve", key, "--verdict", "confirmed", "--receipt", "mail-1", "--db", db, "--json")
    assert answer(resolved)["status"] == "running"
    assert answer(labkit("run", "--db", db, "--json"))["run"]["status"] == "completed"
    assert [row["status"] for row in answer(labkit("runs", "--db", db, "--json"))["runs"]] == ["completed"]
    assert len(answer(labkit("history", "refund-17", "--db", db, "--json"))["history"]) > 10


def test_what_to_type_next_is_said_and_works(tmp_path: Path):
    db = tmp_path / "lab.db"
    said = answer(labkit("run", "--no-approve", "--db", db, "--json"))["next"]
    for command in said.split(", then "):
        done = labkit(*command.split()[1:])
        assert done.exit_code == 0, done.output
    assert answer(labkit("runs", "--db", db, "--json"))["runs"][0]["status"] == "completed"


def test_a_cancelled_run_stays_cancelled(tmp_path: Path):
    db = tmp_path / "lab.db"
    labkit("run", "--no-approve", "--db", db)
    assert answer(labkit("cancel", "refund-17", "--db", db, "--json"))["status"] == "cancelled"
    refused(labkit("approve", "refund-17", "--db", db))
    assert answer(labkit("run", "--db", db, "--json"))["run"]["status"] == "cancelled"


def test_a_run_is_not_continued_on_another_engine(tmp_path: Path):
    db = tmp_path / "lab.db"
    labkit("run", "--no-approve", "--engine", "snapshot", "--db", db)
    assert "begun with engine snapshot" in refused(labkit("run", "--engine", "hybrid", "--db", db))


def test_the_matrix_holds_every_window_and_fails_on_what_theory_did_not_expect(monkeypatch: pytest.MonkeyPatch):
    asked = ("matrix", "--engine", "hybrid", "--policy", "bare", "--policy", "ledger", "--provider", "dedup", "--json")
    found = answer(labkit(*asked))
    assert found["unexpected"] == 0 and found["schedules"] == sum(cell["schedules"] for cell in found["cells"])
    assert {cell["window"] for cell in found["cells"]} == {"W1", "W2", "W3", "W4", "W5", "between"}
    assert {cell["policy"] for cell in found["cells"]} == {"bare", "ledger"}
    monkeypatch.setattr("labkit.matrix.explore", wrong_explore)
    assert answer(labkit(*asked), code=1)["unexpected"] > 0


def wrong_explore(workflow: Any, **options: Any) -> sim.Report:
    """An exploration that came out otherwise than theory expects."""
    report = sim.explore(workflow, **options)
    report.unexpected += 1
    return report


def test_a_counterexample_is_saved_and_played_again(tmp_path: Path):
    file = tmp_path / "found.json"
    found = answer(labkit("explore", "--engine", "snapshot", "--policy", "bare", "--out", file, "--json"), code=1)
    assert found["violations"] and file.exists()
    played = answer(labkit("replay", file, "--json"), code=1)
    assert {each["invariant"] for each in played["violations"]} == set(found["violations"])
    assert played["timeline"]["lanes"][0]["killed_at"] == found["counterexample"]["schedule"][0]
    assert "DUPLICATE" in labkit("replay", file).stdout


def test_a_safe_combination_explores_without_a_counterexample():
    found = answer(labkit("explore", "--policy", "ledger", "--crashes", "2", "--json"))
    assert found["counterexample"] is None and found["schedules"] > 1000


def test_taps_lists_what_run_can_kill_at():
    rows = answer(labkit("taps", "--engine", "snapshot", "--json"))["taps"]
    assert {"tap": "execute_refund/call:executed#1", "window": "W3"} in rows


def test_interleave_reports_refused_writes():
    found = answer(labkit("interleave", "--provider", "dedup", "--json"))
    assert found["interleavings"] > 100 and found["refused"] > 0 and not found["broken"]


def test_bench_kills_real_processes_and_keeps_what_it_is_asked_to(tmp_path: Path):
    out, keep = tmp_path / "report.json", tmp_path / "kept"
    (tmp_path / "bench_flow.py").write_text(OWN, "utf-8")
    asked = ("bench", "--workflow", "bench_flow:flow", "--engine", "snapshot", "--policy", "bare", "--json")
    done = really(*asked, "--out", out, "--keep", keep, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["trials"] > 0 and found["unexpected"] == 0 and found["trials_per_second"] > 0
    assert json.loads(out.read_text("utf-8")) == found and list(keep.rglob("taps-*"))


def test_bench_says_in_one_line_why_a_workflow_fails_and_where_all_of_it_is(tmp_path: Path):
    (tmp_path / "bad_flow.py").write_text(OWN.replace("return None", "return {}['nope']"), "utf-8")
    asked = ("bench", "bad_flow:flow", "--engine", "hybrid", "--policy", "bare", "--json")
    done = really(*asked, "--keep", "kept", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "") and "Traceback" not in done.stderr
    first, safe, following = done.stderr.splitlines()
    assert first.endswith("StepFailed: step only of run run-1 failed: KeyError: 'nope' (bad_flow.py:9)")
    assert "Traceback" in Path(tmp_path, safe.rpartition(" is in ")[2]).read_text("utf-8")
    assert following.startswith("next: make it run first")
    assert "--keep FOLDER keeps" in really(*asked, cwd=tmp_path).stderr


def test_a_workflow_of_ones_own_runs_from_the_folder_where_it_lies(tmp_path: Path):
    (tmp_path / "own_flow.py").write_text(OWN, "utf-8")
    done = really("run", "own_flow:flow", "--input", "word=hello", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)["run"]
    assert (run["workflow_id"], run["status"], run["data"]["word"]) == ("own", "completed", "hello")
    assert "own code, run" in done.stderr, "what it prints does not get into the answer"
    matrix = really("matrix", "own_flow:flow", "--engine", "hybrid", "--crashes", "2", "--json", cwd=tmp_path)
    assert json.loads(matrix.stdout)["workflow"] == "own" and matrix.returncode == 0, matrix.stderr
    killed = really("run", "own_flow:flow", "--crash", "only/commit:before", "--json", cwd=tmp_path)
    assert json.loads(killed.stdout)["killed"][0]["exit_status"] == KILLED


def test_a_recorded_trajectory_is_answered_for():
    file = min((ROOT / "datasets").rglob("*.jsonl"))
    messages = json.loads(file.read_text("utf-8").splitlines()[0])["messages"]
    tools = {call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}
    effects = [part for name in sorted(tools) for part in ("--effect", name)]
    found = answer(labkit("trajectory", file, *effects, "--engine", "snapshot", "--policy", "bare", "--json"))
    assert found["trajectories"] >= 1 and found["rows"]


def test_a_mistyped_effect_beside_a_right_one_is_refused_before_anything_is_explored(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("labkit.trajectory.report.crash_everywhere", None)
    file = ROOT / "datasets" / "trajectory_travel.jsonl"
    told = refused(labkit("trajectory", file, "--effect", "book_hotel", "--effect", "cancel_hotle", "--json"))
    assert "no call of 'cancel_hotle'" in told and "did you mean cancel_hotel?" in told


def test_the_demo_ends_with_three_provider_ledgers_and_what_to_do_next():
    told = labkit("demo", "--simulated").stdout
    assert told.index("policy bare") < told.index("policy ledger") < told.index("three provider ledgers")
    assert told.count("payments-2") == 6 and "what to do next" in told
    data = answer(labkit("demo", "--simulated", "--json"))
    assert {policy: [len(row["executed"]) for row in each["rows"]] for policy, each in data.items()} == {
        "bare": [2, 2, 2],
        "ledger": [1, 1, 1],
    }
