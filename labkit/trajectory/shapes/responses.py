"""OpenAI Responses items, input and output: functions, custom tools, MCP, and tools that the provider runs itself."""

from __future__ import annotations

import json
from typing import Any

from labkit.trajectory.shapes.entries import Answer, At, Between, Entry, Model, as_text, asked, id_of, the
from labkit.trajectory.shapes.harmless import check_rest

SHAPE = "Responses items"
CALLED = "+"  # items of one response stand one after another: they are one model call
META = {"type", "id", "status", "call_id", "callId", "namespace", "created_by", "caller"}


def function_call(at: At, item: dict[str, Any]) -> list[Entry]:
    """A call of a function of the client."""
    check_rest(at, item, META | {"name", "arguments"})
    return [Model(at, CALLED), asked(at, id_of(at, item, "call_id", "callId"), item.get("name"), item.get("arguments"))]


def custom_tool_call(at: At, item: dict[str, Any]) -> list[Entry]:
    """A call of a custom tool, whose input is free text."""
    check_rest(at, item, META | {"name", "input"})
    call_id = id_of(at, item, "call_id", "callId")
    return [Model(at, CALLED), asked(at, call_id, item.get("name"), item.get("input"), free=True)]


def output(at: At, item: dict[str, Any]) -> list[Entry]:
    """The result of a call that the client made."""
    call_id = id_of(at, item, "call_id", "callId", "id")
    if not call_id:
        raise (at / "call_id").refuse("a result must say by id which call it answers")
    check_rest(
        at, item, META | {"output", "tools", "execution", "acknowledged_safety_checks", "max_output_length", "name"}
    )
    text = as_text(item.get("output", item.get("tools")))
    error = item.get("status") in ("failed", "error")
    return [Answer(at=at, id=call_id, name=the(at, item, "name"), text=text, error=error)]


def mcp_call(at: At, item: dict[str, Any]) -> list[Entry]:
    """A call that the provider made to an MCP server, with its result."""
    read = META | {"name", "arguments", "output", "error", "server_label", "approval_request_id"}
    check_rest(at, item, read)
    call = asked(at, id_of(at, item, "id", "call_id"), item.get("name"), item.get("arguments"))
    call.continues = id_of(at, item, "approval_request_id")
    return [Model(at, CALLED), call, *_ended(at, item, call.continues or call.id, item.get("output"))]


def built_in(at: At, item: dict[str, Any]) -> list[Entry]:
    """A call of a tool that the provider offers; what it asked for are its arguments."""
    name = str(item["type"]).removesuffix("_call")
    if name == "hosted_tool":
        name = item.get("name") or name
    given = item.get("arguments", item.get("action", item.get("operation")))
    for field in ("queries", "code", "actions"):
        if given is None and item.get(field) is not None:
            given = {field: item[field]}
    outputs = {"output", "outputs", "results", "result", "error"}
    asks = {"arguments", "action", "actions", "operation", "queries", "code", "name", "environment", "execution"}
    check_rest(at, item, META | outputs | asks | {"pending_safety_checks", "container_id", "revised_prompt"})
    call = asked(at, id_of(at, item, "call_id", "callId", "id"), name, given)
    found = next((item[field] for field in ("output", "outputs", "results", "result") if item.get(field)), None)
    separate = item["type"] in OUTSIDE and found is None
    return [Model(at, CALLED), call, *([] if separate else _ended(at, item, call.id, found))]


def _ended(at: At, item: dict[str, Any], call_id: str, found: Any) -> list[Entry]:
    """The result of a call that the provider made, as its `error`, its output or its status tells."""
    if item.get("error") not in (None, ""):
        return [Answer(at=at, id=call_id, text=as_text(item["error"]), error=True)]
    if item.get("status") == "failed":
        return [Answer(at=at, id=call_id, text=as_text(found) or "failed", error=True)]
    if found is not None or item.get("status") == "completed":
        return [Answer(at=at, id=call_id, text=as_text(found))]
    return []


def approval_request(at: At, item: dict[str, Any]) -> list[Entry]:
    """A call of an MCP server that waits for a person; `mcp_call` continues it."""
    check_rest(at, item, META | {"name", "arguments", "server_label"})
    call = asked(at, id_of(at, item, "id"), item.get("name"), item.get("arguments"))
    call.notes.append(f"waits for an approval, asked for at {at}")
    return [Model(at, CALLED), call]


def approval_response(at: At, item: dict[str, Any]) -> list[Entry]:
    """A person's answer: refused, the call was not made."""
    check_rest(at, item, META | {"approval_request_id", "approve", "reason"})
    if item.get("approve") is not False:
        return [Between()]
    text = f"refused: {json.dumps(item.get('reason'), ensure_ascii=False)}"
    return [Between(), Answer(at=at, id=id_of(at, item, "approval_request_id"), text=text, outcome="not made")]


def words(at: At, item: dict[str, Any]) -> list[Entry]:
    """An item that asks for nothing: reasoning, a list of the tools that a server has."""
    check_rest(
        at, item, META | {"content", "summary", "encrypted_content", "server_label", "error", "tools", "providerData"}
    )
    return [Model(at, CALLED)] if item["type"] == "reasoning" else [Between()]


def elsewhere(at: At, item: dict[str, Any]) -> list[Entry]:
    """An item that stands for others, which may have been calls."""
    raise at.refuse(f"{item['type']!r} stands for items that this recording does not hold", "record the whole run")


OUTSIDE = {"computer_call", "local_shell_call", "shell_call", "apply_patch_call", "tool_search_call"}
OWN = {"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "hosted_tool_call"}
OUTPUTS = (
    *("function_call_output", "function_call_result", "custom_tool_call_output", "computer_call_output"),
    *("computer_call_result", "local_shell_call_output", "shell_call_output", "apply_patch_call_output"),
    "tool_search_output",
)
ITEMS = {
    "function_call": function_call,
    "custom_tool_call": custom_tool_call,
    "mcp_call": mcp_call,
    "mcp_approval_request": approval_request,
    "mcp_approval_response": approval_response,
    "reasoning": words,
    "mcp_list_tools": words,
    "item_reference": elsewhere,
    "compaction": elsewhere,
    **dict.fromkeys(OUTPUTS, output),
    **dict.fromkeys(sorted(OUTSIDE | OWN), built_in),
}
