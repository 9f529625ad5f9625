"""Recordings after public bug reports, and those lent to the tests: each gives its right answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.trajectory.model import Trajectory
from labkit.trajectory.read import read

HERE = Path(__file__).resolve().parent
OWN = HERE / "recordings"
LENT = HERE.parent.parent / "shared/recordings"

ANSWERED, FAILED, TIMED_OUT = "answered", "failed", "timed out"
PLACEHOLDER, UNANSWERED, UNCLEAR, NOT_MADE = "placeholder", "unanswered", "unclear", "not made"
Right = tuple[list[tuple[str, str]], int]
"""Name and outcome of each call in order, and how many results belong to none."""
RIGHT: dict[str, Right] = {
    "langgraph_rerun.json": ([("issue_refund", ANSWERED)], 1),
    "langchain_aws_patched.jsonl": ([("issue_refund", PLACEHOLDER)], 0),
    "agents_python_pruned.jsonl": ([("send_mail", ANSWERED)], 1),
    "agents_js_resumed.json": ([("issue_refund", UNCLEAR)] * 2, 0),
    "ai_sdk_aborted.json": ([("get_order", ANSWERED), ("issue_refund", UNANSWERED), ("send_mail", NOT_MADE)], 0),
    "ai_sdk_same_id.jsonl": ([("issue_refund", UNCLEAR)] * 2, 0),
    "pydantic_ai_one_approval.json": ([("issue_refund", UNANSWERED), ("delete_account", ANSWERED)], 0),
    "openhands_recovered.jsonl": ([("terminal", UNCLEAR)], 1),
    "openhands_stopped": ([("execute_bash", FAILED), ("execute_bash", UNANSWERED)], 0),
    "litellm_result_twice.jsonl": ([("issue_refund", ANSWERED)], 1),
    "litellm_both_forms.jsonl": ([("issue_refund", ANSWERED)], 0),
    "strands_stopped.jsonl": ([("issue_refund", UNANSWERED)], 0),
    "crewai_bad_json.jsonl": ([("run_code", NOT_MADE), ("get_order", ANSWERED)], 0),
    "crewai_task_retry.jsonl": ([("issue_refund", TIMED_OUT), ("issue_refund", ANSWERED)], 0),
    "claude_code_no_result.jsonl": ([("run_tests", ANSWERED), ("publish", UNANSWERED)], 0),
    "agno_retried.jsonl": ([("charge_card", ANSWERED)] * 2, 0),
    "qwen_code_id_again.jsonl": ([("get_order", ANSWERED), ("issue_refund", ANSWERED)], 0),
    "oh_my_pi_late_result.jsonl": ([("get_order", UNCLEAR), ("issue_refund", UNCLEAR)], 0),
    "nanobot_parallel.jsonl": ([("grep", ANSWERED)] * 2, 0),
    "kagent_trace.json": ([("restart", ANSWERED), ("page_owner", UNANSWERED)], 0),
}
REPLANNED: Right = ([("issue_refund", TIMED_OUT), ("issue_refund", ANSWERED)], 0)
LENT_RIGHT: dict[str, Right] = {
    "r1_chat_cut.jsonl": ([("issue_refund", UNANSWERED)], 0),
    "r1_responses_items.jsonl": ([("issue_refund", UNANSWERED)], 0),
    # The table beside these two says that the result is missing; the files hold it, and what is there is what is read.
    "r3_anthropic.jsonl": ([("issue_refund", ANSWERED)], 0),
    "r3_langgraph.jsonl": ([("issue_refund", ANSWERED)], 0),
    "r5_dup_pending.jsonl": ([("issue_refund", UNCLEAR), ("delete_account", UNCLEAR)], 0),
    "r6_replanned.jsonl": REPLANNED,
    "r8_placeholder.jsonl": ([("issue_refund", PLACEHOLDER)] * 2, 0),
    "r9_badargs.jsonl": ([("issue_refund", NOT_MADE), ("issue_refund", ANSWERED)], 0),
    "r9_bare_array.json": REPLANNED,
    "r9_pretty.json": REPLANNED,
}


def told(trajectory: Trajectory) -> Right:
    """What was read."""
    return [(call.name, call.outcome) for call in trajectory.calls], len(trajectory.strays)


@pytest.mark.parametrize("name", sorted(RIGHT))
def test_a_recording_after_a_public_report_gives_its_right_answer(name: str) -> None:
    (found,) = read(OWN / name)
    assert told(found) == RIGHT[name]
    assert all(call.notes for call in found.calls if call.outcome == UNCLEAR)


def test_every_recording_has_a_row_in_the_table_and_an_answer() -> None:
    names = {path.name for path in OWN.iterdir()} - {"README.md"}
    rows = (OWN / "README.md").read_text("utf-8").split("\n| `")[1:]
    assert names == set(RIGHT) == {row.split("`")[0] for row in rows}
    assert len({row.split("| ")[1].split("/")[0] for row in rows}) >= 10


@pytest.mark.parametrize("name", sorted(LENT_RIGHT))
def test_a_recording_lent_to_the_tests_gives_its_right_answer(name: str) -> None:
    if not (LENT / name).is_file():
        pytest.skip(f"{name} is not beside the project: it is kept outside and lent to its tests")
    (found,) = read(LENT / name)
    assert told(found) == LENT_RIGHT[name]


def test_a_folder_of_recordings_is_read_whole() -> None:
    found = read(OWN)
    assert sum(len(each.calls) for each in found) == sum(len(calls) for calls, _ in RIGHT.values())
    assert len(found) == len(RIGHT)
