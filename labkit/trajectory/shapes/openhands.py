"""OpenHands events, one JSON file each: actions and observations (first version), ActionEvent and so on (the SDK)."""

from __future__ import annotations

from typing import Any

from labkit.trajectory.shapes import chat
from labkit.trajectory.shapes.entries import (
    Answer,
    Asked,
    At,
    Between,
    Entry,
    Model,
    Said,
    as_text,
    asked,
    expected,
    id_of,
)
from labkit.trajectory.shapes.harmless import check_rest

SHAPE = "OpenHands"
QUIET_ACTIONS = {
    "message",
    "system",
    "change_agent_state",
    "recall",
    "null",
    "start",
    "pause",
    "resume",
    "stop",
    "push",
}
QUIET_OBSERVATIONS = {"agent_state_changed", "null", "recall", "loop_detection"}
QUIET_EVENTS = {
    *(
        "MessageEvent",
        "SystemPromptEvent",
        "ConversationStateUpdateEvent",
        "PauseEvent",
        "InterruptEvent",
        "TokenEvent",
    ),
    *(
        "Condensation",
        "CondensationRequest",
        "CondensationSummaryEvent",
        "ConversationErrorEvent",
        "LLMCompletionLogEvent",
    ),
}
META = {
    "id",
    "timestamp",
    "source",
    "message",
    "llm_metrics",
    "timeout",
    "hidden",
    "cause",
    "tool_call_metadata",
    "success",
}


def is_event(item: dict[str, Any]) -> bool:
    """Whether this is an event of either version."""
    if "role" in item or "type" in item:  # an item of another shape may have an `action`, too
        return False
    kind = item.get("kind")
    if isinstance(kind, str) and (kind.endswith(("Event", "Observation")) or kind in QUIET_EVENTS):
        return True
    return any(isinstance(item.get(name), str) for name in ("action", "observation")) and "id" in item


def event(at: At, item: dict[str, Any]) -> list[Entry]:
    """The calls, results or words of one event; raise InvalidInput for a kind that nobody knows."""
    if isinstance(item.get("kind"), str):
        return _new(at, item, item["kind"])
    return _action(at, item) if isinstance(item.get("action"), str) else _observation(at, item)


def _new(at: At, item: dict[str, Any], kind: str) -> list[Entry]:
    if kind in ("ActionEvent", "NonExecutableActionEvent"):
        check_rest(at, item, {"action", "tool_name", "tool_call_id", "tool_call", *NEW})
        call = expected(at / "tool_call", item.get("tool_call") or {}, dict)
        held = call.get("function") if isinstance(call.get("function"), dict) else call
        given = held.get("arguments") if held else item.get("action")
        asks = asked(at, id_of(at, item, "tool_call_id"), item.get("tool_name"), given, name_at=at / "tool_name")
        return [Model(at, str(item.get("llm_response_id") or "")), Said(as_text(item.get("thought") or "")), asks]
    if kind == "ACPToolCallEvent":
        read = {"tool_call_id", "title", "tool_kind", "raw_input", "raw_output", "content", "is_error"}
        check_rest(at, item, {*read, "parent_tool_call_id", *NEW})
        asks = asked(
            at, id_of(at, item, "tool_call_id"), item.get("title"), item.get("raw_input"), name_at=at / "title"
        )
        return [Model(at, f"acp-{asks.id}"), asks, *_acp_answer(at, item, asks.id)]
    if kind in ("ObservationEvent", "UserRejectObservation", "AgentErrorEvent"):
        check_rest(
            at, item, {"tool_name", "tool_call_id", "observation", "action_id", "rejection_reason", "error", *NEW}
        )
        return [_new_answer(at, item, kind)]
    if kind not in QUIET_EVENTS:
        raise (at / "kind").refuse(f"nobody knows events of kind {kind[:80]!r}")
    check_rest(
        at, item, NEW | {"llm_message", "system_prompt", "tools", "key", "value", "action", "forgotten_event_ids"}
    )
    message = item.get("llm_message")
    if not isinstance(message, dict):
        return [Between()]
    said = Said(as_text(message.get("content")))
    return [Model(at), said] if message.get("role") == "assistant" else [Between()]


NEW = {
    *(
        "id",
        "timestamp",
        "source",
        "kind",
        "thought",
        "reasoning_content",
        "thinking_blocks",
        "responses_reasoning_item",
    ),
    *("llm_response_id", "security_risk", "critic_result", "summary", "extended_content", "activated_skills", "detail"),
    *("rejection_source", "classification", "code", "dynamic_context", "summary_offset", "prompt_token_ids", "sender"),
    *("response_token_ids", "activated_microagents", "status", "reasoning_details"),
}


def _new_answer(at: At, item: dict[str, Any], kind: str) -> Answer:
    call_id, name = id_of(at, item, "tool_call_id"), id_of(at, item, "tool_name")
    if kind == "AgentErrorEvent":
        return Answer(at=at, id=call_id, name=name, text=as_text(item.get("error")), error=True)
    if kind == "UserRejectObservation":
        return Answer(at=at, id=call_id, name=name, text=as_text(item.get("rejection_reason")), outcome="not made")
    held = item.get("observation")
    content = held.get("content", held.get("output", held)) if isinstance(held, dict) else held
    error = isinstance(held, dict) and (held.get("is_error") is True or bool(held.get("error")))
    return Answer(at=at, id=call_id, name=name, text=as_text(content), error=error)


def _acp_answer(at: At, item: dict[str, Any], call_id: str) -> list[Entry]:
    if item.get("status") not in ("completed", "failed"):
        return []
    error = item["status"] == "failed" or item.get("is_error") is True
    return [Answer(at=at, id=call_id, text=as_text(item.get("raw_output", item.get("content"))), error=error)]


def _called(at: At, item: dict[str, Any]) -> tuple[At, dict[str, Any]]:
    place = at / "tool_call_metadata"
    return place, expected(place, item.get("tool_call_metadata") or {}, dict)


def _action(at: At, item: dict[str, Any]) -> list[Entry]:
    """An action: the calls of the model's message, if it is kept beside it, else the action itself."""
    check_rest(at, item, META | {"action", "args"})
    place, called = _called(at, item)
    kind = item["action"]
    if kind in QUIET_ACTIONS and not called:
        says = item.get("source") == "agent" and kind == "message"
        return [Model(at), Said(as_text(item.get("message") or ""))] if says else [Between()]
    own = id_of(place, called, "tool_call_id") or f"event {item['id']}"
    response = called.get("model_response")
    asks: list[Entry] = []
    joins = ""
    if isinstance(response, dict):
        joins = str(response.get("id") or "")
        for choice in expected(place / "model_response" / "choices", response.get("choices") or [], list):
            message = choice.get("message") if isinstance(choice, dict) else None
            calls = message.get("tool_calls") if isinstance(message, dict) else None
            asks += chat.tool_calls(place / "model_response" / "tool_calls", calls or [])
    if not any(isinstance(each, Asked) and each.id == own for each in asks):
        asks = [asked(at, own, called.get("function_name") or kind, item.get("args"), name_at=at / "action")]
    for each in asks:
        if isinstance(each, Asked):
            each.field = f"response {joins}" if joins else ""
    return [Model(at, joins), *asks]


def _observation(at: At, item: dict[str, Any]) -> list[Entry]:
    check_rest(at, item, META | {"observation", "content", "extras"})
    place, called = _called(at, item)
    kind = item["observation"]
    if kind in QUIET_OBSERVATIONS and not called:
        return [Between()]
    if not called and item.get("cause") in (None, -1):
        return [Between()]  # an error or a notice that follows from no action
    own = id_of(place, called, "tool_call_id") or f"event {item['cause']}"
    outcome = "not made" if kind == "user_rejected" else ""
    return [Answer(at=at, id=own, text=as_text(item.get("content")), error=kind == "error", outcome=outcome)]
