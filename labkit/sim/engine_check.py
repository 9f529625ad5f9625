"""The check of an engine: workflows made for it, every crash, two workers, forks and compaction."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec

from labkit.cases.for_engines import WORKFLOWS, Tried
from labkit.clock import next_clock
from labkit.errors import LabError, Unsupported
from labkit.model import TERMINAL, Run
from labkit.own_engines import engine_name
from labkit.provider.twin import Twin
from labkit.runner import Runner
from labkit.scenario import Scenario, drive
from labkit.sim.explore import explore
from labkit.sim.interleave import interleave
from labkit.sim.lives import Image, Life, Simulation, first_life
from labkit.sim.report import Report
from labkit.store.sqlite import SqliteStore

POLICIES = ("ledger", "bare", "outbox")  # keyed writes what bare does
DIFFERS = {
    "duplicated": "whether an effect is executed twice",
    "lost": "whether an effect is lost",
    "untracked": "whether only the provider knows of an effect",
    "ambiguous": "whether an effect is left for a person",
    "activities_repeated": "how many activities are called again",
}
Progress = Callable[[int, int], None]


class Finding(msgspec.Struct, kw_only=True):
    """One check: `check` is the workflow's name, or what was done with it, `tried` how many ways were tried.

    `problem` is empty when it passed; `schedule` are the taps at which processes died, the fewest that show it.
    """

    check: str
    policy: str
    tried: int = 0
    problem: str = ""
    schedule: list[str] = []

    def __str__(self) -> str:
        if not self.problem:
            return f"{self.check}, {self.policy}: passed, {self.tried:,} tried"
        died = f"; crash at {', then at '.join(self.schedule)}" if self.schedule else ""
        return f"{self.check}, {self.policy}: FAILED: {self.problem}{died}"


class EngineReport(msgspec.Struct, kw_only=True):
    """What the check of an engine found, in the order in which it was checked."""

    engine: str
    seconds: float
    findings: list[Finding]

    @property
    def ok(self) -> bool:
        """True when something was checked and everything passed."""
        return bool(self.findings) and not self.failed

    @property
    def failed(self) -> list[Finding]:
        """The checks that failed."""
        return [each for each in self.findings if each.problem]

    def __str__(self) -> str:
        passed = len(self.findings) - len(self.failed)
        tried = sum(each.tried for each in self.findings)
        title = f"engine {self.engine}: {passed} of {len(self.findings)} checks passed, {tried:,} ways tried"
        return "\n".join([f"{title} in {self.seconds:.1f} s", *map(str, self.failed)])


def check_engine(engine: str | type[Any], *, stop: bool = False, progress: Progress | None = None) -> EngineReport:
    """Check an engine, given as a class, a name or `module:Class`, on the workflows of `labkit.cases.for_engines`.

    It passes when every crash leads to what theory expects of an engine that declares what it does, two workers do not
    write over each other, and what it forks and compacts reads as before. With `stop` nothing is checked after the
    first failure. `progress(done, of)` is called after each check. Raises InvalidInput for a class that is no engine.
    """
    name, begun = engine_name(engine), time.perf_counter()
    todo = list(_checks(name))
    findings = []
    for check in todo:
        findings.append(check())
        if progress:
            progress(len(findings), len(todo))
        if stop and findings[-1].problem:
            break
    return EngineReport(engine=name, seconds=time.perf_counter() - begun, findings=findings)


def _checks(engine: str) -> Iterator[Callable[[], Finding]]:
    for tried in WORKFLOWS.values():
        for policy in POLICIES:
            yield partial(_crashed, engine, policy, tried)
    for tried in WORKFLOWS.values():
        if tried.two_workers:
            yield partial(_shared, engine, tried)
    for tried in WORKFLOWS.values():
        yield partial(_kept, engine, tried)


def _crashed(engine: str, policy: str, tried: Tried) -> Finding:
    """Every schedule, against what theory expects."""
    found = Finding(check=tried.workflow.name, policy=policy)
    try:
        report = explore(tried.workflow, engine=engine, policy=policy, crashes=1)
        if tried.crashes > 1 and not _problem(report).problem:
            report = explore(tried.workflow, engine=engine, policy=policy, crashes=tried.crashes)
    except LabError as error:
        return msgspec.structs.replace(found, problem=error.what)
    wrong = _problem(report)
    return msgspec.structs.replace(found, tried=report.schedules, problem=wrong.problem, schedule=wrong.schedule)


def _problem(report: Report) -> Finding:
    """What a report says against an engine, by the shortest schedule that shows it."""
    found = Finding(check=report.workflow, policy=report.policy)
    untold = sum(cell.untold for cell in report.cells)
    if report.disagreements:
        first = min(report.disagreements, key=lambda each: len(each["schedule"]))
        told = first["told"] or [f"not as theory expects: {', '.join(map(DIFFERS.__getitem__, first['differs']))}"]
        return msgspec.structs.replace(found, problem=told[0], schedule=list(first["schedule"]))
    if untold:
        return msgspec.structs.replace(found, problem=f"{untold} crashes lead another way than a run without a crash")
    return msgspec.structs.replace(found, problem="; ".join(report.missing))


def _shared(engine: str, tried: Tried) -> Finding:
    """Every interleaving of two workers."""
    found = Finding(check=f"{tried.workflow.name}, two workers", policy="ledger")
    try:
        report = interleave(tried.workflow, engine=engine)
    except LabError as error:
        return msgspec.structs.replace(found, problem=error.what)
    found.tried = report.interleavings
    for broken in report.broken[:1]:
        found.problem = f"{broken.violations[0].invariant}: {broken.violations[0].text}"
        found.schedule = [f"worker 1 pauses at {broken.paused_at}", f"it wakes at {broken.woken_at}"]
    return found


def _kept(engine: str, tried: Tried) -> Finding:
    """Forks from every moment of the history, and what is compacted at every moment of a run."""
    found = Finding(check=f"{tried.workflow.name}, forks and compaction", policy="ledger")
    scenario = Scenario(workflow=tried.workflow, inputs={}, engine=engine, provider="dedup")
    try:
        life = first_life(Simulation(scenario))
        for check in (_fork, _compact):
            count, found.problem = check(scenario, life)
            found.tried += count
            if found.problem:
                break
    except Exception as error:  # whatever it is, the engine did not bear it
        found.problem = f"{type(error).__name__}: {getattr(error, 'what', error)}"
    return found


def _fork(scenario: Scenario, life: Life) -> tuple[int, str]:
    """How many forks were made, and what is wrong: a fork ends as its run did, and does nothing a second time."""
    store, world, runner = _restored(scenario, life.images[-1])
    moments = runner.parts.engine.history(scenario.run_id)
    count, meant, was = 0, _outcome(life.evidence.run), _moments(scenario, life)
    for moment in moments:
        copy = f"fork-{moment.state_version}"
        try:
            runner.fork(scenario.run_id, moment.state_version, copy)
        except Unsupported:  # the run was closed there
            continue
        count += 1
        if _place(runner.read(copy)) != was.get(moment.state_version, _place(runner.read(copy))):
            return count, f"a fork from version {moment.state_version} is not the run as it was then"
        ended = drive(scenario.runner(store, world, next_clock()), copy, {})
        if _outcome(ended) != meant:
            return count, f"a fork from version {moment.state_version} ends as {_outcome(ended)}, its run as {meant}"
    again = len(world.entries()) and [subject for subject, times in _executed(world).items() if times > 1]
    if again:
        return count, f"forks executed {', '.join(again)} a second time"
    return count, "" if count or len(moments) < 2 else "no moment of the history can be forked"


def _moments(scenario: Scenario, life: Life) -> dict[int, Any]:
    """Where the run was at each version, read while it was the newest."""
    found = {}
    for image in life.images:
        if image.status not in ("none", *TERMINAL):
            run = _restored(scenario, image)[2].read(scenario.run_id)
            found[run.state_version] = _place(run)
    return found


def _place(run: Run[Any]) -> Any:
    return run.position, run.next_transition, run.completed_steps, run.budgets, run.data


def _compact(scenario: Scenario, life: Life) -> tuple[int, str]:
    """How many times a run was compacted, and what is wrong: it reads, and goes on, as without."""
    count = 0
    for image in life.images:
        if image.status == "none":
            continue
        _, _, plain = _restored(scenario, image)
        store, _, runner = _restored(scenario, image)
        run = runner.read(scenario.run_id)
        meant = _outcome(run)
        try:
            with store.transaction("run/compact") as tx:
                runner.parts.engine.compact(tx, run)
        except Unsupported:
            continue
        count += 1
        if _outcome(runner.read(scenario.run_id)) != meant:
            return count, f"compacted at version {run.state_version}, the run reads otherwise than before"
        if _end(runner, scenario) != _end(plain, scenario):
            return count, f"compacted at version {run.state_version}, the run ends otherwise than without"
    return count, ""


def _restored(scenario: Scenario, image: Image) -> tuple[SqliteStore, Twin, Runner]:
    """A new process on what `image` holds."""
    clock = next_clock(image.time)
    store, world = SqliteStore(), scenario.twin(clock)
    store.restore(image.database)
    world.restore(image.world)
    return store, world, scenario.runner(store, world, clock, process=image.process + 1)


def _end(runner: Runner, scenario: Scenario) -> dict[str, Any]:
    return _outcome(drive(runner, scenario.run_id, {}))


def _outcome(run: Run[Any] | None) -> dict[str, Any]:
    return run.outcome() if run else {}


def _executed(world: Twin) -> Counter[str]:
    return Counter(entry.subject for entry in world.entries() if entry.kind == "effect")
