"""What the command line promises: stable commands, errors that help, exit codes that mean something."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
import typer
from command import answer, labkit, really, refused

from labkit.cli.app import COMMANDS, build
from labkit.cli.deciding import EXAMPLE

ROOT = Path(__file__).resolve().parent.parent
NAMES = [command.__name__.replace("_", "-") for _, commands in COMMANDS for command in commands]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_explains_itself(name: str):
    command = typer.main.get_command(build()).commands[name]
    assert len(command.help or "") > 20
    for parameter in command.params:
        assert len(getattr(parameter, "help", None) or "") > 10, f"labkit {name}: {parameter.name} has no help text"
    assert labkit(name, "--help").exit_code == 0


@pytest.mark.parametrize("name", NAMES)
def test_every_command_stands_in_the_readme(name: str):
    readme = ROOT / "README.md"
    if not readme.exists():
        pytest.skip(reason="README.md is not written yet")
    rows = [line.split("|")[1] for line in readme.read_text("utf-8").splitlines() if line.startswith("| `labkit ")]
    assert any(re.search(rf"[` ]{name}[` ]", row) for row in rows), f"labkit {name} is missing in README.md, Commands"


def test_help_imports_nothing_that_is_slow():
    code = "import labkit.cli.app as a, sys; a.build(); sys.exit(bool({'pandas', 'apsw', 'httpx'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "refnd"), "refund"),
        (("run", "--engine", "snapshit"), "did you mean snapshot?"),
        (("run", "--provider", "dedupe"), "did you mean dedup?"),
        (("run", "--case", "9999"), "cases run from 1 to"),
        (("run", "--input", "casus"), "NAME=VALUE"),
        (("run", "--crash", "execute_refnd/call:after"), "execute_refund/call:after#1"),
        (("run", "--crash", "here"), "neither a window"),
        (("run", "--crash", "W3", "--no-resume"), "--db FILE"),
        (("run", "no_such_module:flow"), "cannot be imported"),
        (("run", "./my:flow"), "next: my:flow"),
        (("matrix", "--workflow", "desk/my.py:flow"), "next: desk.my:flow"),
        (("run", ":flow"), "names no module"),
        (("run", ""), "names no module"),
        (("explore", "--engine", ""), "there is no engine ''"),
        (("run", "labkit.cases.refund:RefundState"), "labkit.cases.refund has refund"),
        (("survey", "--out", "no/such.csv", "--stack", "bare"), "there is no folder no"),
        (("bench", "--stack", "bare-sav"), "did you mean bare-saved"),
        (("matrix", "--policy", "leger"), "did you mean ledger?"),
        (("bench", "--engine", "hybrd"), "did you mean hybrid?"),
        (("explore", "--policy", "bar"), "did you mean bare?"),
        (("replay", "missing.json"), "is not a counterexample"),
        (("runs", "--db", "missing.db"), "there is no database"),
        (("trajectory", "missing.jsonl", "--effect", "book"), "missing.jsonl"),
        (("taps", "--engine", "none"), "expected one of"),
        (("run", "--case", "17", "--input", "case=18"), "the input case is given twice"),
        (("bench", "--input", "case=17", "--input", "case=17"), "the input case is given twice"),
        (("matrix", "refund", "--workflow", "other"), "two workflows were named"),
        (("matrix", "--case", "270"), "case 270 is refused"),
        (("interleave", "--case", "270"), "case 270 is refused"),
        (("explore", "--out", "no/such/found.json"), "there is no folder no/such"),
        (("bench", "--out", "."), "is a folder"),
        (("run", "--db", "no/such/lab.db"), "there is no folder no/such"),
        (("runs", "--db", "no/such/lab.db"), "there is no folder no/such"),
        (("run", "--db", "."), "is a folder"),
        (("runs", "--db", "."), "is a folder"),
        (("run", "--db", ":memory:"), "keeps nothing"),
    ],
)
def test_bad_input_is_refused_with_what_to_type(arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = refused(labkit(*arguments, *([] if arguments[0] in ("replay", "runs", "survey") else ["--json"])))
    assert said in told and told.count("next:") <= 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("code", "said"),
    [("x = 1\ndef (", "broken_flow.py:2: SyntaxError"), ("x = 1\n\nx / 0", "broken_flow.py:3: ZeroDivisionError")],
)
def test_own_code_that_cannot_be_imported_is_named_with_its_line(code: str, said: str, tmp_path: Path):
    (tmp_path / "broken_flow.py").write_text(code, "utf-8")
    done = really("matrix", "broken_flow:flow", cwd=tmp_path)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr


def test_a_terminal_that_knows_ascii_only_is_served(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    done = really("run", "--crash", "W3")
    assert done.returncode == 0, done.stderr
    assert "payments-1" in done.stdout and done.stderr == ""


@pytest.mark.parametrize("name", ["run", "taps", "matrix", "bench", "explore", "interleave"])
def test_the_workflow_has_the_same_two_places_in_every_command(name: str):
    command = typer.main.get_command(build()).commands[name]
    places = [option for parameter in command.params for option in parameter.opts]
    assert places[0] == "workflow" and "--workflow" in places


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (
            OSError(28, "No space left on device", "report.json"),
            2,
            "labkit: report.json: No space left on device\nnext: see to that, ",
        ),
        (apsw.FullError("database or disk is full"), 2, "as far as the file is sound\nnext: keep a copy "),
        (RuntimeError("a defect"), 70, "RuntimeError: a defect\n"),
    ],
)
def test_an_error_from_below_is_told_and_never_looks_like_a_failed_check(error, code, said, monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("labkit.matrix.matrix", fail)
    done = labkit("matrix", "--json")
    assert done.exit_code == code and said in done.stderr and done.stdout == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_is_told_in_one_sentence():
    assert "the disk is full" in refused(labkit("run", "--db", "/dev/full"))


def test_a_locked_database_is_called_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "lab.db"
    assert labkit("run", "--no-approve", "--db", path).exit_code == 0
    monkeypatch.setattr("labkit.store.sqlite.BUSY", 10)
    other = apsw.Connection(str(path))
    try:
        other.execute("BEGIN EXCLUSIVE")
        assert "locked" in refused(labkit("run", "--db", path))
    finally:
        other.close()


def test_a_folder_that_cannot_be_written_is_called_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def cannot(*_: object, **__: object) -> None:
        raise apsw.CantOpenError("unable to open database file")

    (tmp_path / "lab.db").touch()
    monkeypatch.setattr("labkit.store.sqlite.apsw.Connection", cannot)
    may = os.access
    monkeypatch.setattr("os.access", lambda path, mode: path != tmp_path and may(path, mode))
    assert "read-only" in refused(labkit("runs", "--db", tmp_path / "lab.db"))


def test_a_mistyped_command_or_option_suggests_the_nearest():
    assert "'matrix'" in refused(labkit("matrx"))
    assert "--input" in refused(labkit("run", "--inpt", "a=1"))


def test_decide_says_what_a_new_process_may_do():
    assert labkit("decide", "--selftest").stdout == (
        "execute=true reconcile=true advance=true missing_key_stopped=true\n"
    )
    names = ("execute", "reconcile", "advance", "missing_key_stopped")
    assert answer(labkit("decide", "--selftest", "--json")) == dict.fromkeys(names, True)
    example = labkit("decide", "--example").stdout
    for checkpoint in (example, "\ufeff" + example):  # some editors put a mark before the first byte
        assert answer(labkit("decide", "--json", stdin=checkpoint)) == {"action": "reconcile"}
    without_key = json.dumps({**EXAMPLE, "effect_key": ""})
    assert answer(labkit("decide", "--json", stdin=without_key)) == {"action": "stop"}


def test_the_selftest_fails_when_a_decision_does(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("labkit.effects.decision.decide", lambda checkpoint: "execute")
    failed = labkit("decide", "--selftest")
    assert failed.exit_code == 1 and "reconcile=false" in failed.stdout
    assert answer(labkit("decide", "--selftest", "--json"), code=1)["reconcile"] is False


@pytest.mark.parametrize("field", list(EXAMPLE))
def test_a_malformed_checkpoint_is_refused_and_the_field_named(field: str):
    missing = {name: value for name, value in EXAMPLE.items() if name != field}
    for checkpoint in (missing, {**EXAMPLE, field: ["not", "this"]}):
        assert field in refused(labkit("decide", "--json", stdin=json.dumps(checkpoint)))


@pytest.mark.parametrize("body", ["", "{", "[]", "null", '{"status": "running", "surprise": 1}', "\udcff"])
def test_what_is_no_checkpoint_is_refused(body: str):
    done = subprocess.run(
        [sys.executable, "-c", "from labkit.cli import main; main()", "decide", "--json"],
        input=body.encode("utf-8", "surrogateescape"),
        capture_output=True,
    )
    assert done.returncode == 2 and done.stdout == b"" and b"not a checkpoint" in done.stderr


def test_an_empty_input_is_called_empty_and_a_terminal_is_told_what_is_awaited():
    assert "the input is empty" in refused(labkit("decide", stdin=""))
    pty = pytest.importorskip("pty", reason="this system has no pseudo terminals")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from labkit.cli import main; main()", "decide"]
    with subprocess.Popen(command, stdin=theirs, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr and "--example" in process.stderr.readline()
            os.write(ours, b"\x04")
            assert process.wait(30) == 2
        finally:
            process.kill()
            os.close(ours)
            os.close(theirs)


def test_an_interruption_says_so_and_exits_with_130(monkeypatch: pytest.MonkeyPatch):
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("labkit.matrix.matrix", interrupt)
    done = labkit("matrix", "--json")
    assert done.exit_code == 130 and "interrupted" in done.stderr and done.stdout == ""
