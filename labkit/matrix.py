"""The central table: every engine, policy and provider, every crash, and what theory expects of each.

Combinations are explored in as many processes as there are cores; a workflow that no other process can import is
explored in this one.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from itertools import product
from typing import Any, NamedTuple

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from labkit.arguments import checked
from labkit.cases import find_workflow, name_of
from labkit.check.cells import Cell
from labkit.check.render import cell_table
from labkit.check.verdict import Open, told
from labkit.effects.policies import POLICIES
from labkit.model import CAPABILITIES, Workflow
from labkit.own_engines import engine_names, engine_spec, importable
from labkit.scenario import PROVIDERS, inputs_for, names_of
from labkit.sim import Report, bound, explore
from labkit.sim.calls import FaultCell, Wanted, wanted
from labkit.sim.counterexample import Counterexample, happens
from labkit.sim.fault_table import fault_table

Combination = tuple[str, str, str]
MOST_TOLD = 5
Progress = Callable[[int, int], None]


class How(NamedTuple):
    """How each combination is explored."""

    crashes: int
    call_faults: Wanted
    inputs: dict[str, Any]


class MatrixReport(msgspec.Struct, kw_only=True):
    """The table. `unexpected` counts schedules in which theory and observation disagree; `seconds` is wall time.

    `counterexamples` holds one for each combination in which an invariant was broken; `open` says of a combination
    what is wrong or unsettled about it whatever crashes; `recoveries` counts the processes that were really simulated
    for the `schedules`.
    """

    workflow: str
    crashes: int
    schedules: int
    seconds: float
    cells: list[Cell]
    unexpected: int
    recoveries: int
    disagreements: list[dict[str, Any]]
    counterexamples: list[Counterexample]
    open: list[Open] = []
    call_faults: list[FaultCell] = []

    @property
    def ok(self) -> bool:
        """True when theory expected each schedule, and nothing is wrong or open whatever crashes."""
        return not (self.unexpected or self.open)


@checked
def matrix(
    workflow: Workflow[Any],
    *,
    engines: Sequence[str | type[Any]] | type[Any] = (),
    policies: tuple[str, ...] = (),
    providers: tuple[str, ...] = (),
    crashes: int = 1,
    call_faults: Wanted = None,
    inputs: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> MatrixReport:
    """Explore every combination; names left out mean all (three engines, four policies, three providers).

    An engine may be a class. `call_faults` are tried besides, as `explore` does. `progress(done, of)` follows each
    combination. Raises InvalidInput for an unknown name.
    """
    combinations = list(
        product(
            engine_names(engines),
            names_of("policy", policies, tuple(POLICIES)),
            names_of("provider", providers, PROVIDERS, CAPABILITIES),
        )
    )
    wanted(call_faults)
    begun, how = time.perf_counter(), How(crashes, call_faults, inputs_for(workflow, inputs))
    reports: dict[Combination, Report] = {}
    for done, (combination, report) in enumerate(_explore_all(workflow, combinations, how), 1):
        reports[combination] = report
        if progress:
            progress(done, len(combinations))
    return _report(workflow, crashes, [reports[combination] for combination in combinations], begun)


def _report(workflow: Workflow[Any], crashes: int, ordered: Sequence[Report], begun: float) -> MatrixReport:
    """The reports of all combinations, in their order, as one."""
    faulted = [cell for report in ordered for cell in report.call_faults]
    return MatrixReport(
        workflow=workflow.name,
        crashes=crashes,
        schedules=sum(report.schedules for report in ordered),
        seconds=time.perf_counter() - begun,
        cells=[cell for report in ordered for cell in report.cells],
        unexpected=sum(report.unexpected for report in ordered) + sum(cell.unexpected for cell in faulted),
        recoveries=sum(report.recoveries for report in ordered),
        disagreements=[found for report in ordered for found in report.disagreements[:MOST_TOLD]],
        counterexamples=[report.counterexample for report in ordered if report.counterexample],
        open=[found for report in ordered for found in _open(report)],
        call_faults=faulted,
    )


def _open(report: Report) -> Iterator[Open]:
    names = (report.engine, report.policy, report.provider)
    yield from (Open(*names, reason, wrong=True) for reason in report.wrong())
    yield from (Open(*names, reason) for reason in report.unsettled())


def _explore_all(
    workflow: Workflow[Any], combinations: list[Combination], how: How
) -> Iterator[tuple[Combination, Report]]:
    name = name_of(workflow)
    cores = min(os.cpu_count() or 1, len(combinations))
    alone = not all(importable(engine) for engine, _, _ in combinations)
    few = how.crashes == 1 and not how.call_faults
    if name is None or alone or cores == 1 or few:  # starting processes would take longer than one crash each
        for combination in combinations:
            yield combination, _explore_one(workflow, combination, how)
        return
    with ProcessPoolExecutor(cores, mp_context=multiprocessing.get_context("spawn")) as pool:
        jobs: dict[Future[bytes], Combination] = {}
        for combination in combinations:
            spec = (engine_spec(combination[0]), *combination[1:])
            jobs[pool.submit(_explore_by_name, name, spec, how)] = combination
        try:
            for job in as_completed(jobs):
                yield jobs[job], msgspec.json.decode(job.result(), type=Report)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _explore_one(workflow: Workflow[Any], combination: Combination, how: How) -> Report:
    engine, policy, provider = combination
    names: dict[str, Any] = {"engine": engine, "policy": policy, "provider": provider}
    return explore(workflow, **names, crashes=how.crashes, call_faults=how.call_faults, **how.inputs)


def _explore_by_name(name: str, combination: Combination, how: How) -> bytes:
    return msgspec.json.encode(_explore_one(find_workflow(name), combination, how))


def render(report: MatrixReport) -> RenderableType:
    """The table for a terminal, one line a combination; below it the first schedules that theory did not expect."""
    title = (
        f"{report.workflow}: all {report.schedules:,} schedules of {bound(report.crashes)}, "
        f"{report.seconds:.1f} s, {sum(cell.unexpected for cell in report.cells)} unexpected"
    )
    surprises = [
        f"unexpected on {found['engine']}, {found['policy']}, {found['provider']}: {', '.join(found['differs'])}; "
        f"{happens((), found['schedule'])}{''.join(f'; {text}' for text in found['told'][:1])}"
        for found in report.disagreements[:MOST_TOLD]
    ]
    surprises += [
        f"unexpected on {cell.engine}, {cell.policy}, {cell.provider}: {cell.name} at {cell.effect}: theory says "
        f"{cell.expected}, without a crash it did {', '.join(cell.alone) or 'nothing wrong'}"
        for cell in [cell for cell in report.call_faults if cell.unexpected][:MOST_TOLD]
    ]
    second = [fault_table(report.call_faults)] if report.call_faults else []
    return Group(cell_table(report.cells, title, "schedules"), *second, *surprises, *map(Text, told(report.open)))
