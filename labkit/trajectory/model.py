"""What a recorded run is once read: turns, the calls in them, how each ended, and results nobody asked for."""

from __future__ import annotations

from typing import Any

import msgspec

OUTCOMES = ("answered", "failed", "timed out", "placeholder", "unanswered", "unclear", "not made")
"""How a call ended, as far as the recording says.

`answered` and `failed`: by a result, or by one that reads as an error. `timed out`: by an error that says that nobody
waited long enough. `placeholder`: by a text that stands where the result is missing. `unanswered`: by nothing.
`unclear`: a result is there, and it is not known which of several calls it answers. `not made`: the arguments cannot be
read, and no result says that the tool ran.
"""
IN_DOUBT = ("timed out", "placeholder", "unanswered", "unclear")


class ToolCall(msgspec.Struct, kw_only=True):
    """One call that the model asked for.

    `place` is where it stands in its run, as in `messages[4].tool_calls[0]`; `result` is its answer as text, None where
    the recording holds none that is surely its own. `unreadable` holds arguments that are no JSON object, as text.
    """

    id: str
    name: str
    arguments: dict[str, Any]
    place: str = ""
    result: str | None = None
    outcome: str = "unanswered"
    unreadable: str = ""
    notes: list[str] = msgspec.field(default_factory=list)

    @property
    def in_doubt(self) -> bool:
        """Whether the recording leaves open if this call took effect. Only an answer settles it."""
        return self.outcome in IN_DOUBT

    @property
    def failed(self) -> bool:
        """Whether the answer reads as an error, time-outs included. It never says that nothing happened outside."""
        return self.outcome in ("failed", "timed out")

    @property
    def made(self) -> bool:
        """Whether the call can have reached its tool."""
        return self.outcome != "not made"


class Stray(msgspec.Struct, kw_only=True):
    """A result that belongs to no call: nobody asked for it, or its call has one already. `id` and `name` as given."""

    place: str
    id: str
    name: str
    text: str


class Turn(msgspec.Struct, kw_only=True):
    """One model call: what it said, and the tool calls that it asked for."""

    text: str
    calls: list[ToolCall]


class Trajectory(msgspec.Struct, kw_only=True):
    """One recorded run of an agent. `source` is its place in the file, `line 3`; a run without an id is called by it.

    `shapes` names the formats that were met in it, in order of first sight.
    """

    id: str
    turns: list[Turn]
    strays: list[Stray] = msgspec.field(default_factory=list)
    source: str = ""
    shapes: list[str] = msgspec.field(default_factory=list)

    @property
    def calls(self) -> list[ToolCall]:
        """Every tool call, in order."""
        return [call for turn in self.turns for call in turn.calls]
