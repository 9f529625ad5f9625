"""What the text of a tool's result says of its call: answered, failed, timed out, a placeholder, or never made.

A framework that finds a call without a result writes a sentence of its own in the result's place, since the model's
API asks for one. Such a sentence answers nothing. The patterns follow what is written by deepagents and Eino ("was
cancelled - another message came in"), Claude Code, OpenHands, OpenCode, Codex, LiteLLM, Pydantic AI, the OpenAI Agents
SDK, LangChain and MCP clients. Only English is understood.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

ANSWERED, FAILED, TIMED_OUT, PLACEHOLDER, NOT_MADE = "answered", "failed", "timed out", "placeholder", "not made"
MAX_NOTICE = 800  # characters: a longer text without a mark is a document that mentions such words, not a notice
HALF = 4_000  # characters at the beginning and at the end of an error: its reason stands in one of them
CALL = r"(?:tool[ -]?)(?:call|use|execution|result|output|response|run|invocation)s?"
_NOT_MADE = re.compile(
    r"\b(?:tool|call|function|it) (?:was |has |were )?(?:not|never) (?:been )?(?:executed|invoked|run)\b"
    rf"|\b(?:{CALL}|tool)\b.{{0,120}} (?:could not|cannot) be executed\b|\bbefore execution\b"
    rf"|\b{CALL} (?:was )?(?:not approved|denied|blocked|declined|skipped(?!/))\b"
    rf"|\buser (?:rejected|declined|denied) the {CALL}\b",
    re.I | re.S,
)
_PLACEHOLDER = re.compile(
    rf"\b{CALL}\b.{{0,160}}?\b(?:cancell?ed|aborted|interrupted|missing|unavailable|lost)\b"
    rf"|\b{CALL}\b.{{0,160}}?\b(?:not (?:recorded|available|completed|in this copy)|no result|synthesi[sz]ed)\b"
    rf"|\b{CALL}\b.{{0,160}}?\b(?:did not|never) (?:complete|finish|return)"
    r"|\bno (?:tool )?(?:result|output|response) (?:was )?(?:provided|available|recorded|returned)\b"
    r"|\bno tool result found\b|\b(?:dummy|synthetic|placeholder) (?:tool )?(?:result|output|response)\b"
    r"|\brequest interrupted by user\b|\brestart occurred while this tool\b"
    r"|\buser doesn['\u2019]t want to (?:proceed with this tool use|take this action)"  # also written in mid-call
    r"|^\W*(?:aborted|interrupted)\b(?:\W*$| (?:by|because|before) )|^\s*[\[(<]\W*cancell?ed\b[^\[\](){}<>]*[\])>]\s*$",
    re.I | re.S,
)
_STOPPED = re.compile(r"\b(?:cancell?ed(?:error)?|aborted|aborterror|interrupted)\b", re.I)
PAST = r"(?!\s+(?:last|yesterday|earlier|previously|on\b|\d+\s+\w+\s+ago))"
_LOST = re.compile(
    rf"\btim(?:ed|ing)[ -]?out\b{PAST}|\bdeadline[ _-]?exceeded\b|\b(?:gateway|request|read|write|response) time-?out\b"
    r"|(?<!-)\b\w*time[-_]?out(?:error|exception|expired)?\b(?!['\"]?\s*(?:=|must|should|cannot|parameter|argument|option"
    r"|value|field|setting|policy|is |was set|of at))(?<!invalid timeout)(?<!unknown timeout)(?<!bad timeout)"
    r"|\be(?:socket)?timedout\b|\beconn(?:reset|aborted)\b|\bepipe\b|\bbroken pipe\b|\bsocket hang up\b"
    r"|\b(?:connection|stream|transport|peer|remote end|server) (?:was |has been |unexpectedly |is )*"
    r"(?:reset|closed|aborted|lost|dropped|disconnected|broken)\b|\bconnection error\b|\bfetch failed\b"
    r"|\bnetwork error\b"
    r"|\b504\b\W+gateway|\bbad gateway\b|\bno (?:reply|response|answer) (?:from|received|within|in time)\b"
    r"|\b(?:did|does) ?n[o\u2019']t (?:answer|respond|reply)\b|\b(?:not known|unknown) whether\b"
    r"|\boutcome (?:is )?unknown\b",
    re.I,
)
_CODE = re.compile(r"(?m)^(?:50[24]|408)$|\"(?:code|status\w*)\": ?\"?(?:50[24]|408)\b")
SUBJECT = (
    r"(?:the |this |a |mcp |http |api |tool |client )*(?:request|operation|call|command|execution|connection|socket"
    r"|read|gateway|server|upstream|function|action|query|response|process|api|tool|mcp|http\S*|\w*[_.(]\S*)"
)
_NOTICE = re.compile(
    rf"^\W*(?:errno \d+\W+)?(?:{SUBJECT}\s.{{0,60}}?)?(?:timed[ -]?out|time-?out)\b"
    r"\W*(?:$|[.;:,!(]|after\b|while\b|waiting\b)"
    r"|^\W*(?:\w*[a-z]timeout|(?:\w+[. ])*\w*(?:error|exception))\b\s*[:(\[]|^\W*(?:<\w+>\W*)*50[24]\b"
    r"|^\W*connection (?:was )?(?:reset|closed|lost|aborted)\b|^\W*(?:e\w*timedout|econnreset|deadline[ _-]?exceeded)\b"
    r"|^\W*(?:\w+ )?timeout\W*$",
    re.I,
)
_ERROR = re.compile(
    r"[\s\[(<*]*error\b"
    r"|\W*(?:(?:an|i|tool|mcp|api|http|network|server|internal|unexpected|fatal|encountered|execution) )+error\b"
    r"|\W*(?:\w+\.)*\w*(?:error|exception)\s*[:(]|\W*traceback \(most recent|\W*fail(?:ed (?:to|with)\b|ed:|ure:)"
    r"|\W*(?:the |your )?(?:\w+ ){1,3}failed:|\W*(?:http\W+)?(?:4\d\d|500|503) (?:bad request|unauthorized|forbidden"
    r"|not found|conflict|unprocessable|too many|internal server|service unavailable)",
    re.I,
)
_BAD = {"error", "failed", "failure", "timeout", "timed_out", "timed out", "timedout", "interrupted", "aborted"}
_COLOURS = re.compile(r"\x1b\[[0-9;:?]*[ -/]*[@-~]")
_CODES = ("status", "code", "status_code", "statusCode")
_SAID: tuple[str, ...] = (
    "error",
    "errors",
    *_CODES,
    "type",
    "error_type",
    "message",
    "detail",
    "details",
    "reason",
    "note",
)
_SAID += ("title", "content", "text", "output")
UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError)


def outcome_of(text: str, *, marked_error: bool) -> str:
    """What a result says of its call, as one of OUTCOMES: `text` as recorded, `marked_error` as its message marks it.

    - `not made`: it says in so many words that the tool was not executed;
    - `placeholder`: a framework's sentence in the place of a result: cancelled, interrupted, missing;
    - `timed out`: an error, or a notice on its own, that nobody answered in time or the connection was lost;
    - `failed`: any other error: it is marked so, begins with "error", or its JSON says so;
    - `answered`: all else, also where a successful result mentions a time-out of something else.
    """
    plain = _decoded(_COLOURS.sub("", text))
    if isinstance(plain, dict):
        return _of_object(plain, marked_error)
    said = plain if isinstance(plain, str) else ""  # another value is data, and tells nothing of the call
    if marked_error or _ERROR.match(said):
        return _of_error(said)
    return _of_notice(said) or ANSWERED


def _decoded(text: str) -> Any:
    """The JSON in a result, or its text; a list of text parts is their text."""
    if not text.lstrip().startswith(("{", "[", '"')):
        return text
    try:
        value = msgspec.json.decode(text)
    except UNREADABLE:
        return text
    parts = value if isinstance(value, list) else []
    texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
    return "\n".join(texts) if texts and len(texts) == len(parts) else value


def _of_object(answer: dict[str, Any], marked_error: bool) -> str:
    """The outcome that a JSON object tells: what its error fields say; what else it holds says nothing of the call."""
    status = [answer.get(name) for name in _CODES]
    bad = any(isinstance(each, str) and each.casefold() in _BAD for each in status)
    bad = bad or any(isinstance(each, int) and 400 <= each <= 599 for each in status)
    refused = False in (answer.get("success"), answer.get("ok"))
    wrong = bool(answer.get("error") or answer.get("errors")) or True in (answer.get("is_error"), answer.get("isError"))
    if marked_error or bad or refused or wrong:
        return _of_error("\n".join(_words(answer[name]) for name in _SAID if answer.get(name)))
    return ANSWERED


def _words(value: Any) -> str:
    return value if isinstance(value, str) else str(msgspec.json.encode(value), "utf-8")


def _of_error(said: str) -> str:
    """The outcome of an error: what is known of the call, when nothing else is, is that it failed."""
    said = said if len(said) <= 2 * HALF else f"{said[:HALF]}\n{said[-HALF:]}"
    told = _of_notice(said)
    if told in (NOT_MADE, PLACEHOLDER):
        return told
    if _LOST.search(said) or _CODE.search(said):
        return TIMED_OUT
    return PLACEHOLDER if len(said) <= MAX_NOTICE and _STOPPED.match(said.strip(" \t\n[](){}<>.:")) else FAILED


def _of_notice(said: str) -> str:
    """What a short text says by itself about its call; empty when it says nothing about it."""
    if len(said) > MAX_NOTICE:
        return ""
    if _NOT_MADE.search(said):
        return NOT_MADE
    if _PLACEHOLDER.search(said):
        return PLACEHOLDER
    return TIMED_OUT if _NOTICE.search(said) and _LOST.search(said) else ""
