"""Many trials: each tap of a fault-free run, on every engine and policy, in a few lanes at a time."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from itertools import product
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

from labkit.arguments import checked
from labkit.bench.job import spec_of
from labkit.bench.judging import Reference, outcome_of, reference_of
from labkit.bench.launch import DEFAULT_MODE, require_mode
from labkit.bench.log import Log, Settings
from labkit.bench.report import BenchReport, report_of
from labkit.bench.trial import Site, open_sites
from labkit.cases import find_workflow
from labkit.check.alone import explained
from labkit.check.repeats import same_request
from labkit.check.theory import Crashed
from labkit.check.verdict import Open, missing
from labkit.check.windows import WINDOWS
from labkit.effects.policies import POLICIES
from labkit.errors import InvalidInput
from labkit.model import Workflow
from labkit.own_engines import engine_names, engine_spec
from labkit.provider.faults import Fault
from labkit.runner import first_state
from labkit.scenario import AS_DECLARED, PROVIDERS, Scenario, names_of, require_workflow
from labkit.scratch import scratch_folder
from labkit.sim.calls import faults_named

LANES = 2 * (os.cpu_count() or 1)
"""Trials that are under way at a time: one waits for its disk or provider while another runs."""
SCRATCH = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where trials run that nobody keeps. SIGKILL spares the page cache, so a file in memory loses no more than on disk."""
Progress = Callable[[int, int], None]


class Planned(NamedTuple):
    """A trial to run: its scenario, where its first process dies, and the fault-free run to hold it against."""

    id: str
    scenario: Scenario
    crash: Crashed
    reference: Reference


@checked
def run(
    engines: Sequence[str | type[Any]] | type[Any] = (),
    policies: Sequence[str] = (),
    provider: str = AS_DECLARED,
    repeat: int = 1,
    workflow: str | Workflow[Any] = "refund",
    inputs: dict[str, Any] | None = None,
    windows: Sequence[str] | None = None,
    mode: str = DEFAULT_MODE,
    out: str | Path | None = None,
    keep: bool = False,
    progress: Progress | None = None,
    lanes: int = LANES,
    fault: str = "",
) -> BenchReport:
    """Kill and resume a real process at every tap of `workflow` (or those in `windows`), `repeat` times each.

    With `fault`, `NAME` or `NAME:EFFECT`, a call goes wrong in every trial, and theory has no rules for it. No engines
    or policies mean all; no inputs the workflow's example. With a folder `out`, a campaign that was interrupted goes on
    where it stopped, and `keep` leaves database, ledger and traces of each trial there. `progress(done, of)` is told
    about every few trials. Ctrl-C finishes the trials in flight and returns what there is. Raises InvalidInput before
    anything is run, LabError when the workflow fails without a crash.
    """
    found = find_workflow(workflow) if isinstance(workflow, str) else require_workflow(workflow)
    given = found.example if inputs is None else inputs
    settings = Settings(
        workflow=spec_of(found),
        inputs=given,
        engines=tuple(name for name in engine_names(engines) if engine_spec(name)),  # each process has to find it
        policies=names_of("policy", policies, tuple(POLICIES)),
        provider=names_of("provider", [provider], PROVIDERS)[0],
        windows=names_of("window", windows or (), WINDOWS),
        repeat=repeat,
        mode=require_mode(mode),
        faults=_faults(found, given, fault),
    )
    _require_sense(repeat, lanes, keep, out)
    return _carry_out(settings, found, out, keep, lanes, progress or (lambda done, of: None))


def _carry_out(
    settings: Settings, workflow: Workflow[Any], out: str | Path | None, keep: bool, lanes: int, progress: Progress
) -> BenchReport:
    """Begin the campaign in its folder, or go on with it."""
    with (
        _folder(out) as folder,
        closing(Log(folder, settings)) as log,
        open_sites(settings.mode, settings.workflow, folder / "trials", lanes) as sites,
    ):
        return _go_on(settings, workflow, log, sites, keep, progress)


def _go_on(
    settings: Settings, workflow: Workflow[Any], log: Log, sites: Sequence[Site], keep: bool, progress: Progress
) -> BenchReport:
    """Run the trials that are not in the log yet, and report on all."""
    plan = list(_plan(settings, workflow, sites[0], keep))
    todo = [planned for planned in plan if planned.id not in log.finished]
    begun, before = time.perf_counter(), len(plan) - len(todo)
    interrupted = _run_lanes(sites, todo, log, keep, lambda done: progress(before + done, len(plan)))
    return report_of(
        settings,
        workflow.name,
        [log.finished[planned.id] for planned in plan if planned.id in log.finished],
        before=before,
        schedules=len(plan) // settings.repeat,
        seconds=time.perf_counter() - begun,
        interrupted=interrupted,
        open=list(_open(plan)),
    )


def _open(plan: Sequence[Planned]) -> Iterator[Open]:
    """What the runs without a crash left unsettled, whatever crashes."""
    references = {(planned.scenario.engine, planned.scenario.policy): planned for planned in plan}
    for (engine, policy), planned in references.items():
        names, reference = (engine, policy, planned.scenario.provider), planned.reference
        for each in explained(reference.by_itself, reference.evidence):
            yield Open(*names, f"without any crash: {each.invariant}: {each.text}", wrong=True)
        for reason in [
            *missing(reference.evidence, [crash.tap for crash in reference.crashes]),
            *same_request(reference.evidence.outside),
        ]:
            yield Open(*names, reason)


def _plan(settings: Settings, workflow: Workflow[Any], site: Site, keep: bool) -> Iterator[Planned]:
    """Every trial, in a fixed order; runs each engine and policy once without a crash."""
    for engine, policy in product(settings.engines, settings.policies):
        scenario = Scenario(
            workflow=workflow,
            inputs=settings.inputs,
            engine=engine,
            policy=policy,
            provider=settings.provider,
            faults=settings.faults,
        )
        name = f"{engine}-{policy}-{settings.provider}"
        with _trial_folder(site.root / name, keep):
            printed = site.job(scenario, name, 1, None).output if keep else None
            reference = reference_of(scenario, site.trial(scenario, name, ()), printed)
        for index, crash in enumerate(reference.crashes):
            if crash.window in settings.windows:
                for number in range(1, settings.repeat + 1):
                    yield Planned(f"{name}-{index:03}-{number}", scenario, crash, reference)


def _run_lanes(
    sites: Sequence[Site], todo: Sequence[Planned], log: Log, keep: bool, tell: Callable[[int], object]
) -> bool:
    """Run the trials of `todo`, one at a time at each site; return whether Ctrl-C put an end to it."""
    waiting, stop, before = iter(todo), Event(), len(log.finished)

    def lane(site: Site) -> None:
        while not stop.is_set() and (planned := next(waiting, None)):
            _run_one(site, planned, log, keep)

    with ThreadPoolExecutor(len(sites)) as pool:
        running = [pool.submit(lane, site) for site in sites]
        try:
            while (state := wait(running, 0.1, FIRST_EXCEPTION)).not_done:
                tell(len(log.finished) - before)
                if any(ended.exception() for ended in state.done):
                    break
        except KeyboardInterrupt:
            return True
        finally:
            stop.set()
    for ended in running:
        ended.result()
    tell(len(log.finished) - before)
    return False


def _run_one(site: Site, planned: Planned, log: Log, keep: bool) -> None:
    begun = time.perf_counter()
    with _trial_folder(site.root / planned.id, keep):
        trial = site.trial(planned.scenario, planned.id, [planned.crash.tap])
        seconds = time.perf_counter() - begun
        log.append(outcome_of(planned.id, planned.scenario, [planned.crash], trial, planned.reference, seconds))


@contextmanager
def _trial_folder(folder: Path, keep: bool) -> Iterator[None]:
    """Before the block what a killed campaign left in `folder` is gone; after it the folder is, unless `keep`."""
    shutil.rmtree(folder, ignore_errors=True)
    yield
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _folder(out: str | Path | None) -> Iterator[Path]:
    if out is not None:
        yield Path(out)
        return
    with scratch_folder("bench", inside=SCRATCH) as folder:
        yield Path(folder)


def _faults(workflow: Workflow[Any], inputs: dict[str, Any], fault: str) -> tuple[Fault, ...]:
    """The call that goes wrong, if one is named; raise InvalidInput for it, and for inputs that no run begins with."""
    first_state(workflow, inputs)
    return faults_named(Scenario(workflow=workflow, inputs=inputs), [fault]) if fault else ()


def _require_sense(repeat: int, lanes: int, keep: bool, out: str | Path | None) -> None:
    if repeat < 1 or lanes < 1 or (keep and out is None):
        raise InvalidInput(
            f"repeat={repeat}, lanes={lanes}, keep={keep}, out={out}: expected at least 1, and a folder to keep in",
            safe="nothing was run",
        )
