"""What a recorded message must look like: the chat-completions format, typed. Fields not named here are ignored."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from labkit.errors import InvalidInput
from labkit.trajectory.outcomes import UNREADABLE, outcome_of

MAX_MESSAGES = 10_000  # of a trajectory
MAX_PARALLEL = 128  # tool calls in one message


class Function(msgspec.Struct):
    """The function that a call names; `arguments` is an object, as JSON text or plain."""

    name: str
    arguments: str | dict[str, Any] | None = None


class Call(msgspec.Struct):
    """One entry of `tool_calls`."""

    function: Function
    id: str | None = None
    type: Literal["function"] = "function"


class Part(msgspec.Struct):
    """One part of a content that is a list."""

    type: str = "text"
    text: str | None = None


class Message(msgspec.Struct):
    """One message. `status` and `is_error` are marks that some clients put on a tool message."""

    role: str
    content: str | list[str | Part] | None = None
    tool_calls: Annotated[list[Call], msgspec.Meta(max_length=MAX_PARALLEL)] | None = None
    function_call: Function | None = None
    tool_call_id: str | None = None
    name: str | None = None
    status: Any = None
    is_error: Any = None

    @property
    def text(self) -> str:
        """The content as text; a part that is no text is named by its type, `[image_url]`."""
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        parts = (part if isinstance(part, str) else (part.text or f"[{part.type}]") for part in self.content)
        return "\n".join(parts)

    @property
    def outcome(self) -> str:
        """How this result ended its call, see `labkit.trajectory.outcomes`."""
        return outcome_of(self.text, marked_error=self.is_error is True or self.status == "error")


class Recording(msgspec.Struct):
    """One record of a file: a run with its messages."""

    messages: Annotated[list[Message], msgspec.Meta(max_length=MAX_MESSAGES)]
    id: str | int | None = None


_recordings = msgspec.json.Decoder(Recording)


def decode(where: str, text: str) -> Recording:
    """The record in `text`; raise InvalidInput naming its place `where` and the field that does not fit."""
    try:
        return _recordings.decode(text)
    except msgspec.ValidationError as error:
        why, _, field = str(error).partition(" - at `$")
        raise refused(where, field.strip("`."), why) from None
    except UNREADABLE as error:
        why = "the record ends in the middle" if "truncated" in str(error) else f"is not JSON: {error}"
        raise refused(where, "", why, "complete the record or take it out") from None


def refused(where: str, field: str, why: str, next: str = "") -> InvalidInput:
    """The error for one place of a recording: `line 3: messages[4].role: why`."""
    return InvalidInput(
        ": ".join(part for part in (where, field, why) if part),
        safe="nothing was run or written",
        next=next or "correct the recording; datasets/README.md shows one that fits",
    )
