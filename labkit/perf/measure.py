"""The measurement: every peer in turn, round after round, each block of steps right after as many raw commits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import msgspec

from labkit.errors import LabError
from labkit.perf import peers
from labkit.perf.histories import STATE, histories
from labkit.perf.machine import describe, real_disk
from labkit.perf.marks import marks
from labkit.perf.peers import FRAMEWORKS, LONG, OURS, RAW, Side
from labkit.perf.report import Report, Row
from labkit.scratch import scratch_folder

Progress = Callable[[str], None]


class Setting(NamedTuple):
    """One comparison: bytes of state, steps in a block, rounds, and in how many of them the frameworks are measured."""

    size: int
    steps: int
    rounds: int
    framework_rounds: int


class Plan(NamedTuple):
    """How much is measured. `replayed` and `lengths` are in events, `crashes` is the most in a simulated schedule,
    `campaign` what the bench runs."""

    settings: tuple[Setting, ...]
    replayed: int
    lengths: tuple[int, ...]
    crashes: int
    campaign: dict[str, Any]


FULL = Plan(
    settings=(
        Setting(1_000, 50, 7, 2),
        Setting(1_000, 200, 5, 2),
        Setting(1_000, 1_000, 15, 5),  # the marks hang on it, and one block in ten is off by a tenth
        Setting(20_000, 50, 5, 1),
        Setting(20_000, 200, 5, 1),
        Setting(20_000, 1_000, 3, 1),
    ),
    replayed=40_000,
    lengths=(1_000, 10_000, 100_000),
    crashes=2,
    campaign={"policies": ("ledger",), "repeat": 3},
)
QUICK = Plan(
    settings=(Setting(1_000, 3, 1, 1),),
    replayed=20,
    lengths=(10, 20, 40),
    crashes=1,
    campaign={"engines": ("hybrid",), "policies": ("bare",), "windows": ("W1",)},
)
ENOUGH = 60.0
"""Seconds after which the rounds of one comparison end: a slow disk is measured less often, not for longer."""


def measure(*, progress: Progress | None = None, quick: bool = False) -> Report:
    """Measure everything and hold it against the marks; `progress` is told what is being measured, a line at a time.

    `quick` measures next to nothing: it shows that everything can be measured, and no number of it counts.
    """
    tell, plan = progress or (lambda line: None), QUICK if quick else FULL
    with scratch_folder("perf", inside=str(real_disk())) as made:
        folder = Path(made)
        machine = describe(folder)
        rows = [row for setting in plan.settings for row in side_by_side(folder, setting, tell)]
        found = histories(folder, plan.replayed, plan.lengths, tell)
    rows += [
        Row(peer=LONG, state_bytes=STATE, steps=events - 1, recovery_milliseconds=median(seconds) * 1e3)
        for events, seconds in found.recovery.items()
    ]
    held = marks(rows, found, plan.crashes, plan.campaign, tell)
    if quick:
        held = [msgspec.structs.replace(mark, met=None) for mark in held]
    return Report(machine=machine, rows=rows, marks=held)


def side_by_side(folder: Path, setting: Setting, tell: Progress) -> list[Row]:
    """One row a peer; its ratio is the median of those of its blocks."""
    sides: dict[str, list[Side]] = {peer: [] for peer in (RAW, *OURS, *FRAMEWORKS)}
    ratios: dict[str, list[float]] = {peer: [] for peer in sides}
    reasons: dict[str, str] = {}
    for peer in turns(setting, tell):
        if peer in reasons:
            continue
        try:
            block = peers.block(peer, folder, setting.size, setting.steps)
        except LabError as error:
            if peer not in FRAMEWORKS:
                raise
            reasons[peer] = error.what
            continue
        sides[peer].append(block.peer)
        sides[RAW].append(block.raw)
        ratios[peer].append(block.peer.step / block.raw.step)
    ratios[RAW] = [1.0]
    return [row(peer, setting, sides[peer], ratios[peer], reasons.get(peer, "")) for peer in sides]


def turns(setting: Setting, tell: Progress) -> Iterator[str]:
    """The peers in the order in which they are measured, round after round; the frameworks join in some rounds."""
    begun, every = time.perf_counter(), -(-setting.rounds // setting.framework_rounds)
    for number in range(setting.rounds):
        if number and time.perf_counter() - begun > ENOUGH:
            return
        group = (*OURS, *FRAMEWORKS) if number % every == 0 else tuple(OURS)
        tell(f"{setting.steps:,} steps of {setting.size:,} bytes, round {number + 1} of {setting.rounds}")
        yield from group


def row(peer: str, setting: Setting, sides: list[Side], ratios: list[float], reason: str) -> Row:
    """The medians of a peer's blocks, or why there are none."""
    found = Row(peer=peer, state_bytes=setting.size, steps=setting.steps, blocks=len(sides), reason=reason)
    if not reason:
        found.microseconds = median(side.step for side in sides) * 1e6
        found.ratio = median(ratios)
        found.bytes_a_step = median(side.size for side in sides) / setting.steps
        found.recovery_milliseconds = median(side.recovery for side in sides) * 1e3
    return found
