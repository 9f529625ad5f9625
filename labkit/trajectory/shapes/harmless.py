"""Which fields may be left out: those named here, if nothing in them reads as a call, and those that can hold none.

Every other field that nobody reads is refused with its place, since it could hold the very call that a crash repeats.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from labkit.trajectory.shapes.entries import At

DESCRIBES = {
    *("tools", "functions", "tool_definitions", "tools_info", "available_tools", "gen_ai.tool.definitions"),
    *("toolConfig", "tool_config", "reward_info", "toolUseResult"),
}
"""Definitions of tools, the calls that a benchmark expected, a result once more: they read like calls and are none."""
NAMED = {
    *("id", "index", "name", "role", "type", "kind", "object", "model", "version", "status", "state", "source"),
    *("usage", "usage_metadata", "response_metadata", "metadata", "meta", "providerMetadata", "providerOptions"),
    *("provider_metadata", "provider_options", "provider_details", "provider_specific_fields", "experimental"),
    *("callProviderMetadata", "resultProviderMetadata", "toolMetadata", "extra_fields", "extras", "annotations"),
    *("experimental_providerMetadata", "experimental_attachments", "attachments", "experimental_content"),
    *("refusal", "reasoning", "reasoning_content", "reasoning_details", "reasoningContent", "reasoning_text"),
    *("reasoningText", "thinking", "thinking_blocks", "thought", "signature", "thoughtSignature", "encrypted_content"),
    *("summary", "logprobs", "top_logprobs", "audio", "citations", "cache_control", "cachePoint", "finish_reason"),
    *(
        "finishReason",
        "stop_reason",
        "stop_sequence",
        "stop_details",
        "stopReason",
        "system_fingerprint",
        "service_tier",
    ),
    *(
        "timestamp",
        "created",
        "created_at",
        "createdAt",
        "updated_at",
        "example",
        "artifact",
        "error",
        "incomplete_details",
    ),
    *("instructions", "system", "system_prompt", "systemPrompt", "system_instruction", "text", "temperature", "top_p"),
    *("reward", "info", "trial", "task", "task_id", "cost", "total_cost", "user_cost", "agent_cost", "duration"),
    *(
        "tags",
        "labels",
        "config",
        "settings",
        "environment",
        "model_name",
        "provider",
        "provider_name",
        "agent",
        "agents",
    ),
    *("sender", "recipient", "speaker", "author", "turn_idx", "session", "thread", "conversation", "user", "user_id"),
    *("safety_ratings", "safetyRatings", "promptFeedback", "groundingMetadata", "citationMetadata", "metrics", "trace"),
    *(
        "response_format",
        "tool_choice",
        "parallel_tool_calls",
        "truncation",
        "parsed",
        "title",
        "description",
        "caller",
    ),
    *(
        "outcome",
        "note",
        "notes",
        "comment",
        "comments",
        "feedback",
        "score",
        "scores",
        "evaluation",
        "rating",
        "label",
    ),
    *("billing", "betas", "container", "mcp_servers", "context_management", "output_config", "tool_plan", "prompt"),
    *("ResponseMetadata", "inferenceConfig", "performanceConfig", "additionalModelRequestFields", "identity"),
    *("generationConfig", "systemInstruction", "safetySettings", "usageMetadata", "parent_config", "interrupts"),
    *("__gemini_function_call_thought_signatures__", "options", "redact_message", "tasks", "logit_bias"),
    *("reasoning_effort", "max_tokens", "max_output_tokens", "stream", "seed", "stop", "store", "next", "data_source"),
}
HARMLESS_ENDS = (
    "_at",
    "At",
    "_time",
    "Time",
    "_id",
    "Id",
    "_ids",
    "_ms",
    "_tokens",
    "_url",
    "timestamp",
    "_hash",
    "_seconds",
)
SUSPICIOUS = ("call", "tool", "function", "action", "invocation", "command", "execut", "arg", "input", "param")
CALL_FIELDS = {
    *("tool_calls", "toolCalls", "tool_call", "toolCall", "function_call", "functionCall", "toolUse", "tool_use"),
    *("toolInvocations", "toolInvocation", "invalid_tool_calls", "tool_call_chunks", "toolCallId", "tool_call_id"),
    *("tool_use_id", "toolUseId", "call_id", "functionResponse", "function_response", "toolResult", "tool_result"),
    *("tool_outputs", "action_input", "tool_input"),
}
CALL_KINDS = {
    *("tool_use", "tool_result", "tool_call", "tool-call", "tool-result", "tool_call_response", "function_call"),
    *("function_call_output", "custom_tool_call", "mcp_call", "server_tool_use", "mcp_tool_use", "tool-invocation"),
    *("dynamic-tool", "server_tool_call", "tool-return", "builtin-tool-call", "function"),
}
MAX_DEPTH = 200
DEEP = "what is nested too deeply"


def check_rest(at: At, holder: dict[str, Any], read: Container[str]) -> None:
    """Raise InvalidInput for the first field of `holder`, not among those `read`, that could hold a call."""
    for name, value in holder.items():
        if name in read or name in DESCRIBES or _holds_no_text(value):
            continue
        if name in NAMED or name.endswith(HARMLESS_ENDS):
            if (found := call_in(value)) == DEEP:
                raise (at / name).refuse(f"nobody reads this field, and it is nested more than {MAX_DEPTH} levels deep")
            if found:
                raise (at / name).refuse(f"nobody reads this field, and {found} in it reads as a call")
        elif isinstance(value, str) and not value.lstrip().startswith(("{", "[")):
            if any(word in name.lower() for word in SUSPICIOUS):
                raise (at / name).refuse("nobody knows this field, and its name says that it may hold a call", DROP)
        else:
            raise (at / name).refuse("nobody knows this field, and it may hold a call", DROP)


DROP = "take the field out if it holds no call, or write its calls as one of the shapes in datasets/README.md"


def call_in(value: Any, path: str = "", depth: int = 0) -> str:
    """The path of the first thing in `value` that reads as a call, or an empty text."""
    if depth > MAX_DEPTH:
        return DEEP
    if isinstance(value, dict):
        kind = value.get("type") or value.get("part_kind")
        if isinstance(kind, str) and kind in CALL_KINDS:
            return path or kind
        for name, inner in value.items():
            here = f"{path}.{name}" if path else str(name)
            if name in CALL_FIELDS and not _holds_no_text(inner):
                return here
            if name not in DESCRIBES and (found := call_in(inner, here, depth + 1)):
                return found
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            if found := call_in(inner, f"{path}[{index}]", depth + 1):
                return found
    return ""


def _holds_no_text(value: Any, depth: int = 0) -> bool:
    """Whether there is no text in `value`: no name of a tool can be in it."""
    if isinstance(value, str):
        return not value.strip()
    if depth > MAX_DEPTH:
        return False
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(_holds_no_text(each, depth + 1) for each in inner)
