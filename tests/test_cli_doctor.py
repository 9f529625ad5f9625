"""What `labkit doctor` says, and when it fails."""

from __future__ import annotations

import pytest
from command import answer, labkit


def test_doctor_breaks_no_path_in_the_middle_of_a_name(monkeypatch: pytest.MonkeyPatch):
    from labkit.doctor import Check

    path = "/".join(["", *(f"folder-{number}" for number in range(20)), "postgres"])
    monkeypatch.setattr("labkit.doctor.checks", lambda: [Check("Postgres", True, f"the wheel: {path}", "")])
    monkeypatch.setenv("COLUMNS", "80")
    lines = labkit("doctor").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    pieces = [line.split()[-1] for line in lines[2:] if line.strip()]
    assert path in "".join(pieces) and all(piece.endswith(("/", "postgres", ":")) for piece in pieces), pieces


def test_doctor_fails_only_when_something_needed_is_missing(monkeypatch: pytest.MonkeyPatch):
    from labkit.doctor import Check

    rows = [Check("a", True, "1", ""), Check("b", False, "none", "get it", needed=False)]
    monkeypatch.setattr("labkit.doctor.checks", lambda: rows)
    assert [check["name"] for check in answer(labkit("doctor", "--json"))["checks"]] == ["a", "b"]
    rows.append(Check("c", False, "none", "get c"))
    failed = labkit("doctor")
    assert failed.exit_code == 1 and "MISSING" in failed.stdout and "get c" in failed.stdout
