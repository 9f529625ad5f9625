"""What the text of a result says of its call, in the words that frameworks really write, and in harmless ones."""

from __future__ import annotations

import json

import pytest

from labkit.trajectory.outcomes import outcome_of

PLACEHOLDERS = [
    "Tool call issue_refund with id call_1 was cancelled - another message came in before it could be completed.",
    "[Request interrupted by user for tool use]",
    "[Tool result missing due to internal error]",
    "Tool result missing from saved history; the previous run likely ended before this tool completed.",
    "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown.]",
    "[Tool call did not complete: the turn was ended to deliver the message that follows.]",
    "[System: Tool execution skipped/interrupted by user. No result provided for tool 'issue_refund'.]",
    "A restart occurred while this tool was in progress. The tool execution was interrupted and did not complete.",
    "[Tool execution was interrupted]",
    "Error: The tool execution was interrupted or failed to return a result. You may need to retry this operation.",
    "The previous tool call was interrupted before a result was recorded. The effect (if any) is unknown.",
    "Tool execution result unavailable.",
    "Tool execution was cancelled.",
    "Tool execution aborted",
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. the file was NOT written).",
    "[cancelled]",
    "aborted",
    "aborted by user after 3.2s",
    '{"status": "interrupted", "note": "The previous tool call was interrupted before completing. Retry if needed."}',
    "[Berry SDK] Session repair: tool execution was interrupted. This tool_result was synthesized.",
    '[{"type": "text", "text": "[Tool call interrupted - no result available]"}]',
]
NOT_MADE = [
    "Tool execution was not approved.",
    "Error: the approval expired. The tool was not run.",
    "Tool not executed - a final result was already processed.",
    "Tool call pay with id c1 could not be executed - arguments were malformed or truncated.",
    "The tool call was denied.",
    "[Tool call interrupted by user before execution]",
    "User rejected the tool call for `pay` with id c1",
    "Tool call skipped: maximum tool round limit reached.",
    "PreToolUse hook did not respond before its timeout The tool call was not executed.",
]
TIME_OUTS = [
    "An error occurred while running the tool. Please try again. Error: Request timed out.",
    "Failed to issue the refund: request timed out",
    "The refund failed: connection reset by peer",
    "HTTP Error 504: Gateway Timeout",
    "Error: timed out after 30 s",
    "Error: the operation timed out",
    "MCP error -32001: Request timed out",
    "Request timed out.",
    "issue_refund timed out after 30s; retry with a shorter command",
    "Command timed out after 120 seconds",
    "TimeoutError: act() timed out",
    "httpx.ReadTimeout: The read operation timed out",
    "HTTPSConnectionPool(host='pay.example', port=443): Read timed out. (read timeout=30)",
    "504 Gateway Timeout",
    "<html><head><title>504 Gateway Time-out</title></head></html>",
    "Error: 502 Bad Gateway",
    "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
    "Error: connect ETIMEDOUT 10.0.0.1:443",
    "ECONNRESET",
    "[Errno 110] Connection timed out",
    "Error: the payment service did not answer within 30 seconds; it is not known whether the refund was made",
    "Error: read ECONNRESET",
    "Error: ('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))",
    "Connection reset by peer",
    "Error: socket hang up",
    "requests.exceptions.ConnectionError: Remote end closed connection without response",
    "timeout",
    '{"error": "timeout"}',
    '{"error": {"code": 504, "message": "upstream did not answer"}, "status": 504}',
    '{"status": "timeout"}',
    '{"success": false, "error": "TimeoutError: act() timed out \u2014 try a different description"}',
    '{"isError": true, "message": "deadline exceeded"}',
    '"Error: timed out"',
    '{"error": {"code": 504}}',
    '{"isError": true, "content": [{"type": "text", "text": "MCP error -32001: Request timed out"}]}',
    '[{"type": "text", "text": "Error: timed out after 30 s"}]',
]
FAILURES = [
    "An error occurred while running the tool. Please try again. Error: boom",
    "I encountered an error while trying to use the tool. This was the error: _run() got an unexpected argument",
    "MCP error -32602: Invalid arguments",
    "ValueError: no such order",
    "payments.errors.CardError: declined",
    "Traceback (most recent call last):\n  File x\nKeyError: 'order'",
    "Failed to invoke Tool `pay` with parameters {}. Error: declined",
    "The refund failed: card expired",
    "500 Internal Server Error",
    "HTTP 404 Not Found",
    "Error: the card was declined",
    "Error: order AB-1 does not exist",
    "Error: connection refused",
    "Error: invalid timeout: 0",
    "Error: timeout must be a positive number",
    "Error: unknown option --timeout",
    "Error: refund refused, because your session timed out last week",
    "Error: 404 Not Found",
    " ERROR: no seat",
    '{"error": "insufficient funds", "hint": "the last session timed out"}',
    '{"success": false, "reason": "already refunded"}',
    '{"status": 404, "message": "no such order"}',
    '{"error": {"code": 404, "detail": "504 units asked for"}}',
    '{"isError": true, "content": [{"type": "text", "text": "no such order"}]}',
]
ANSWERS = [
    "Failed payments: none",
    "The error rate was 3 percent; one request timed out.",
    "No error: all 3 refunds were made.",
    "404 units are on stock",
    "The test run: 3 passed, 0 failed",
    "",
    "refunded rf_1",
    "your session timed out last week, refund done",
    "Your session timed out after 30 minutes. A new one was opened, and the refund was made.",
    "Refund done. The earlier attempt timed out.",
    '{"refund": "rf_2", "note": "the first session timed out after 30 s", "status": "done"}',
    '{"status": "cancelled", "reservation": "XY12"}',
    '{"error": null, "refund": "rf_1"}',
    '{"status": "ok", "message": "timeout raised to 30 s"}',
    "cancelled",
    "Reservation cancelled.",
    "The order was cancelled; nothing was paid.",
    "No results found.",
    "No result found for order AB-1.",
    "Errorless",
    "{error",
    "Timeout policy updated to 30 s",
    "17 log lines, among them: Connection reset by peer",
    "What to do when a request timed out: ask first. " * 40,
    '["timed out", "Error"]',
    "3",
    '{"status": 200, "code": 0}',
]


@pytest.mark.parametrize("text", PLACEHOLDERS)
def test_a_sentence_of_a_framework_in_the_place_of_a_result_answers_nothing(text: str) -> None:
    assert outcome_of(text, marked_error=False) == outcome_of(text, marked_error=True) == "placeholder"


@pytest.mark.parametrize("text", NOT_MADE)
def test_a_call_that_the_framework_did_not_execute_was_not_made(text: str) -> None:
    assert outcome_of(text, marked_error=False) == outcome_of(text, marked_error=True) == "not made"


@pytest.mark.parametrize("text", TIME_OUTS)
def test_a_time_out_and_a_lost_connection_are_recognised_with_and_without_a_mark(text: str) -> None:
    assert outcome_of(text, marked_error=False) == outcome_of(text, marked_error=True) == "timed out"


@pytest.mark.parametrize("text", FAILURES)
def test_a_refusal_is_a_failure_and_no_time_out(text: str) -> None:
    assert outcome_of(text, marked_error=False) == outcome_of(text, marked_error=True) == "failed"


@pytest.mark.parametrize("text", ANSWERS)
def test_a_successful_result_that_mentions_such_words_is_an_answer(text: str) -> None:
    assert outcome_of(text, marked_error=False) == "answered"


def test_a_mark_makes_a_failure_of_any_text_and_a_doubt_of_a_cancelled_call() -> None:
    assert outcome_of("no", marked_error=True) == "failed"
    assert outcome_of("cancelled", marked_error=True) == "placeholder"
    assert (
        outcome_of(json.dumps({"status": "cancelled", "reason": "user_interrupt"}), marked_error=True) == "placeholder"
    )


def test_a_hostile_text_is_judged_quickly() -> None:
    for text in ("tool call " * 80, "[" * 50_000, "{" + '"a":' * 9_999, "time" * 20_000, "tool result " + "a " * 400):
        assert outcome_of(text, marked_error=True) == "failed"
