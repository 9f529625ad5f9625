"""A campaign over frameworks loses nothing to Ctrl-C and SIGKILL, and touches nothing that is not its own."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from campaigning import BENCH, CELLS, STEPS, commands, gone, until
from command import answer, labkit, really, refused

from labkit.errors import InvalidInput
from labkit.measure.campaign import run
from labkit.measure.plan import plan_of
from labkit.measure.sites import Sites, Stopped
from labkit.measure.trial import Cell, Site

CELL = Cell(stack="bare", policy="bare", window="W3", effect="send_mail")


def recorded(folder: Path) -> dict[tuple[str, int], str]:
    """The results of the trials that a campaign's database holds, by workflow and step."""
    database = next(iter(folder.rglob("campaign.db")), None)
    if not database:
        return {}
    with closing(sqlite3.connect(database)) as reading:
        try:
            rows = reading.execute(STEPS.format("").replace("count(*)", "workflow_uuid, function_id, output"))
            return {(row[0], row[1]): row[2] for row in rows}
        except sqlite3.OperationalError:  # not made yet
            return {}


def test_a_campaign_goes_on_after_ctrl_c_and_after_a_kill_and_measures_nothing_twice(tmp_path):
    out = tmp_path / "report.json"
    with commands(tmp_path) as start:
        first = start(*BENCH)
        until(lambda: len(recorded(tmp_path)) >= 3)
        below = first.below()
        code, said, complained = first.end(signal.SIGINT, within=20)
        assert (code, said) == (130, "") and "the same command goes on" in complained
        assert gone(below) and len(below) >= 2, "a provider and a zygote"
        interrupted = recorded(tmp_path)
        second = start(*BENCH)
        until(lambda: len(recorded(tmp_path)) >= len(interrupted) + 3)
        below = second.below()
        second.end(signal.SIGKILL)
        assert gone(below)
        killed = recorded(tmp_path)
        code, said, complained = start(*BENCH, "--out", str(out)).end()
    found = json.loads(said)
    assert code == 0 and complained == "" and said.count("\n") == 1 and json.loads(out.read_text("utf-8")) == found
    assert interrupted.items() <= killed.items() and len(killed) < CELLS
    recorded_but_not_reported = 2  # at most one a lane: the kill may come between a trial and the end of its cell
    assert len(killed) - recorded_but_not_reported <= found["before"] <= len(killed)
    assert found["trials"] == len(found["cells"]) == CELLS
    assert not any(cell["errors"] or cell["not_reached"] for cell in found["cells"]), "being ended is no result"
    assert {"versions", "machine", "servers", "seed", "repeat", "mode", "workers"} <= set(found)
    assert not list((tmp_path / ".labkit").iterdir())


def test_a_finished_campaign_that_was_kept_is_reported_without_another_kill(tmp_path):
    plan, told = plan_of(["bare-saved"], ["bare"], 1), []
    first = run(plan, tmp_path / "kept", keep=True)
    before = recorded(tmp_path)
    second = run(plan, tmp_path / "kept", keep=True, progress=lambda done, of: told.append((done, of)))
    assert first.ok and (second.before, second.cells) == (CELLS, first.cells) and told == [(CELLS, CELLS)]
    assert len(before) == CELLS and recorded(tmp_path) == before
    assert len(list((tmp_path / "kept" / "trials").glob("*/taps-1.txt"))) == CELLS
    assert twice(first.cells) == {("W3", "bare"), ("W4", "bare")}
    [unharmed] = [cell for cell in first.cells if cell.situation == "no kill"]
    counts = (unharmed.duplicated.count, unharmed.lost.count, unharmed.paid_again.count, unharmed.not_reached)
    assert (unharmed.trials, counts, unharmed.statuses) == (1, (0, 0, 0, 0), {"completed": 1})
    killed = {folder.parent.name for folder in (tmp_path / "kept" / "trials").glob("*/answer-2.json")}
    assert len(killed) == CELLS - 1, "one process takes that run to its end"


def twice(cells) -> set[tuple[str, str]]:
    """The windows and policies in which an effect was executed again after a mere crash."""
    return {(cell.window, cell.policy) for cell in cells if cell.situation == "crash" and cell.duplicated.count}


def test_a_trial_that_fails_because_everything_is_closed_is_no_result(tmp_path, monkeypatch):
    def fails(site, cell, name):
        raise OSError("no provider")

    monkeypatch.setattr(Site, "trial", fails)
    with Sites(tmp_path, {}, lanes=1) as sites:
        assert sites.measure(CELL, "a", "plain").kind == "error"
        sites.stop()
        with pytest.raises(Stopped):
            sites.measure(CELL, "b", "plain")


def test_a_folder_that_belongs_to_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("precious")
    (tmp_path / "file").write_text("precious")
    for folder, expected in (("thesis", "chapter.txt"), ("file", "not a folder")):
        assert expected in refused(labkit(*BENCH, "--keep", tmp_path / folder))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["chapter.txt", "file", "thesis"]


def test_two_campaigns_do_not_measure_in_one_folder(tmp_path):
    def again(done, of):
        with pytest.raises(InvalidInput, match="another process measures in"):
            run(plan, tmp_path)
        raise KeyboardInterrupt

    plan = plan_of(["bare"], ["bare"], 1)
    with pytest.raises(KeyboardInterrupt):
        run(plan, tmp_path, progress=again)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (("--stack", "oracle"), "no stack 'oracle'"),
        (("--stack", "bare", "--policy", "outbox"), "policy 'outbox'"),
        (("--stack", "bare", "--engine", "hybrid"), "--stack goes without --engine"),
        (("--stack", "bare", "--dsn", "nonsense"), "cannot be reached"),
        (("--stack", "bare", "--dsn", "postgresql://nobody@127.0.0.1:1/lab"), "cannot be reached"),
        (("--stack", "os:path"), "expected a labkit.stacks.base.Stack"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_is_written(asked, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert expected in refused(labkit("bench", *asked))
    assert not list(tmp_path.iterdir())


def test_a_server_that_is_missing_is_said_and_is_no_success(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABKIT_TEMPORAL", "nowhere")
    found = answer(labkit("bench", "--stack", "temporal", "--repeat", "1", "--json"), code=1)
    assert "nowhere" in found["not_run"]["temporal"] and found["cells"] == []
    said = really("bench", "--stack", "temporal", "--repeat", "1", cwd=tmp_path)
    assert said.returncode == 1 and "not run: temporal" in " ".join(said.stdout.split())


def test_a_workflow_of_ones_own_is_measured_as_the_readme_says(tmp_path):
    shutil.copy(Path(__file__).with_name("my_refund.py"), tmp_path)
    asked = ("bench", "--stack", "my_refund:adapter", "--policy", "bare", "--policy", "ledger", "--repeat", "1")
    done = really(*asked, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    cells = [cell for cell in json.loads(done.stdout)["cells"] if cell["situation"] == "crash"]
    found = {(cell["policy"], cell["window"]): cell["duplicated"]["count"] for cell in cells}
    assert {key for key, count in found.items() if count} == {("bare", "W3"), ("bare", "W4")}
    assert re.fullmatch("[0-9a-f]{12}", json.loads(done.stdout)["versions"]["my_refund"]), "its content is a version"
