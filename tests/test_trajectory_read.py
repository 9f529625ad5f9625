"""Recordings as they come: what the reader makes of unusual ones, and how it refuses the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.errors import InvalidInput
from labkit.trajectory import containers
from labkit.trajectory.model import Trajectory
from labkit.trajectory.read import read
from labkit.trajectory.records import MAX_MESSAGES

USER = {"role": "user", "content": "hello"}


def asks(*calls: tuple[str, str], arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    """An assistant message that asks for calls, each given as (id, tool name)."""
    asked = [{"id": i, "type": "function", "function": {"name": n, "arguments": arguments}} for i, n in calls]
    return {"role": "assistant", "content": None, "tool_calls": asked} | more


def answer(call_id: str | None, content: Any, **more: Any) -> dict[str, Any]:
    """A tool message."""
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


def line(*messages: dict[str, Any], **more: Any) -> str:
    """A record with these messages, as one line."""
    return json.dumps({"id": "run", "messages": list(messages), **more})


def reading(folder: Path, content: str | bytes) -> list[Trajectory]:
    """What the reader makes of a file with this content."""
    file = folder / "recorded.jsonl"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return read(file)


def results(trajectory: Trajectory) -> list[tuple[str, str | None, bool]]:
    """Each call's tool name, result, and whether it failed."""
    return [(call.name, call.result, call.failed) for call in trajectory.calls]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        # a re-used id: the nearest call before the result
        (
            [asks(("1", "a")), answer("1", "x"), asks(("1", "b")), answer("1", "y")],
            [("a", "x", False), ("b", "y", False)],
        ),
        # parallel calls, answered out of order, one with the id of another
        ([asks(("1", "a"), ("2", "b")), answer("2", "y"), answer("1", "x")], [("a", "x", False), ("b", "y", False)]),
        ([asks(("1", "a"), ("1", "a")), answer("1", "x"), answer("1", "y")], [("a", "x", False), ("a", "y", False)]),
        ([asks(("1", "a"), ("1", "b")), answer("1", "y", name="b")], [("a", None, False), ("b", "y", False)]),
        # a call without a result; a result without content
        ([asks(("1", "a")), USER], [("a", None, False)]),
        ([asks(("1", "a")), answer("1", None)], [("a", "", False)]),
        # the form of old recordings
        (
            [
                {"role": "assistant", "content": None, "function_call": {"name": "a", "arguments": ""}},
                {"role": "function", "name": "a", "content": "x"},
            ],
            [("a", "x", False)],
        ),
        # content in parts
        (
            [asks(("1", "a")), answer("1", [{"type": "text", "text": "x"}, {"type": "image_url"}, "y"])],
            [("a", "x\n[image_url]\ny", False)],
        ),
        # what reads as a failure, and what does not
        ([asks(("1", "a")), answer("1", " ERROR: no seat")], [("a", " ERROR: no seat", True)]),
        ([asks(("1", "a")), answer("1", '{"error": "x"}')], [("a", '{"error": "x"}', True)]),
        ([asks(("1", "a")), answer("1", "no", is_error=True)], [("a", "no", True)]),
        ([asks(("1", "a")), answer("1", "no", status="error")], [("a", "no", True)]),
        ([asks(("1", "a")), answer("1", '{"error": null}')], [("a", '{"error": null}', False)]),
        ([asks(("1", "a")), answer("1", "Errorless")], [("a", "Errorless", False)]),
        ([asks(("1", "a")), answer("1", "{error")], [("a", "{error", False)]),
    ],
)
def test_each_result_finds_its_call(
    tmp_path: Path, messages: list[dict[str, Any]], expected: list[tuple[str, str | None, bool]]
) -> None:
    (trajectory,) = reading(tmp_path, line(USER, *messages))
    assert results(trajectory) == expected


@pytest.mark.parametrize(("given", "expected"), [('{"n": 1}', {"n": 1}), ({"n": 1}, {"n": 1}), ("", {}), (None, {})])
def test_arguments_are_an_object_or_nothing(tmp_path: Path, given: Any, expected: dict[str, Any]) -> None:
    (trajectory,) = reading(tmp_path, line(asks(("1", "a"), arguments=given)))
    assert trajectory.calls[0].arguments == expected


def test_a_byte_order_mark_blank_lines_and_other_line_ends_change_nothing(tmp_path: Path) -> None:
    one, two = (line(asks(content="left right"), id=name).replace(" right", "\u2028right") for name in ("one", "two"))
    content = f"\ufeff\r\n{one}\r\n \r\n{two}\n\n"
    assert [(each.id, each.turns[0].text) for each in reading(tmp_path, content)] == [
        ("one", "left\u2028right"),
        ("two", "left\u2028right"),
    ]


def test_a_json_array_of_runs_is_read_like_lines(tmp_path: Path) -> None:
    runs = [{"id": number, "messages": [asks((str(number), "a"))]} for number in (7, 8)]
    assert [each.id for each in reading(tmp_path, json.dumps(runs, indent=2))] == ["7", "8"]


def test_a_run_without_an_id_is_called_by_its_line(tmp_path: Path) -> None:
    content = "\n".join([line(asks()), "", line(asks(), id=None)])
    assert [each.id for each in reading(tmp_path, content)] == ["run", "line-3"]


FUNCTION = r"messages\[0\]\.tool_calls\[0\]\.function"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "recorded.jsonl: holds no trajectory"),
        ("\n \n", "recorded.jsonl: holds no trajectory"),
        (b"{}\n\xff\xfe", "line 2: byte 3 of the file is not UTF-8"),
        ("{}", "line 1: .*required field `messages`"),
        ("17", "line 1: Expected `object`"),
        ("\n[", "line 2: the JSON array that begins here cannot be read"),
        ("[3]", "item 1: Expected `object`"),
        (line(asks()) + "\n" + line(asks(), id="b")[:-9], "line 2: the record ends in the middle"),
        (line(asks()) + "\n{a}", "line 2: is not JSON"),
        (line(asks()) + "\n" + line(asks()), "line 2: id: 'run' is the id of an earlier trajectory"),
        (line(asks(), id=1.5), "line 1: id: Expected"),
        (line(asks(), id="\x1b[2J"), "line 1: id: .*is not a name"),
        (line(USER), "line 1: messages: no assistant message"),
        (line(*[USER] * (MAX_MESSAGES + 1)), "line 1: messages: Expected `array` of length <= "),
        (line(USER, {"role": "oracle"}), r"line 1: messages\[1\]\.role: 'oracle' is unknown: expected system"),
        (line({"role": "assistant", "content": 3}), r"line 1: messages\[0\]\.content: Expected"),
        (line({"role": "assistant", "tool_calls": {}}), r"line 1: messages\[0\]\.tool_calls: Expected"),
        (line({"role": "assistant", "tool_calls": [{}]}), r"line 1: messages\[0\]\.tool_calls\[0\]: .*`function`"),
        (line(asks(("1", "a")) | {"tool_calls": [{"type": "custom", "function": {"name": "a"}}]}), r"\[0\]\.type: "),
        (line(asks(("1", " "))), FUNCTION + r"\.name: ' ' is not a name"),
        (line(asks(("1", "a" * 201))), FUNCTION + r"\.name: 'a+' is not a name"),
        ('{"id":"a","deep":' + "[" * 99_999, "line 1: is not JSON"),
        (line(asks(("1", "a")), answer(None, "x")), r"messages\[1\]\.tool_call_id: a result must say"),
    ],
)
def test_a_recording_that_does_not_fit_is_refused_with_line_and_field(
    tmp_path: Path, content: str | bytes, why: str
) -> None:
    with pytest.raises(InvalidInput, match=why) as refused:
        reading(tmp_path, content)
    assert refused.value.safe
    assert refused.value.next
    assert len(str(refused.value)) < 1_000


def test_only_a_file_of_a_reasonable_size_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (tmp_path / "missing", Path("a\0b")):
        with pytest.raises(InvalidInput, match="is not a file"):
            read(path)
    monkeypatch.setattr(containers, "MAX_BYTES", 100)
    with pytest.raises(InvalidInput, match="has 101 bytes, the limit is 100"):
        reading(tmp_path, b" " * 101)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
TOOLS = st.sampled_from(["a", "b", "", "\x00", "\ud800"]) | JSON
FUNCTIONS = st.fixed_dictionaries({"name": TOOLS}, optional={"arguments": st.sampled_from(["{}", "{", "[]"]) | JSON})
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["assistant", "tool", "user", "function"]) | JSON},
    optional={
        "content": st.sampled_from(["Error: x", '{"error": 1}', '{"a"']) | JSON,
        "tool_calls": st.lists(st.fixed_dictionaries({"function": FUNCTIONS, "id": TOOLS}), max_size=3) | JSON,
        "function_call": FUNCTIONS | JSON,
        "tool_call_id": TOOLS,
        "name": TOOLS,
        "is_error": JSON,
    },
)
RECORDS = st.fixed_dictionaries({"messages": st.lists(MESSAGES, max_size=4) | JSON}, optional={"id": TOOLS}) | JSON


@settings(max_examples=300, deadline=None)
@given(records=st.lists(RECORDS, min_size=1, max_size=3), cut=st.integers(0, 30), noise=st.binary(max_size=3))
def test_no_recording_makes_the_reader_fail_otherwise(
    tmp_path_factory: pytest.TempPathFactory, records: list[Any], cut: int, noise: bytes
) -> None:
    content = "\n".join(map(json.dumps, records)).encode()
    for damaged in (content, content[: len(content) - cut], content[:cut] + noise + content[cut:]):
        try:
            found = reading(tmp_path_factory.getbasetemp(), damaged)
        except InvalidInput:
            continue
        assert found
        assert all(call.name.isprintable() for each in found for call in each.calls)
