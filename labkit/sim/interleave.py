"""Every interleaving of two workers on one run, with at most two preemptions.

The first worker is paused at a tap, as by SIGSTOP past its lease; a second one takes the run over (its claim raises
the fencing token); later the first wakes up and goes on as if nothing had happened. Workers are threads with their
own connection to one shared in-memory database, and only one runs at a time. They are switched where no transaction
is open: SQLite lets one writer in at a time, so a pause inside a transaction is a pause before or after it.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from labkit.arguments import checked
from labkit.check.evidence import Evidence, gather
from labkit.check.invariants import Judged, Violation, judge
from labkit.clock import START, next_clock
from labkit.errors import StaleWrite
from labkit.memory import Memory
from labkit.model import Workflow
from labkit.own_engines import engine_name
from labkit.provider.twin import Twin
from labkit.scenario import AS_DECLARED, Scenario, drive, inputs_for
from labkit.sim.lives import NOT_STORED, Simulation, first_life
from labkit.store.sqlite import SqliteStore
from labkit.taps import Tap, TapCounter, listening

_names = itertools.count()


class Interleaving(msgspec.Struct, kw_only=True):
    """One schedule: the first worker pauses after its `first`-th switch point, the second after its `second`-th.

    `second` None lets the second worker run to its end before the first wakes up. `refused` counts stale writes,
    `status` is where the run ended.
    """

    first: int
    second: int | None
    paused_at: str
    woken_at: str
    refused: int
    status: str
    violations: list[Violation]


class InterleaveReport(msgspec.Struct, kw_only=True):
    """What exploring all interleavings found; `broken` holds those in which an invariant failed."""

    workflow: str
    engine: str
    policy: str
    provider: str
    interleavings: int
    refused: int
    ambiguous: int
    broken: list[Interleaving]

    @property
    def ok(self) -> bool:
        """True when interleavings were played and none broke an invariant."""
        return self.interleavings > 0 and not self.broken


OwnTap = tuple[str, Tap]  # the owner that passed it, and the tap
STALE = "a stale owner's write is refused"
ANYBODY = (*NOT_STORED, "begin", "approve")  # operations that need not own the run


def stale_writes(story: Sequence[OwnTap]) -> list[Violation]:
    """The commits of workers that did not own the run any more; `story` holds the taps of both workers in order."""
    owner, found = "", []
    for worker, tap in story:
        if tap.phase != "after" or tap.operation in ANYBODY:
            continue
        if tap.operation == "claim":
            owner = worker
        elif worker != owner:
            found.append(Violation(STALE, f"{worker} committed {tap}, {owner or 'nobody'} owns the run"))
    return found


class _Worker(threading.Thread):
    """Runs a scenario as one owner, and hands control back at each switch point that it is told to stop at."""

    def __init__(
        self,
        scenario: Scenario,
        path: str,
        world: Twin,
        number: int,
        pause_after: int | None,
        story: list[OwnTap],
        memory: Memory,
    ) -> None:
        super().__init__(daemon=True)
        self.store = SqliteStore(path)
        owner, clock = f"worker-{number}", next_clock(START if number > 1 else "")
        self.runner = scenario.runner(self.store, world, clock, owner, number)
        self._memory, self._remembered = memory, memory.fresh()
        self._scenario, self._pause_after, self._owner, self._story = scenario, pause_after, owner, story
        self._count = TapCounter()
        self._may_run, self._stopped = threading.Event(), threading.Event()
        self.points: list[Tap] = []
        self.done, self.refused, self.error = False, 0, ""

    def advance(self) -> None:
        """Let the worker run until its pause or its end; it remembers what it knew when it was paused."""
        self._stopped.clear()
        with self._memory.process():
            self._memory.put(self._remembered)
            self._may_run.set()
            self._stopped.wait()
            self._remembered = self._memory.take()

    def run(self) -> None:
        """The worker's life."""
        self._may_run.wait()
        try:
            drive(self.runner, self._scenario.run_id, self._scenario.inputs)
        except StaleWrite:
            self.refused += 1
        except Exception as failure:  # whatever ends a worker is a finding
            self.error = f"{type(failure).__name__}: {failure}"
        finally:
            self.done = True
            self._stopped.set()

    def heard(self, label: str, phase: str) -> None:
        """A tap of this worker: stop here when it is the switch point that was asked for."""
        tap = self._count(label, phase)
        self._story.append((self._owner, tap))
        if phase == "before" and tap.operation not in NOT_STORED:
            return
        self.points.append(tap)
        if len(self.points) == self._pause_after:
            self._may_run.clear()
            self._stopped.set()
            self._may_run.wait()


@checked
def interleave(
    workflow: Workflow[Any],
    *,
    engine: str | type[Any] = "hybrid",
    policy: str = "ledger",
    provider: str = AS_DECLARED,
    **inputs: Any,
) -> InterleaveReport:
    """Run every interleaving of two workers with at most two preemptions, and judge each."""
    scenario = Scenario(
        workflow=workflow,
        inputs=inputs_for(workflow, inputs),
        engine=engine_name(engine),
        policy=policy,
        provider=provider,
    )
    reference = first_life(Simulation(scenario)).evidence
    played = list(_all(scenario, reference))
    return InterleaveReport(
        workflow=workflow.name,
        engine=scenario.engine,
        policy=policy,
        provider=provider,
        interleavings=len(played),
        refused=sum(each.refused for each in played),
        ambiguous=sum(each.status == "waiting_for_person" for each in played),
        broken=[each for each in played if each.violations],
    )


def play(
    scenario: Scenario, first: int, second: int | None, reference: Evidence | None = None
) -> tuple[Interleaving | None, bool]:
    """Play one interleaving and judge it against `reference`, a fault-free run (lived now when it is left out).

    Returns None for the interleaving when a worker ended before its pause, and whether the first reached its own.
    """
    workers, evidence, story = _play(scenario, first, second)
    if len(workers[0].points) < first:
        return None, False
    if second is not None and len(workers[1].points) < second:
        return None, True
    judged = Judged(evidence=evidence, reference=reference or first_life(Simulation(scenario)).evidence)
    ended = [Violation("every recovery ends", worker.error) for worker in workers if worker.error]
    interleaving = Interleaving(
        first=first,
        second=second,
        paused_at=str(workers[0].points[first - 1]),
        woken_at=str(workers[1].points[second - 1]) if second else "the end",
        refused=sum(worker.refused for worker in workers),
        status=evidence.status,
        violations=[*ended, *stale_writes(story), *judge(judged)],
    )
    return interleaving, True


def _all(scenario: Scenario, reference: Evidence) -> Iterator[Interleaving]:
    for first in itertools.count(1):
        for second in itertools.chain([None], itertools.count(1)):
            played, paused = play(scenario, first, second, reference)
            if not paused:  # the first worker ended before its pause: every pause has been tried
                return
            if played is None:
                break
            yield played


def _play(scenario: Scenario, first: int, second: int | None) -> tuple[list[_Worker], Evidence, list[OwnTap]]:
    path = f"file:/labkit-{next(_names)}?vfs=memdb"
    world = scenario.twin()
    story: list[OwnTap] = []
    memory = scenario.memory()
    workers = [
        _Worker(scenario, path, world, 1, first, story, memory),
        _Worker(scenario, path, world, 2, second, story, memory),
    ]
    by_thread: dict[int, _Worker] = {}

    def listener(label: str, phase: str) -> None:
        by_thread[threading.get_ident()].heard(label, phase)

    with listening(listener):
        for worker in (workers[0], workers[1], workers[0], workers[1]):
            if not worker.done:
                if worker.ident is None:
                    worker.start()
                    by_thread[worker.ident or 0] = worker
                worker.advance()
    evidence = gather(workers[1].runner, scenario.run_id)
    for worker in workers:
        worker.store.close()
    return workers, evidence, story
