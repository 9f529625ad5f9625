"""Whole recordings, and what has happened in each: held against an independent reading by plain json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from command import answer, labkit

from labkit.trajectory.accidents import Happened
from labkit.trajectory.report import analyse

ROOT = Path(__file__).resolve().parent.parent
LENT = ROOT.parent / "shared"
DATASETS = [ROOT / "datasets" / f"trajectory_{name}.jsonl" for name in ("refund_desk", "travel")]
READS = ("calculate", "get_", "list_", "search_", "think", "transfer_", "ask_", "close_", "find_")
CUT, ANSWERED = "Tool execution was cancelled.", '{"status": "done"}'
# Two runs made up: a batch that was interrupted and issued again, and one effect written in many ways.
BATCH = [
    ("1", [("pay", {"order": "A", "amount": "49.00"}, CUT), ("mail", {"to": "a"}, CUT), ("get_order", {}, "x")]),
    ("2", [("pay", {"amount": 49, "order": "A"}, ANSWERED), ("mail", {"to": "a"}, ANSWERED), ("get_order", {}, "x")]),
    ("3", [("pay", {"order": "B", "amount": "49.00"}, ANSWERED), ("mail", {"to": "b"}, ANSWERED)]),
]
WAYS: list[Any] = [7, "7.0", " 7 ", "07", True, [7], ["7"], "seven", 7.5]
FORMS = [(str(number), [("pay", {"n": way}, ANSWERED)]) for number, way in enumerate(WAYS)]
FILES = {"airline": 4, "refund_desk": 0, "travel": 0, "batch": 2, "forms": 4}  # pairs of equal effects


def lent(path: Path) -> Path:
    """A file that is lent to the tests; they are skipped by name where it is absent."""
    if not path.is_file():
        pytest.skip(f"{path.name} is not beside the project: it is kept outside and lent to its tests")
    return path


def written(folder: Path, name: str, turns: list[tuple[str, list[tuple[str, dict[str, Any], str]]]]) -> Path:
    """A recording with these turns, each of several calls with their results."""
    messages: list[dict[str, Any]] = []
    for turn, calls in turns:
        asked = [
            {"id": f"{turn}-{nth}", "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
            for nth, (tool, arguments, _) in enumerate(calls)
        ]
        messages.append({"role": "assistant", "content": None, "tool_calls": asked})
        messages += [
            {"role": "tool", "tool_call_id": f"{turn}-{nth}", "content": result}
            for nth, (_, _, result) in enumerate(calls)
        ]
    file = folder / f"{name}.jsonl"
    file.write_text(json.dumps({"id": name, "messages": messages}), "utf-8")
    return file


def plainly(path: Path) -> Iterator[tuple[str, str, str, Any]]:
    """An independent reading, by nothing but json: run, place, tool and arguments of each call."""
    for line in path.read_text("utf-8").splitlines():
        record = json.loads(line)
        for number, message in enumerate(record["messages"]):
            for nth, call in enumerate(message.get("tool_calls") or []):
                arguments = json.loads(call["function"]["arguments"])
                yield record["id"], f"messages[{number}].tool_calls[{nth}]", call["function"]["name"], arguments


def equivalent(one: Any, other: Any) -> bool:
    """Equal as json is, or as numbers written differently."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equivalent(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equivalent, one, other))
    if isinstance(one, bool | list | dict | None) or isinstance(other, bool | list | dict | None):
        return one is other
    one, other = str(one).strip(), str(other).strip()
    if one[:1] == "0" or other[:1] == "0":
        return bool(one == other)
    try:
        return float(one) == float(other)
    except ValueError:
        return bool(one == other)


def pairs(happened: Happened) -> set[tuple[str, str, str]]:
    """Every two calls that are one effect, by run and place."""
    return {
        (happened.trajectory, *sorted((one.place, other.place)))
        for each in happened.repeated
        for one, other in combinations(each.calls, 2)
    }


@pytest.mark.parametrize("name", FILES)
def test_every_pair_of_equal_effects_is_found_and_none_invented(name: str, tmp_path: Path) -> None:
    made = {"batch": BATCH, "forms": FORMS}
    if name in made:
        path = written(tmp_path, name, made[name])
    else:
        path = lent(LENT / "trajectories/airline.jsonl") if name == "airline" else DATASETS[name == "travel"]
    calls = [call for call in plainly(path) if not call[2].startswith(READS)]
    expected = {
        (one[0], *sorted((one[1], other[1])))
        for one, other in combinations(calls, 2)
        if one[0] == other[0] and one[2] == other[2] and equivalent(one[3], other[3])
    }
    report = analyse([path], {call[2] for call in calls}, ["snapshot"], ["bare"])
    assert set().union(*map(pairs, report.happened)) == expected
    assert len(expected) == FILES[name], "the file was read, and holds what it held when this was written"
    assert not any(run.duplicates or run.strays or run.not_made for run in report.happened)


RIGHT = {  # calls in doubt, effects asked for twice, results of no call, calls never made
    "r1_chat_cut.jsonl": (1, 0, 0, 0),
    "r1_responses_items.jsonl": (1, 0, 0, 0),
    "r3_anthropic.jsonl": (0, 0, 0, 0),
    "r3_langgraph.jsonl": (0, 0, 0, 0),
    "r5_dup_pending.jsonl": (2, 0, 0, 0),
    "r6_replanned.jsonl": (1, 1, 0, 0),
    "r8_placeholder.jsonl": (2, 1, 0, 0),
    "r9_badargs.jsonl": (0, 0, 0, 1),
    "r9_bare_array.json": (1, 1, 0, 0),
    "r9_pretty.json": (1, 1, 0, 0),
}


@pytest.mark.parametrize("name", RIGHT)
def test_the_command_opens_with_what_has_happened_and_says_valid_of_nothing_open(name: str) -> None:
    file = lent(LENT / "recordings" / name)
    (happened,) = answer(labkit("trajectory", file, "--json"))["happened"]
    kinds = ("in_doubt", "repeated", "strays", "not_made")
    assert tuple(len(happened[kind]) for kind in kinds) == RIGHT[name]
    named = ["--effect", "issue_refund", *(["--effect", "delete_account"] if name.startswith("r5") else [])]
    on = ["--engine", "hybrid", "--policy", "ledger", "--provider", "dedup", "--json"]
    (row,) = answer(labkit("trajectory", file, *named, *on))["rows"]
    doubtful = any(RIGHT[name][:3])
    assert (row["verdict"], bool(row["reasons"])) == ("unknown" if doubtful else "valid", doubtful)
    told = labkit("trajectory", file).stdout
    assert told.startswith("What has happened") and "Tools called: " in told
    assert ("In doubt now" in told, "Twice in one run" in told, "Never made" in told) == (
        bool(RIGHT[name][0]),
        bool(RIGHT[name][1]),
        bool(RIGHT[name][3]),
    )
