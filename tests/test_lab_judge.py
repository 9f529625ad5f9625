"""A prediction is compared with what was seen, in plain words, whatever was written."""

from __future__ import annotations

import pytest

from labkit.lab.judge import judged


@pytest.mark.parametrize(
    ("prediction", "seen"),
    [
        (23, 23),
        ("23", 23),
        (" 23.0 ", 23),
        ("twice", 2),
        ("Twice", "twice"),
        (2, "twice"),
        ("YES", "yes"),
        (True, "yes"),
        ("1,000", 1000),
        ("99,80", 99.8),
    ],
)
def test_a_right_prediction_is_called_right(prediction, seen):
    assert judged(prediction, seen) == f"You said {str(prediction).strip()}, and so it was."


def test_a_wrong_prediction_is_told_with_what_was_seen():
    assert judged(0, 23) == "You said 0; it was 23."
    assert judged("never", "twice") == "You said never; it was twice."
    assert judged(1234567, 1234568) == "You said 1234567; it was 1234568."
    assert judged(["a", {}], 2) == "You said ['a', {}]; it was 2."


@pytest.mark.parametrize("nothing", ["?", " ? ", "", None])
def test_no_prediction_is_said_kindly(nothing):
    assert judged(nothing, 5).startswith("It was 5. You have not predicted it")


def test_several_predictions_are_judged_one_by_one():
    seen = {"W1": 1, "W3": 2, "W5": 1}
    told = judged({"W1": 1, "W3": "once", "W9": 7}, seen).splitlines()
    assert told[:2] == ["W1: You said 1, and so it was.", "W3: You said once; it was 2."]
    assert told[2].startswith("W5: It was 1. You have not predicted it")
    assert len(judged("?", seen).splitlines()) == 3
