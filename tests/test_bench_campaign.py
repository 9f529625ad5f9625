"""A campaign agrees with the simulator, survives Ctrl-C and SIGKILL, and leaves nothing behind."""

from __future__ import annotations

import json
import subprocess
import sys

import msgspec
import psutil
import pytest

from labkit import bench
from labkit.bench import campaign
from labkit.bench.log import TRIALS
from labkit.cases.refund import refund
from labkit.check.cells import COUNTS
from labkit.errors import InvalidInput
from labkit.sim import explore

SMALL = {"engines": ["hybrid"], "policies": ["keyed"]}
CAMPAIGN = """
import sys
from labkit import bench

def told(done, of):
    print(done, flush=True)

bench.run(engines=["hybrid"], policies=["keyed"], repeat=3, out=sys.argv[1], progress=told)
"""


@pytest.mark.parametrize(("engine", "policy"), [("snapshot", "keyed"), ("event-sourced", "bare"), ("hybrid", "ledger")])
def test_real_kills_give_the_cells_of_the_simulator(engine, policy):
    report = bench.run(engines=[engine], policies=[policy])
    simulated = explore(refund, engine=engine, policy=policy, **refund.example)
    assert report.cells == simulated.cells and report.trials == report.schedules == simulated.schedules
    assert report.ok and report.unexpected == 0


def test_a_plain_campaign_gives_the_cells_of_a_zygote_campaign():
    one = {"engines": ["snapshot"], "policies": ["bare"], "windows": ["W3", "W4"]}
    plain, default = bench.run(mode="plain", **one), bench.run(**one)
    assert (
        plain.mode == "plain" and plain.cells == default.cells and {cell.window for cell in plain.cells} == {"W3", "W4"}
    )


def test_the_report_as_json_has_the_matrix_shape():
    report = bench.run(windows=["W3"], repeat=2, **SMALL)
    found = json.loads(msgspec.json.encode(report))
    assert found["crashes"] == 1 and found["schedules"] == 3 and found["trials"] == 6 and found["trials_per_second"] > 0
    assert {"workflow", "seconds", "cells", "unexpected", "not_reached", "errors", "mode"} <= set(found)
    (cell,) = found["cells"]
    names = {"engine": "hybrid", "policy": "keyed", "provider": "as-declared", "window": "W3"}
    assert {**cell, **names} == cell and cell["schedules"] == 6 and set(cell["expected"]) == set(COUNTS)
    # two of the three providers cannot recognise a key, and each effect was known to its provider alone
    assert (cell["duplicated"], cell["untracked"], cell["verdict"]) == (4, 6, "invalid")
    assert "real kills" in bench.render(report).renderables[0].title


def test_a_campaign_leaves_no_process_and_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign, "SCRATCH", str(tmp_path))
    before = set(psutil.Process().children(recursive=True))
    assert bench.run(windows=["W2"], **SMALL).ok
    assert set(psutil.Process().children(recursive=True)) <= before and list(tmp_path.iterdir()) == []


def test_keep_leaves_the_database_ledger_and_traces_of_each_trial(tmp_path):
    report = bench.run(windows=["W4"], out=tmp_path, keep=True, **SMALL)
    trials = [json.loads(line) for line in (tmp_path / TRIALS).read_text().splitlines()]
    assert len(trials) == report.trials > 0
    for trial in trials:
        left = {path.name for path in (tmp_path / "trials" / trial["id"]).iterdir()}
        assert {"lab.db", "taps-1.txt", "taps-2.txt", f"provider-{trial['id']}.jsonl"} <= left
        assert (tmp_path / "trials" / trial["id"] / "taps-1.txt").read_text().splitlines()[-1] == trial["schedule"][0]


def test_ctrl_c_keeps_what_is_finished_and_the_campaign_goes_on_later(tmp_path):
    def interrupt(done, of):
        if done:
            raise KeyboardInterrupt

    first = bench.run(out=tmp_path, progress=interrupt, repeat=3, **SMALL)
    assert first.interrupted and not first.ok and 0 < first.trials < first.schedules * 3
    told = []
    second = bench.run(out=tmp_path, repeat=3, progress=lambda done, of: told.append((done, of)), **SMALL)
    assert second.ok and second.trials == second.schedules * 3
    assert told[0][0] >= first.trials and told[-1] == (second.trials, second.trials)
    assert {path.name for path in (tmp_path / "trials").iterdir()} == {"provider.log"}, "nobody said keep"


def test_a_campaign_whose_parent_was_sigkilled_goes_on_and_repeats_nothing(tmp_path):
    parent = subprocess.Popen([sys.executable, "-c", CAMPAIGN, tmp_path], stdout=subprocess.PIPE, text=True)
    with parent:
        while int(parent.stdout.readline()) < 3:
            pass
        started = psutil.Process(parent.pid).children(recursive=True)
        parent.kill()
    assert len(started) >= 3, "a provider and two zygotes"
    _, alive = psutil.wait_procs(started, timeout=60)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []
    log = tmp_path / TRIALS
    finished = log.read_bytes()
    whole = finished[: finished.rfind(b"\n") + 1]
    log.write_bytes(whole + b'{"id": "torn')
    report = bench.run(repeat=3, out=tmp_path, **SMALL)
    assert report.ok and report.trials == report.schedules * 3 and 3 <= whole.count(b"\n") < report.trials
    assert log.read_bytes().startswith(whole)
    assert len({json.loads(line)["id"] for line in log.read_bytes().splitlines()}) == report.trials


def test_another_campaign_or_folder_is_not_written_over(tmp_path):
    bench.run(windows=["W5"], out=tmp_path / "a", **SMALL)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "thesis.txt").write_text("precious")
    before = (tmp_path / "a" / TRIALS).read_bytes()
    for folder, expected in (("a", "holds another campaign"), ("b", "holds no campaign")):
        with pytest.raises(InvalidInput, match=expected):
            bench.run(windows=["W4"], out=tmp_path / folder, **SMALL)
    assert (tmp_path / "a" / TRIALS).read_bytes() == before and len(list((tmp_path / "b").iterdir())) == 1
