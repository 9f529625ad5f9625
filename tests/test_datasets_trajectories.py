"""What the recorded trajectories in datasets/ promise to those who read them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).resolve().parent.parent / "datasets"
TRAJECTORIES = ("trajectory_refund_desk.jsonl", "trajectory_travel.jsonl")


def runs(name: str) -> list[dict[str, Any]]:
    """The recorded runs in a trajectory file."""
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def messages(run: dict[str, Any]) -> list[list[tuple[str, str]]]:
    """For each message of a run, name and arguments of the tool calls in it."""
    functions = [[call["function"] for call in message.get("tool_calls", [])] for message in run["messages"]]
    return [[(function["name"], function["arguments"]) for function in together] for together in functions]


def calls(run: dict[str, Any]) -> list[tuple[str, str]]:
    """Name and arguments of each tool call of a run, in order."""
    return [call for together in messages(run) for call in together]


@pytest.mark.parametrize("name", TRAJECTORIES)
def test_every_recorded_call_has_its_result_right_after_it(name: str) -> None:
    used: list[str] = []
    for run in runs(name):
        waiting: dict[str, str] = {}
        for message in run["messages"]:
            assert message["role"] in ("system", "user", "assistant", "tool")
            if message["role"] == "tool":
                assert waiting.pop(message["tool_call_id"]) == message["name"]
            else:
                assert not waiting, f"{run['id']}: no result for {waiting}"
            for call in message.get("tool_calls", []):
                assert isinstance(json.loads(call["function"]["arguments"]), dict)
                waiting[call["id"]] = call["function"]["name"]
                used.append(call["id"])
        assert not waiting
    assert len(set(used)) == len(used) > 0


def test_the_refund_desk_fails_once_in_parallel_and_once_without_an_answer() -> None:
    one, two, three = runs(TRAJECTORIES[0])
    assert [name for name, _ in calls(one)] == ["get_order", "get_policy", "ask_manager", "issue_refund", "send_mail"]
    assert ["issue_refund", "send_mail"] in [[name for name, _ in together] for together in messages(two)]
    for run, error in ((two, "more than"), (three, "not known whether")):
        failed = [m for m in run["messages"] if m["role"] == "tool" and m["content"].startswith("Error:")]
        assert any(m["name"] == "issue_refund" and error in m["content"] for m in failed)


def test_each_travel_run_books_twice_with_different_arguments() -> None:
    for run in runs(TRAJECTORIES[1]):
        bookings = [arguments for name, arguments in calls(run) if name == "book_hotel"]
        assert len(bookings) == len(set(bookings)) == 2
    cancelled = [run["id"] for run in runs(TRAJECTORIES[1]) if "cancel_hotel" in dict(calls(run))]
    assert cancelled == ["travel-2", "travel-3"]


@pytest.mark.parametrize("name", TRAJECTORIES)
def test_the_datasheet_counts_runs_and_calls(name: str) -> None:
    made = sum(len(calls(run)) for run in runs(name))
    sheet = (DATA / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"`{name}` \| {len(runs(name))} recorded runs .*, {made} tool calls", sheet)
