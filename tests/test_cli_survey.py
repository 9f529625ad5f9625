"""What a survey leaves out is said, and is no success."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command import really

from labkit.bench.launch import DEFAULT_MODE
from labkit.claims.measured import Row, read, replaced, write
from labkit.cli.claiming import left_out

UNFIT = """
from my_refund import MyRefund


class Unfit(MyRefund):
    def prepare(self):
        raise RuntimeError("no licence")


adapter = Unfit()
"""
CELL = Row(stack="a", kind="cell", trials=3)
EMPTY = Row(stack="a", kind="cell", seen="no server")
CHECK = Row(stack="a", kind="check", name="forks", outcome="not run", seen="no server")
LACKING = Row(stack="a", kind="check", name="forks", outcome="unsupported")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with an adapter, one that cannot get ready, and a table with an empty row of somebody else's stack."""
    shutil.copy(Path(__file__).with_name("my_refund.py"), tmp_path)
    (tmp_path / "unfit.py").write_text(UNFIT, "utf-8")
    write(tmp_path / "measured.csv", [Row(stack="somebody-else", kind="cell")])
    return tmp_path


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([CELL], []),
        ([CELL, LACKING], []),
        ([CELL, EMPTY], ["a: 1 of 2 cells have no trial: no server"]),
        ([CELL, CHECK], ["a: the check 'forks' was not run: no server"]),
    ],
)
def test_what_was_not_measured_is_said_with_its_reason(rows: list[Row], said: list[str]):
    assert left_out(rows) == said


def test_what_could_not_be_run_this_time_stays_as_it_was_measured():
    before = Row(stack="a", kind="check", name="forks", trials=1, outcome="pass", seen="it did")
    assert replaced([before], [CHECK], ["a"]) == [before]
    again = Row(stack="a", kind="check", name="forks", trials=1, outcome="fail", seen="it did not")
    assert replaced([before], [again], ["a"]) == [again] == replaced([CHECK], [again], ["a"])


def test_a_survey_fails_only_for_what_it_was_asked_for(place: Path):
    asked = ("survey", "--out", "measured.csv", "--repeat", "1")
    done = really(*asked, "--stack", "my_refund:adapter", cwd=place)
    assert (done.returncode, done.stderr) == (0, ""), "of the other stack nobody asked"
    rows = read(place / "measured.csv")
    assert {row.stack for row in rows} == {"somebody-else", "my_refund:adapter"}
    if DEFAULT_MODE != "zygote":
        pytest.skip(reason="prepare is called before a fork; here every process is a new one")
    done = really(*asked, "--stack", "unfit:adapter", cwd=place)
    why = "unfit:adapter: prepare raised RuntimeError: no licence (unfit.py:7)"
    assert (done.returncode, done.stderr) == (1, f"labkit: left out: {why}\n")
    assert read(place / "measured.csv") == rows
