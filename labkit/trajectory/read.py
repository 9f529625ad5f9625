"""Reads recorded agent trajectories: one `{"id", "messages"}` a line, the messages in the chat-completions format.

What is read is data: nothing in it is run or followed. What does not fit is refused with its line and field, and
nothing is left out in silence: a line dropped could hold the very call that a crash repeats.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from labkit.trajectory.messages import Function, Message, decode, refused
from labkit.trajectory.model import ToolCall, Trajectory, Turn
from labkit.trajectory.outcomes import UNREADABLE

MAX_BYTES = 64_000_000  # of a file
MAX_NAME = 200  # characters of an id or a tool name
ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_objects = msgspec.json.Decoder(dict[str, Any])


def read(path: str | Path) -> list[Trajectory]:
    """The trajectories in a file of JSON lines, or of one JSON array; raise InvalidInput naming line and field."""
    found: dict[str, Trajectory] = {}
    for where, text in _records(Path(path)):
        trajectory = _trajectory(where, text)
        if trajectory.id in found:
            raise refused(where, "id", f"{trajectory.id!r} is the id of an earlier trajectory", "give each its own id")
        found[trajectory.id] = trajectory
    if not found:
        raise refused(str(path), "", "holds no trajectory", "record at least one run in it")
    return list(found.values())


def _records(path: Path) -> Iterator[tuple[str, str]]:
    """Each record with its place: the lines of the file, or the items of one JSON array."""
    text = _text(path)
    if not text.lstrip().startswith("["):
        lines = text.split("\n")  # not splitlines(): it also splits at line ends that are legal inside JSON text
        yield from ((f"line {number}", line) for number, line in enumerate(lines, 1) if line.strip())
        return
    try:
        items = msgspec.json.decode(text, type=list[msgspec.Raw])
    except UNREADABLE as error:
        line = text[: text.index("[")].count("\n") + 1
        raise refused(f"line {line}", "", f"the JSON array that begins here cannot be read: {error}") from None
    yield from ((f"item {number}", bytes(item).decode()) for number, item in enumerate(items, 1))


def _text(path: Path) -> str:
    try:
        if not path.is_file():
            raise refused(str(path), "", "is not a file", "name a file of recorded trajectories")
        if (size := path.stat().st_size) > MAX_BYTES:
            raise refused(str(path), "", f"has {size:,} bytes, the limit is {MAX_BYTES:,}", "split it by lines")
        body = path.read_bytes()
    except (OSError, ValueError) as error:
        raise refused(str(path), "", f"cannot be opened: {error}", "name a file that can be read") from None
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise refused(f"line {line}", "", f"byte {error.start} of the file is not UTF-8", "save it as UTF-8") from None


def _trajectory(where: str, text: str) -> Trajectory:
    recording = decode(where, text)
    turns: list[Turn] = []
    for index, message in enumerate(recording.messages):
        field = f"messages[{index}]"
        if message.role not in ROLES:
            raise refused(where, f"{field}.role", f"{message.role[:80]!r} is unknown: expected {', '.join(ROLES)}")
        if message.role == "assistant":
            turns.append(Turn(text=message.text, calls=_calls(where, field, message)))
        elif message.role in ("tool", "function"):
            _answer(where, field, message, turns)
    if not turns:
        raise refused(where, "messages", "no assistant message: no model was called", "leave the run out")
    name = where.replace(" ", "-") if recording.id is None else _name(where, "id", str(recording.id))
    return Trajectory(id=name, turns=turns, source=where)


def _calls(where: str, field: str, message: Message) -> list[ToolCall]:
    """The calls that an assistant message asks for: several in parallel, or one in the form of old recordings."""
    asked = [
        (f"{field}.tool_calls[{place}].function", call.id or "", call.function)
        for place, call in enumerate(message.tool_calls or [])
    ]
    if message.function_call:
        asked.append((f"{field}.function_call", "", message.function_call))
    return [
        ToolCall(
            id=call_id,
            place=place.removesuffix(".function"),
            name=_name(where, f"{place}.name", function.name),
            arguments=_arguments(where, f"{place}.arguments", function),
        )
        for place, call_id, function in asked
    ]


def _name(where: str, field: str, text: str) -> str:
    if not text.strip() or len(text) > MAX_NAME or not text.isprintable():
        raise refused(where, field, f"{text[:80]!r} is not a name: expected 1 to {MAX_NAME} printable characters")
    return text


def _arguments(where: str, field: str, function: Function) -> dict[str, Any]:
    """The arguments as a dict; nothing at all counts as no arguments."""
    given = function.arguments
    if isinstance(given, dict):
        return given
    try:
        return _objects.decode(given) if given and given.strip() else {}
    except UNREADABLE as error:
        raise refused(where, field, f"{given!r:.80} is not a JSON object: {error}") from None


def _answer(where: str, field: str, message: Message, turns: list[Turn]) -> None:
    """Give a result to its call: the first that waits in the nearest message before it, since ids are used again.

    Call and result agree on the id and on the name, as far as both have them.
    """
    call_id, name = message.tool_call_id, message.name
    if not call_id and not name:
        raise refused(where, f"{field}.tool_call_id", "a result must say by id or name which call it answers")
    for call in (call for turn in reversed(turns) for call in turn.calls):
        same_id = not call_id or not call.id or call_id == call.id
        if call.result is None and same_id and (not name or name == call.name):
            call.result, call.outcome = message.text, message.outcome
            return
    at = f"{field}.tool_call_id" if call_id else f"{field}.name"
    told = " of ".join(f"{text[:80]!r}" for text in (call_id, name) if text)
    raise refused(where, at, f"no earlier call {told} waits for a result")
