"""Recorded runs made for tests."""

from __future__ import annotations

from typing import Any

from labkit.trajectory.model import Stray, ToolCall, Trajectory, Turn


def run_of(*calls: ToolCall, strays: list[Stray] | None = None) -> Trajectory:
    """A run whose model asks for these calls, one a message, each with the place and id of its number."""
    for number, call in enumerate(calls):
        call.place, call.id = call.place or f"messages[{2 * number}].tool_calls[0]", call.id or f"c{number}"
    return Trajectory(id="run", turns=[Turn(text="", calls=[call]) for call in calls], strays=strays or [])


def pay(outcome: str = "answered", **arguments: Any) -> ToolCall:
    """A call of `pay`."""
    return ToolCall(
        id="", name="pay", arguments=arguments, outcome=outcome, result="Error: x" if outcome != "unanswered" else None
    )
