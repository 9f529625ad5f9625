"""The board of what waits for a person: both sides are shown, and its buttons decide in the lab."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab, refund
from labkit.model import Context, State, Workflow
from labkit.widgets import WaitingBoard


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """A lab in which one run asks its manager, and a mail may or may not have been sent."""
    with Lab(tmp_path / "lab.db", policy="ledger") as lab:
        lab.start(refund, case=12)
        killed = lab.kill(refund, case=17, at="W3", effect="send_mail")
        lab.resume(killed.run_id, approve=True)
        yield lab


def press(board: WaitingBoard, **message: str) -> str:
    """Press a button as the page does; return what the board says then."""
    board._asked(board, message, [])
    return board.said


def shown(board: WaitingBoard, run: str) -> dict[str, Any] | None:
    return next((each for each in board.data["runs"] if each["run"] == run), None)


def test_the_board_shows_both_sides_and_what_is_safe(lab: Lab):
    runs = WaitingBoard(lab).data["runs"]
    assert [(each["run"], each["status"]) for each in runs] == [
        ("refund-17", "waiting_for_person"),
        ("refund-12", "waiting_for_approval"),
    ]
    mail, paid = runs[0]["effects"]
    assert (mail["status"], mail["outside"], mail["receipts"]) == ("ambiguous", ["send → mail-1"], ["mail-1"])
    assert "say that it happened" in mail["safe"] and [each["do"] for each in mail["actions"] if each["main"]] == [
        "happened"
    ]
    assert (paid["status"], [each["do"] for each in paid["actions"]]) == ("confirmed", ["compensate"])
    assert runs[1]["question"]["text"].startswith("refund 24.90 CHF")


def test_what_happened_is_resolved_and_the_run_goes_on_without_a_second_mail(lab: Lab):
    board = WaitingBoard(lab)
    key = board.data["runs"][0]["effects"][0]["key"]
    assert "needs a receipt" in press(board, do="happened", run="refund-17", key=key, given="")
    assert press(board, do="happened", run="refund-17", key=key, given="mail-1") == "refund-17 can go on now"
    assert press(board, do="resume", run="refund-17", key="", given="") == "refund-17 is completed now"
    assert shown(board, "refund-17")["settled"]
    press(board, do="refresh")
    assert shown(board, "refund-17") is None and list(lab.provider().operation).count("send") == 1


def test_a_wrong_answer_is_called_unsafe_and_the_second_effect_stays_in_sight(lab: Lab):
    board = WaitingBoard(lab)
    key = board.data["runs"][0]["effects"][0]["key"]
    press(board, do="not-done", run="refund-17", key=key, given="")
    mail = next(each for each in shown(board, "refund-17")["effects"] if each["key"] == key)
    assert mail["at_risk"] and mail["by_person"] and "a second time" in mail["safe"]
    assert "NOT SAFE: Our ledger says that it was never done" in board.to_text()
    press(board, do="resume", run="refund-17", key="", given="")
    mail = next(each for each in shown(board, "refund-17")["effects"] if each["key"] == key)
    assert mail["receipts"] == ["mail-1", "mail-2"] and mail["at_risk"] and "2 times" in mail["safe"]
    press(board, do="refresh")
    assert shown(board, "refund-17") is None


def test_an_approval_a_change_and_a_rejection_reach_the_lab(lab: Lab):
    board = WaitingBoard(lab)
    assert "are no JSON object" in press(board, do="edit", run="refund-12", key="", given="20.00")
    assert lab.run("refund-12").status == "waiting_for_approval"
    press(board, do="edit", run="refund-12", key="", given='{"amount": "20.00"}')
    press(board, do="resume", run="refund-12", key="", given="")
    assert lab.provider().query("operation == 'refund'").request.iloc[-1]["amount"] == "20.00"


def test_a_cancelled_run_stays_on_the_board_until_its_effect_is_undone(lab: Lab):
    board = WaitingBoard(lab)
    press(board, do="cancel", run="refund-17", key="", given="")
    mail, paid = shown(board, "refund-17")["effects"]
    press(board, do="compensate", run="refund-17", key=paid["key"], given="")
    assert "compensation" in list(lab.provider().kind)
    press(board, do="not-done", run="refund-17", key=mail["key"], given="")
    press(board, do="refresh")
    assert shown(board, "refund-17") is None


def test_what_the_board_does_not_offer_is_refused(lab: Lab):
    board = WaitingBoard(lab)
    for message in (
        {"do": "resume", "run": "refund-12"},
        {"do": "compensate", "run": "refund-17"},
        {"do": "__class__"},
    ):
        assert "the board offers no" in press(board, **message)
    assert {each["status"] for each in board.data["runs"]} == {"waiting_for_person", "waiting_for_approval"}


def test_a_run_whose_code_is_not_known_is_shown_with_what_to_type(tmp_path: Path):
    flow: Workflow[State] = Workflow("own", version="1", state=State, begin=State)

    def ask(ctx: Context, state: State) -> None:
        ctx.approval("boss", "go on?")

    flow.step(ask)
    with Lab(tmp_path / "lab.db") as lab:
        lab.start(flow, run_id="own-1")
    with Lab(tmp_path / "lab.db") as lab:
        (run,) = WaitingBoard(lab).data["runs"]
    assert run["run"] == "own-1" and "workflows=[your_workflow]" in run["problem"] and not run["actions"]
