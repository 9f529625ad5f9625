"""Whatever the shape or mixture: as many calls come out as went in, each with its own arguments and result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from abstract_runs import Made, Turns
from hypothesis import given, settings
from hypothesis import strategies as st
from shapes_written import SHAPES, mixed

from labkit.errors import InvalidInput
from labkit.trajectory.model import Trajectory
from labkit.trajectory.read import read

WORDS = st.text("abcxyz", min_size=1, max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | WORDS, lambda x: st.lists(x, max_size=2), max_leaves=3
)
CALLS = st.tuples(
    st.sampled_from(["issue_refund", "send_mail", "look"]),
    st.dictionaries(WORDS, VALUES, max_size=3),
    st.none() | st.tuples(st.sampled_from(["done", "no seat", "42", "a b"]), st.booleans()),
)


@st.composite
def runs(draw: st.DrawFn) -> tuple[Turns, list[str]]:
    """A run of one to four turns with calls of ids of their own, and a shape for each turn."""
    turns: Turns = []
    for number, turn in enumerate(draw(st.lists(st.lists(CALLS, min_size=1, max_size=3), min_size=1, max_size=4))):
        turns.append(
            [
                Made(f"call_{number}_{nth}", name, arguments, *(result or (None, False)))
                for nth, (name, arguments, result) in enumerate(turn)
            ]
        )
    return turns, draw(st.lists(st.sampled_from(sorted(SHAPES)), min_size=len(turns), max_size=len(turns)))


def read_one(folder: Path, messages: Any) -> Trajectory:
    """The one run that the reader makes of these messages."""
    file = folder / "run.json"
    file.write_text(json.dumps({"id": "run", "messages": messages}), "utf-8")
    (found,) = read(file)
    return found


def told(trajectory: Trajectory) -> list[tuple[str, str, Any, bool, str]]:
    """What was read of each call: id, name, arguments, whether it has a result, outcome."""
    return [(c.id, c.name, c.arguments, c.result is not None, c.outcome) for c in trajectory.calls]


def meant(turns: Turns) -> list[tuple[str, str, Any, bool, str]]:
    """What must be read of each call."""
    outcome = {True: "failed", False: "answered"}
    return [
        (c.id, c.name, c.arguments, c.result is not None, "unanswered" if c.result is None else outcome[c.error])
        for turn in turns
        for c in turn
    ]


@settings(max_examples=150, deadline=None)
@given(run=runs())
def test_as_many_calls_come_out_as_went_in_whatever_the_mixture(
    tmp_path_factory: pytest.TempPathFactory, run: tuple[Turns, list[str]]
) -> None:
    turns, shapes = run
    found = read_one(tmp_path_factory.getbasetemp(), mixed(turns, shapes))
    assert told(found) == meant(turns)
    assert not found.strays
    results = [call.result for turn in turns for call in turn if call.result is not None]
    read_results = [call.result for call in found.calls if call.result is not None]
    assert all(one in (other or "") for one, other in zip(results, read_results, strict=True))
    assert len({call.place for call in found.calls}) == len(found.calls)


REFUND = Made("call_1", "issue_refund", {"order": "AB-123456"}, "refunded rf_1")


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_a_file_of_one_shape_is_read_and_its_shape_named(tmp_path: Path, shape: str) -> None:
    cut = REFUND._replace(id="call_2", result=None)
    found = read_one(tmp_path, mixed([[REFUND], [cut]], [shape, shape]))
    assert told(found) == meant([[REFUND], [cut]])
    assert [call.in_doubt for call in found.calls] == [False, True]
    assert len(found.shapes) == 1 and len([turn for turn in found.turns if turn.calls]) == 2


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_a_part_or_field_that_nobody_knows_is_named_and_the_run_refused(tmp_path: Path, shape: str) -> None:
    """Every object with a kind, and every object at all that holds a call, is made unknown once."""
    messages = mixed([[REFUND]], [shape])
    for number, message in enumerate(messages[1:], 1):
        strange = json.loads(json.dumps(messages))
        strange[number]["new_calls"] = [{"tool": "issue_refund", "with": {"order": "AB-1"}}]
        inside = strange[number].get("kwargs") or strange[number].get("data")
        if inside:
            inside["new_calls"] = strange[number].pop("new_calls")
        with pytest.raises(InvalidInput, match=rf"messages\[{number}\].*new_calls: "):
            read_one(tmp_path, strange)
        for name in ("content", "parts"):
            if isinstance(message.get(name), list) and message[name]:
                strange = json.loads(json.dumps(messages))
                kind = "part_kind" if "part_kind" in strange[number][name][0] else "type"
                strange[number][name].append({kind: "call-of-tomorrow", "name": "issue_refund", "input": {}})
                with pytest.raises(InvalidInput, match=rf"messages\[{number}\]\.{name}\[\d+\].*call-of-tomorrow"):
                    read_one(tmp_path, strange)


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ({"role": "assistant", "content": [{"type": "new_use", "name": "pay"}]}, r"\.content\[0\]\.type: .*'new_use'"),
        ({"role": "assistant", "content": [{"newUse": {"name": "pay"}}]}, r"\.content\[0\]: .*'newUse'"),
        ({"type": "new_call", "name": "pay"}, r"messages\[0\]\.type: .*'new_call'"),
        ({"role": "assistant", "content": "", "tool": "pay"}, r"messages\[0\]\.tool: nobody knows"),
        (
            {"role": "assistant", "content": "", "metadata": {"raw": {"tool_calls": [{"id": "x"}]}}},
            r"metadata: .*raw\.tool",
        ),
        (
            {"role": "assistant", "content": "", "additional_kwargs": {"calls": [{"name": "x"}]}},
            r"additional_kwargs\.calls",
        ),
        ({"type": "item_reference", "id": "x"}, r"messages\[0\]: 'item_reference' stands for items"),
        ({"kind": "NewEvent", "id": "x"}, r"messages\[0\]\.kind: .*'NewEvent'"),
        ({"role": "assistant", "parts": [{"part_kind": "x-call"}]}, r"parts\[0\]\.part_kind: .*'x-call'"),
        (
            {"role": "assistant", "parts": [{"type": "tool-x", "state": "odd", "toolCallId": "1"}]},
            r"parts\[0\]\.state: 'odd'",
        ),
        (
            {"role": "assistant", "content": [{"type": "text", "text": "x", "calls": [{"name": "pay"}]}]},
            r"content\[0\]\.calls",
        ),
    ],
)
def test_what_could_hold_a_call_is_never_skipped(tmp_path: Path, message: dict[str, Any], place: str) -> None:
    with pytest.raises(InvalidInput, match=place):
        read_one(tmp_path, [message, *mixed([[REFUND]], ["chat"])])


def test_harmless_fields_are_left_out(tmp_path: Path) -> None:
    said = {"usage": {"in": 1}, "created_at": "now", "metadata": {"a": "b"}, "x_latency": {"ms": 3}, "mood": "fine"}
    (message, *rest) = mixed([[REFUND]], ["chat"])[1:]
    assert told(read_one(tmp_path, [message | said, *rest])) == meant([[REFUND]])
