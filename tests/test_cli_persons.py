"""What the command line promises a person who decides: ids to copy, commands to paste, plain refusals."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from command import answer, labkit, refused

MAIL = "acme/refund/refund-17/5.send_mail"


def digest(folder: Path) -> dict[str, str]:
    """Every file below a folder, and what is in it."""
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a mail in doubt (17, acme), a run that waits for a manager (18, globex) and a completed one."""
    path = tmp_path_factory.mktemp("my labs") / "lab.db"
    assert labkit("run", "--crash", "W3", "--effect", "send_mail", "--db", path).exit_code == 0
    assert labkit("run", "--case", "18", "--no-approve", "--db", path).exit_code == 0
    assert labkit("run", "--case", "20", "--db", path).exit_code == 0
    return path


@pytest.mark.parametrize("columns", ["20", "80"])
def test_ids_and_keys_are_never_broken_however_narrow_the_terminal(columns: str, db: Path, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    for command in (("effects", "refund-17"), ("runs",), ("outside",)):
        shown = labkit(*command, "--db", db).stdout
        for row in answer(labkit(*command, "--db", db, "--json"))[command[0]]:
            for name in ("effect_key", "run_id", "receipt_id", "status"):
                assert row.get(name, "") in shown, f"{command[0]}: {name} is broken at {columns} columns"
    assert f"AMBIGUOUS {MAIL}" in labkit("run", "--db", db).stdout or columns == "20"


def test_the_next_commands_stand_alone_on_their_lines_and_can_be_pasted(db: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "40")
    file = f"--db '{db}'"
    *_, said = labkit("run", "--db", db).stdout.partition("\nnext:\n")
    go_on = f"labkit run refund --run-id refund-17 {file}"
    assert said.splitlines() == [f"labkit outside {file}", f"labkit resolve {MAIL} {file} --verdict ...", go_on]
    assert f"\nlabkit resolve {MAIL} {file} --verdict ...\n" in labkit("effects", "refund-17", "--db", db).stdout


def test_what_happened_outside_is_shown_and_nothing_is_touched(db: Path):
    before = digest(db.parent)
    told = labkit("outside", "--db", db).stdout
    entries = answer(labkit("outside", "--db", db, "--json"))["outside"]
    assert digest(db.parent) == before
    mails = [each["receipt_id"] for each in entries if each["subject"] == "refund-17/5.send_mail"]
    assert len(mails) == 1 and mails[0] in told
    assert {each["kind"] for each in entries} == {"activity", "effect"}
    assert "refund 49.90 EUR" in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "--case", "20", "--crash", "W3"), "refund-20 is completed"),
        (("run", "--case", "21", "--run-id", "refund-20"), "begun with inputs case:20, not case:21"),
        (("run", "--case", "21", "--run-id", "refund-17", "--crash", "W3"), "begun with inputs case:17, not case:21"),
        (("cancel", "refund-20"), "only an open run can be cancelled"),
        (("approve", "refund-20", "--verdict", "rejected"), "labkit run --run-id refund-20"),
        (("approve", "refund-18", "--verdict", "edited"), "no changes were given"),
        (("approve", "refund-18", "--verdict", "edit"), "did you mean edited?"),
        (("resolve", MAIL, "--verdict", "confirm"), "did you mean confirmed?"),
        (("resolve", MAIL, "--verdict", "confirmed"), "needs a receipt"),
        (("resolve", MAIL, "--verdict", "not-done", "--receipt", "mail-1"), "not-done has no receipt: 'mail-1'"),
        (("resolve", "nosuch", "--verdict", "not-done"), "labkit effects RUN"),
    ],
)
def test_what_does_not_fit_a_run_is_refused_in_words_of_the_command_line(arguments, said: str, db: Path):
    before = answer(labkit("runs", "--db", db, "--json"))
    told = refused(labkit(*arguments, "--db", db))
    assert said in told and "lab.effects(" not in told
    assert answer(labkit("runs", "--db", db, "--json")) == before


def test_a_run_of_any_tenant_is_killed_by_its_id_alone(tmp_path: Path):
    db = tmp_path / "lab.db"
    labkit("run", "--case", "18", "--no-approve", "--db", db)
    found = answer(labkit("run", "--run-id", "refund-18", "--crash", "W3", "--db", db, "--json"))
    assert found["killed"][0]["window"] == "W3" and found["run"]["input_refs"] == ["case:18"]


def test_an_empty_table_is_a_sentence(db: Path):
    told = labkit("runs", "--tenant", "nosuch", "--db", db).stdout
    assert " ".join(told.split()) == f"{db} holds no run of tenant nosuch"  # broken between words, if at all
    assert "refund-18 has planned no effect" in labkit("effects", "refund-18", "--db", db).stdout


def test_a_report_names_its_inputs_and_its_file_never_replaces_another(tmp_path: Path):
    mine, found = tmp_path / "mine.txt", tmp_path / "found.json"
    mine.write_text("mine", "utf-8")
    asked = ("explore", "--policy", "bare", "--engine", "snapshot", "--case", "30")
    assert "is there already" in refused(labkit(*asked, "--out", mine)) and mine.read_text("utf-8") == "mine"
    for _ in range(2):  # its own file it may replace
        assert answer(labkit(*asked, "--out", found, "--json"), code=1)["inputs"] == {"case": 30}
    assert "inputs: case 30" in labkit(*asked).stdout
    safe = labkit("explore", "--policy", "ledger", "--provider", "dedup", "--out", tmp_path / "none.json")
    assert "none.json was not written" in " ".join(safe.stdout.split()) and not (tmp_path / "none.json").exists()
