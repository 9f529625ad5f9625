"""The measurement: blocks of raw commits and of each peer in turn, so that a noisy disk hits both alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from labkit.errors import LabError
from labkit.perf import peers
from labkit.perf.histories import STATE, histories
from labkit.perf.machine import describe, real_disk
from labkit.perf.marks import marks
from labkit.perf.peers import FRAMEWORKS, LONG, OURS, RAW, Block
from labkit.perf.report import Report, Row

Progress = Callable[[str], None]


class Setting(NamedTuple):
    """One comparison: bytes of state, steps in a block, how often ours and how often the frameworks are measured."""

    size: int
    steps: int
    rounds: int
    framework_rounds: int


class Plan(NamedTuple):
    """How much is measured. `replayed` and `lengths` are in events, `crashes` is the most in a schedule."""

    settings: tuple[Setting, ...]
    replayed: int
    lengths: tuple[int, ...]
    crashes: int


FULL = Plan(
    settings=(
        Setting(1_000, 50, 7, 2),
        Setting(1_000, 200, 5, 2),
        Setting(1_000, 1_000, 9, 2),
        Setting(20_000, 50, 5, 1),
        Setting(20_000, 200, 5, 1),
        Setting(20_000, 1_000, 3, 1),
    ),
    replayed=40_000,
    lengths=(1_000, 10_000, 100_000),
    crashes=2,
)
QUICK = Plan(settings=(Setting(1_000, 3, 1, 1),), replayed=20, lengths=(10, 20, 40), crashes=1)


def measure(*, progress: Progress | None = None, quick: bool = False) -> Report:
    """Measure everything and hold it against the marks; `progress` is told what is being measured, a line at a time.

    `quick` measures next to nothing: it shows that everything can be measured, and no number of it counts.
    """
    tell, plan = progress or (lambda line: None), QUICK if quick else FULL
    with TemporaryDirectory(prefix="labkit-perf-", dir=real_disk()) as made:
        folder = Path(made)
        machine = describe(folder)
        rows = [row for setting in plan.settings for row in side_by_side(folder, setting, tell)]
        found = histories(folder, plan.replayed, plan.lengths, tell)
    rows += [
        Row(peer=LONG, state_bytes=STATE, steps=events - 1, recovery_milliseconds=seconds * 1e3)
        for events, seconds in found.recovery.items()
    ]
    return Report(machine=machine, rows=rows, marks=marks(rows, found, plan.crashes, tell))


def side_by_side(folder: Path, setting: Setting, tell: Progress) -> list[Row]:
    """One row a peer: raw, peer, raw, peer, ..., each ratio to the mean of the raw blocks before and after."""
    blocks: dict[str, list[Block]] = {peer: [] for peer in (RAW, *OURS, *FRAMEWORKS)}
    ratios: dict[str, list[float]] = {peer: [] for peer in blocks}
    reasons: dict[str, str] = {}

    def raw() -> float:
        blocks[RAW].append(peers.block(RAW, folder, setting.size, setting.steps))
        return blocks[RAW][-1].step

    for group, rounds in ((OURS, setting.rounds), (FRAMEWORKS, setting.framework_rounds)):
        for number in range(rounds):
            tell(f"{', '.join(group)}: {setting.steps:,} steps of {setting.size:,} bytes, {number + 1} of {rounds}")
            before = raw()
            for peer in group:
                if peer in reasons:
                    continue
                try:
                    blocks[peer].append(peers.block(peer, folder, setting.size, setting.steps))
                except LabError as error:
                    reasons[peer] = error.what
                after = raw()
                if peer not in reasons:
                    ratios[peer].append(blocks[peer][-1].step / mean((before, after)))
                before = after
    ratios[RAW] = [1.0]
    return [row(peer, setting, blocks[peer], ratios[peer], reasons.get(peer, "")) for peer in blocks]


def row(peer: str, setting: Setting, blocks: list[Block], ratios: list[float], reason: str) -> Row:
    """The medians of a peer's blocks, or why there are none."""
    found = Row(peer=peer, state_bytes=setting.size, steps=setting.steps, reason=reason)
    if not reason:
        found.microseconds = median(block.step for block in blocks) * 1e6
        found.ratio = median(ratios)
        found.bytes_a_step = median(block.size for block in blocks) / setting.steps
        found.recovery_milliseconds = median(block.recovery for block in blocks) * 1e3
    return found
