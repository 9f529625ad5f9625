"""However a recording of any shape is damaged: it is read, or refused by the lab's own error."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from abstract_runs import Made
from hypothesis import given, settings
from hypothesis import strategies as st
from shapes_written import SHAPES, mixed

from labkit.errors import InvalidInput
from labkit.trajectory.read import read

OWN = Path(__file__).resolve().parent / "recordings"
TURN = [Made("call_1", "issue_refund", {"order": "AB-1"}, "done"), Made("call_2", "look", {}, "no", True)]
TRACE = json.loads((OWN / "kagent_trace.json").read_text("utf-8"))
RESPONSE = {
    "id": "r",
    "output": [
        {"type": "mcp_approval_request", "id": "q", "name": "pay", "arguments": "{}", "server_label": "s"},
        {"type": "mcp_approval_response", "approval_request_id": "q", "approve": False, "reason": "x"},
        {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "x"}},
        {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "x"},
    ],
}
WHOLE: list[Any] = [TRACE, RESPONSE, *({"id": "r", "messages": mixed([TURN], [shape])} for shape in sorted(SHAPES))]
JUNK = [
    None,
    True,
    -1,
    1.5,
    "",
    "x",
    "\x00",
    "é" * 300,
    "[",
    '{"a": 1}',
    [],
    {},
    [[]],
    [None],
    ["x"],
    {"type": ["x"]},
    {"": {"": []}},
]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (holder, key) in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, held in inner for place in ((value, key), *places(held))]


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_no_damage_makes_the_reader_fail_otherwise(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    record = json.loads(json.dumps(data.draw(st.sampled_from(WHOLE))))
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(places(record)))
        change = data.draw(st.sampled_from(["junk", "drop", "twice"]))
        if change == "junk":
            holder[key] = deepcopy(data.draw(st.sampled_from(JUNK)))
        elif change == "drop" or isinstance(holder, dict):
            del holder[key]
        else:
            holder.insert(key, deepcopy(holder[key]))
        if not places(record):
            break
    file = tmp_path_factory.getbasetemp() / "damaged.json"
    file.write_text(json.dumps(record), "utf-8")
    try:
        found = read(file)
    except InvalidInput as refused:
        assert refused.safe and refused.next
        return
    assert all(call.name.isprintable() and call.place for each in found for call in each.calls)
