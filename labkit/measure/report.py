"""What a campaign found: one row a cell, rates with intervals, and where and with what it was measured."""

from __future__ import annotations

import math
import os
import platform
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import median, quantiles
from typing import Any

import msgspec

from labkit.cases.desk import EFFECTS
from labkit.measure.plan import Plan
from labkit.measure.trial import SITUATIONS, WINDOWS, Cell, Result

Z = 1.959964  # of the normal distribution: intervals of 95 %
COUNTED: dict[str, Callable[[set[str], Result], bool]] = {
    "duplicated": lambda own, result: bool(own & {*result.duplicated}),
    "other_duplicated": lambda own, result: bool({*result.duplicated} - own),
    "lost": lambda own, result: bool(own & {*result.lost}),
    "other_lost": lambda own, result: bool({*result.lost} - own),
    "wrong": lambda own, result: result.wrong,
    "false_finish": lambda own, result: result.false_finish,
    "open": lambda own, result: bool(result.open),
    "paid_again": lambda own, result: result.paid > 0,
}
"""What is counted over the trials of a cell with these effects of its `own`: in how many of them it was seen."""


class Rate(msgspec.Struct, kw_only=True, frozen=True):
    """`count` of the judged trials, and the interval in which the rate lies (Wilson, 95 %)."""

    count: int
    low: float
    high: float


class StackCell(msgspec.Struct, kw_only=True, frozen=True):
    """One cell: how many `trials` were judged, what was seen in how many, seconds to recover, bytes on disk.

    `duplicated` and `lost` are of the cell's own effect, or of any without a kill; `other_` of the rest;
    what else is counted is of the run as a whole.
    `statuses` counts how the runs stood at the end, as the framework says. `seconds_95` is the 95th percentile.
    `not_reached` and `errors` are trials that could not be judged; `example` is a detail of one of them, or of a run
    that failed.
    """

    stack: str
    policy: str
    situation: str
    window: str
    effect: str
    trials: int
    duplicated: Rate
    other_duplicated: Rate
    lost: Rate
    other_lost: Rate
    wrong: Rate
    false_finish: Rate
    open: Rate
    paid_again: Rate
    activities_paid: int
    statuses: dict[str, int]
    seconds_median: float | None
    seconds_95: float | None
    bytes: int | None
    not_reached: int
    errors: int
    example: str = ""


class Done(msgspec.Struct, frozen=True):
    """A cell that is finished: its results, and the worker that finished it."""

    results: list[Result]
    worker: str


class StackReport(msgspec.Struct, kw_only=True, frozen=True):
    """A campaign's cells, with what is needed to repeat it.

    `machine` is that of who reports, `workers` says how many cells each worker finished, `servers` where those came
    from that were needed, `not_run` which stacks were not run, and why. `seconds` are those of the last call, when
    `before` cells were finished already.
    """

    machine: dict[str, Any]
    versions: dict[str, str]
    servers: dict[str, str]
    seed: int
    repeat: int
    mode: str
    seconds: float
    before: int
    trials: int
    workers: dict[str, int]
    cells: list[StackCell]
    not_run: dict[str, str]

    @property
    def ok(self) -> bool:
        """True when every trial could be judged and every stack was run."""
        return not self.not_run and not any(cell.errors or cell.not_reached for cell in self.cells)


def wilson(count: int, trials: int) -> Rate:
    """The rate `count` of `trials` with its 95 % score interval; without trials it may be anything.

    E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927), 209-212.
    """
    if not trials:
        return Rate(count=0, low=0.0, high=1.0)
    share, square = count / trials, Z * Z
    middle = (share + square / (2 * trials)) / (1 + square / trials)
    reach = Z / (1 + square / trials) * math.sqrt(share * (1 - share) / trials + square / (4 * trials * trials))
    low, high = max(0.0, middle - reach), min(1.0, middle + reach)
    return Rate(count=count, low=0.0 if count == 0 else low, high=1.0 if count == trials else high)


def cell_of(cell: Cell, results: Sequence[Result]) -> StackCell:
    """What the `results` of a cell add up to."""
    judged = [result for result in results if result.kind == "judged"]
    rates = {name: wilson(sum(seen(cell.own, each) for each in judged), len(judged)) for name, seen in COUNTED.items()}
    seconds = sorted(result.seconds for result in judged)
    sizes = [result.size for result in judged if result.size is not None]
    details = [result.detail for result in results if result.detail and result.kind != "judged"]
    failed = [result.detail for result in judged if result.detail and result.status != "completed"]
    return StackCell(
        stack=cell.stack,
        policy=cell.policy,
        situation=cell.situation,
        window=cell.window,
        effect=cell.effect,
        trials=len(judged),
        **rates,
        activities_paid=sum(result.paid for result in judged),
        statuses=Counter(result.status for result in judged),
        seconds_median=median(seconds) if seconds else None,
        seconds_95=percentile_95(seconds),
        bytes=int(median(sizes)) if sizes else None,
        not_reached=sum(result.kind == "not reached" for result in results),
        errors=sum(result.kind == "error" for result in results),
        example=next(iter(details or failed), ""),
    )


def percentile_95(values: Sequence[float]) -> float | None:
    """The 95th percentile of sorted `values`; of fewer than two the only one, or None."""
    if len(values) < 2:
        return values[0] if values else None
    return quantiles(values, n=20, method="inclusive")[18]


def report_of(
    plan: Plan,
    found: Mapping[Cell, Done],
    not_run: dict[str, str],
    servers: dict[str, str],
    *,
    before: int,
    seconds: float,
) -> StackReport:
    """The report on what was `found` for each cell; the first `before` of them were finished already."""
    cells = [cell_of(cell, done.results) for cell, done in found.items()]
    order = [*plan.stacks, *plan.policies, *SITUATIONS, "", *EFFECTS, *WINDOWS]
    cells.sort(
        key=lambda cell: [
            order.index(name) for name in (cell.stack, cell.policy, cell.situation, cell.effect, cell.window)
        ]
    )
    return StackReport(
        machine=machine(),
        versions={name: found for stack in plan.stacks for name, found in plan.versions[stack].items()},
        servers=servers,
        seed=plan.seed,
        repeat=plan.repeat,
        mode=plan.mode,
        seconds=seconds,
        before=before,
        trials=sum(cell.trials for cell in cells),
        workers=Counter(done.worker for done in found.values()),
        cells=cells,
        not_run=not_run,
    )


def machine() -> dict[str, Any]:
    """Where it was measured."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }
