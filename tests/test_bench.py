"""The bench kills real processes, says how each ended, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import msgspec
import psutil
import pytest
from rich.console import Console

from labkit import bench
from labkit.bench.job import spec_of
from labkit.bench.judging import Reference, outcome_of
from labkit.bench.launch import KILLED
from labkit.bench.trial import open_sites
from labkit.cases import find_workflow
from labkit.cases.refund import refund
from labkit.check.follow import Position, Standing
from labkit.check.render import mark
from labkit.check.theory import Crashed
from labkit.errors import InvalidInput, LabError
from labkit.provider.ledger_file import read_ledger
from labkit.provider.process import ProviderProcess
from labkit.scenario import Scenario
from labkit.sim.oracle import Oracle
from labkit.sim.script import theory_of
from labkit.taps import Tap

SCENARIO = Scenario(workflow=refund, inputs={"case": 17})
MODES = ["plain", pytest.param("zygote", marks=pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"))]
SOME_TAPS = [
    "run/begin:before",
    "policy_check/record:after",
    "execute_refund/call:before",
    "execute_refund/call:executed",
    "send_mail/call:after",
    "close_ticket/commit:before",
]
WORKFLOW = """
from pathlib import Path
from labkit.model import State, Target, Workflow

class MyState(State):
    folder: str
    seen: int = 0
    receipt: str = ""

mine = Workflow("mine", version="1", state=MyState, begin=lambda folder: MyState(folder=folder),
                targets={"shop": Target(capability="dedup")})
calls = []

def look(call, folder) -> int:
    calls.append(folder)
    BEHAVIOUR
    return len(calls)

@mine.step
def first(ctx, state):
    state.seen = ctx.activity(look, state.folder)
    return second

@mine.step
def second(ctx, state):
    if not Path(state.folder, "no-effect").exists():
        state.receipt = ctx.effect("shop", "buy", {}).id
    return None
"""


@pytest.fixture
def site(tmp_path):
    with open_sites("plain", spec_of(refund), tmp_path / "site") as [site]:
        yield site


@pytest.fixture
def own_workflow(tmp_path, monkeypatch):
    """A function that writes a workflow module of somebody's own, whose activity does `behaviour`; gives its spec."""

    def write(name, behaviour="pass"):
        (tmp_path / f"{name}.py").write_text(WORKFLOW.replace("BEHAVIOUR", behaviour), "utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        return f"{name}:mine"

    return write


@pytest.mark.parametrize("tap", SOME_TAPS)
def test_a_process_is_dead_by_sigkill_at_its_tap(tap, site):
    with site.world(SCENARIO, "trial"):
        died = site.launcher.run(site.job(SCENARIO, "trial", 1, Tap.parse(tap)))
    assert died.status == KILLED == (-signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
    assert died.reached and died.passed[-1] == Tap.parse(tap) and died.passed.count(Tap.parse(tap)) == 1
    assert died.output == "" and not psutil.pid_exists(died.pid)


@pytest.mark.parametrize("phase", ["before", "executed", "after"])
def test_at_w2_and_w3_it_is_the_provider_who_kills(phase, site):
    """A process that leaves with 77 instead of killing itself: only the provider is left to do it."""
    tap = Tap("execute_refund/call", phase)
    with site.world(SCENARIO, "trial") as client:
        job = site.job(SCENARIO, "trial", 1, tap)
        unable = "import os, sys; os.kill = lambda pid, how: os._exit(77)\n"
        program = unable + "import msgspec\nfrom labkit.bench.child import Job, perform\n"
        program += "perform(msgspec.json.decode(sys.argv[1], type=Job))"
        command = [sys.executable, "-c", program, msgspec.json.encode(job).decode()]
        ended = subprocess.run(command, capture_output=True, timeout=120)
        done = [entry.operation for entry in read_ledger(client.info.ledger)[0] if entry.kind == "effect"]
    assert ended.returncode == (77 if phase == "after" else KILLED), ended.stderr
    assert done == ([] if phase == "before" else ["refund"])


def test_plain_and_zygote_processes_die_alike(tmp_path):
    lives = {}
    for mode in ("plain", bench.campaign.DEFAULT_MODE):
        with open_sites(mode, spec_of(refund), tmp_path / mode) as [site]:
            trials = [site.trial(SCENARIO, f"tap-{n}", [Tap.parse(tap)]) for n, tap in enumerate(SOME_TAPS)]
        lives[mode] = [
            [(life.status, life.passed, life.found) for life in trial.lives] + [trial.evidence.run.outcome()]
            for trial in trials
        ]
    assert all(life == lives["plain"] for life in lives.values())


@pytest.mark.parametrize("mode", MODES)
def test_a_process_can_be_killed_and_resumed_on_somebodys_own_database_and_provider(mode, tmp_path):
    with ProviderProcess(tmp_path / "provider") as provider:
        given = {"mode": mode, "db": tmp_path / "mine.db", "provider": provider, "world": "shop"}
        died = bench.kill_once(SCENARIO, "execute_refund/call:executed", tmp_path / "traces", **given)
        again = bench.kill_once(SCENARIO, "execute_refund/call:executed", tmp_path / "traces", **given)
        ended = bench.resume_once(SCENARIO, tmp_path / "traces", **given)
    assert died.reached and again.reached and ended.status == 0 and not ended.reached
    assert (died.found.status, again.found.status, ended.found.status) == ("none", "running", "running")
    entries, _ = read_ledger(tmp_path / "provider" / "provider-shop.jsonl")
    assert [entry.operation for entry in entries if entry.kind == "effect"] == ["refund", "send", "close"]
    assert (tmp_path / "mine.db").exists() and not (tmp_path / "traces" / "lab.db").exists()


def test_what_cannot_be_run_is_refused_before_anything_is_written(tmp_path):
    nameless = refund.__class__("x", version="1", state=refund.state, begin=lambda: None)
    for wrong in (
        lambda: bench.kill_once(SCENARIO, "not a tap", tmp_path / "x"),
        lambda: bench.kill_once(SCENARIO, "a/b:before", tmp_path / "x", mode="magic"),
        lambda: bench.run(workflow=nameless, out=tmp_path / "x"),
        lambda: bench.run(engines=["diesel"], out=tmp_path / "x"),
        lambda: bench.run(inputs={"case": 10**9}, out=tmp_path / "x"),
        lambda: bench.run(repeat=0, out=tmp_path / "x"),
        lambda: bench.run(mode="magic", out=tmp_path / "x"),
        lambda: bench.run(keep=True),
    ):
        with pytest.raises(InvalidInput):
            wrong()
    assert not (tmp_path / "x").exists()


def test_a_tap_that_is_not_reached_never_counts_as_passed(site):
    tap = Tap("execute_refund/call", "before", 2)
    trial = site.trial(SCENARIO, "trial", [tap])
    theory = theory_of(SCENARIO)
    crashes = [Crashed(tap, "W2", Standing(Position()))]
    outcome = outcome_of("trial", SCENARIO, crashes, trial, Reference(None, [], theory, Oracle(SCENARIO, {})), 0.0)
    assert (outcome.kind, outcome.observed, trial.evidence) == ("not reached", None, None)
    assert "status 0" in outcome.detail and str(tap) in outcome.detail


def test_a_process_that_is_killed_elsewhere_has_failed(own_workflow, tmp_path):
    spec = own_workflow("stray", "import os, labkit.bench.trace as trace; os.kill(os.getpid(), trace.KILL)")
    scenario = Scenario(workflow=find_workflow(spec), inputs={"folder": str(tmp_path)})
    with pytest.raises(LabError, match=f"ended with status {KILLED}"):
        bench.kill_once(scenario, "second/commit:before", tmp_path / "traces")


def test_a_schedule_may_kill_several_processes(site):
    trial = site.trial(
        SCENARIO, "trial", [Tap.parse("load_case/commit:after"), Tap.parse("close_ticket/call:executed")]
    )
    assert [life.status for life in trial.lives] == [KILLED, KILLED, 0]
    assert trial.evidence.status == "completed" and not trial.evidence.duplicated()


def test_a_workflow_of_ones_own_is_benched_and_each_process_starts_fresh(own_workflow, tmp_path):
    inputs, out = {"folder": str(tmp_path)}, tmp_path / "out"
    report = bench.run(workflow=own_workflow("fresh"), engines=["hybrid"], inputs=inputs, out=out, keep=True)
    assert report.ok and report.trials > 60 and report.workflow == "mine"
    states = [path.read_bytes() for path in out.glob("trials/*/lab.db*")]
    assert any(b'"seen":1' in state for state in states) and not any(b'"seen":2' in state for state in states)


def test_trials_that_do_not_reach_their_tap_or_fail_are_counted_apart(own_workflow, tmp_path):
    inputs = {"folder": str(tmp_path)}
    once = "begun = Path(folder, 'begun'); begun.with_name('no-effect' if begun.exists() else 'begun').touch()"
    spec = own_workflow("shy", once)
    report = bench.run(engines=["snapshot"], policies=["bare"], workflow=spec, inputs=inputs)
    assert report.not_reached > 0 and not report.ok and not report.errors
    assert sum(cell.schedules for cell in report.cells) == report.trials - report.not_reached
    spec = own_workflow("sick", "if call.number > 1: raise ValueError('sick of it')")
    report = bench.run(engines=["snapshot"], policies=["bare"], workflow=spec, inputs=inputs)
    assert report.errors and "ValueError: sick of it" in report.errors[0] and not report.ok


def test_an_error_of_a_child_is_told_with_its_row_and_no_cell_of_it_is_ok(own_workflow, tmp_path):
    spec = own_workflow("ill", "if call.number > 1: raise ValueError('ill [at ease]')")
    ways = {"engines": ["snapshot"], "policies": ["bare"], "inputs": {"folder": str(tmp_path)}}
    report = bench.run(workflow=spec, **ways)
    failed = report.not_judged[0]
    assert (failed.engine, failed.policy, failed.kind) == ("snapshot", "bare", "error")
    assert failed.error.startswith("process 2 ended with status 1: ") and failed.error.endswith("ill [at ease]")
    assert "Traceback" in failed.detail
    row = f"snapshot, bare, {failed.window}, crash at {failed.schedule[0]}: {failed.error}"
    assert row in report.errors
    cells = {cell.window: cell for cell in report.cells}
    assert cells[failed.window].errors and cells[failed.window].verdict == "invalid"
    assert sum(cell.errors for cell in report.cells) == len(report.errors)
    console = Console(width=200)
    with console.capture() as shown:
        console.print(bench.render(report))
    assert row in shown.get()
    assert all("ok" not in mark(cell) for cell in report.cells if cell.errors)
    found = json.loads(msgspec.json.encode(report))
    assert found["not_judged"][0]["window"] == failed.window and found["errors"] == report.errors


def test_a_trial_that_missed_its_tap_leaves_no_ok_in_its_cell(own_workflow, tmp_path):
    once = "begun = Path(folder, 'begun'); begun.with_name('no-effect' if begun.exists() else 'begun').touch()"
    ways = {"engines": ["snapshot"], "policies": ["bare"], "inputs": {"folder": str(tmp_path)}}
    report = bench.run(workflow=own_workflow("coy", once), **ways)
    missed = [cell for cell in report.cells if cell.not_reached]
    assert sum(cell.not_reached for cell in missed) == report.not_reached == len(report.not_judged)
    assert all(cell.verdict != "valid" and "ok" not in mark(cell) for cell in missed)
    assert "never came to second/call:" in report.not_judged[0].error


def test_a_workflow_that_fails_without_a_crash_is_not_benched(own_workflow, tmp_path):
    spec = own_workflow("broken", "raise ValueError('no luck')")
    with pytest.raises(LabError, match="no luck"):
        bench.run(engines=["snapshot"], policies=["bare"], workflow=spec, inputs={"folder": str(tmp_path)})
