"""What `labkit perf` found, as plain data."""

from __future__ import annotations

from typing import Any

import msgspec


class Row(msgspec.Struct, kw_only=True):
    """One peer at one size of state (bytes) and one number of steps: medians over so many `blocks` of steps.

    `ratio` is to raw SQLite commits of the same bytes, as many as steps, made just before them.
    `recovery_milliseconds` runs from opening the database to the entry of the next step. What was not measured is
    None, and `reason` says why.
    """

    peer: str
    state_bytes: int
    steps: int
    blocks: int = 0
    microseconds: float | None = None
    ratio: float | None = None
    bytes_a_step: float | None = None
    recovery_milliseconds: float | None = None
    reason: str = ""


class Mark(msgspec.Struct, kw_only=True):
    """A promise about speed. `value` is None when it could not be measured, and then the mark is not met; `met` is None
    when too little was measured for a verdict."""

    name: str
    value: float | None
    target: str
    met: bool | None


class Report(msgspec.Struct, kw_only=True):
    """One run of `labkit perf`. `machine` says where: disk, processor, versions."""

    machine: dict[str, Any]
    rows: list[Row]
    marks: list[Mark]


def at_most(name: str, value: float | None, limit: float) -> Mark:
    """The mark that `value` is `limit` or less."""
    return Mark(name=name, value=value, target=f"<= {limit:g}", met=value is not None and value <= limit)


def at_least(name: str, value: float | None, limit: float) -> Mark:
    """The mark that `value` is `limit` or more."""
    return Mark(name=name, value=value, target=f">= {limit:g}", met=value is not None and value >= limit)
