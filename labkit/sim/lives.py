"""One process's life, recorded: every tap that it passed, and what a successor would find if it died there.

A crash leaves what is durable and nothing else. So instead of killing at each tap in turn, one run keeps an image of
the lab's database and of the provider at each tap; a successor is then started from each image. No code of the dead
process runs after the crash, not even its `finally` blocks, just as after SIGKILL.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from labkit.check.evidence import Evidence, gather, untracked
from labkit.clock import Clock, ManualClock, next_clock
from labkit.effects.policies import POLICIES
from labkit.errors import LabError
from labkit.own_engines import engine_class
from labkit.parts import chance_of
from labkit.provider.twin import Image as TwinImage
from labkit.runner import Runner
from labkit.scenario import Scenario, drive
from labkit.sim.leaks import Leaks
from labkit.store.runs import status_of
from labkit.store.sqlite import SqliteStore
from labkit.taps import Tap, TapCounter, listening
from labkit.values import Place, Value, ValueLog, Values

NOT_STORED = ("call", "lookup", "compensate")  # taps of a provider, not of a transaction


class Image(NamedTuple):
    """What survives a crash: the lab's database, the provider, and the effects that only the provider knows of.

    `process` is the number of the process that died (0: none), `time` what its clock said then, as ISO 8601 text.
    `values` are what calls had returned by then; a successor does not find them, a judge knows them.
    """

    database: bytes
    world: TwinImage
    status: str
    untracked: frozenset[str]
    process: int = 0
    time: str = ""
    values: Values = Values()

    def identity(self) -> bytes:
        """SHA-256 of all that a successor can find: the same for two images that lead to the same life."""
        known = (self.world.entries, self.world.faults, self.process, self.time)
        outside = msgspec.json.encode(known, order="sorted")
        return hashlib.sha256(outside + self.database).digest()


class Life(NamedTuple):
    """What one process did: its taps, for each tap the index of its image, how it ended, what its calls returned."""

    taps: list[Tap]
    image_of: list[int]
    images: list[Image]
    evidence: Evidence
    error: str
    log: ValueLog


class Simulation:
    """A scenario on an in-memory SQLite database and the provider's twin, ready to be lived again from any image."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.store = SqliteStore()
        self.world = scenario.twin(ManualClock())  # it stands still, so that equal lives leave equal images
        self.runner: Runner = scenario.runner(self.store, self.world, next_clock())
        self.process, self._values = 0, Values()
        self.memory, self.leaks = scenario.memory(), Leaks(scenario.workflow)
        self.begin = Image(self.store.image(), self.world.image(), "none", frozenset())

    def live(self, image: Image, *, keep_images: bool, fed: Mapping[Place, Value] | None = None) -> Life:
        """One process from `image` to its end; with `keep_images`, what survives a crash at each of its taps.

        Calls in `fed` return these values instead of their own.
        """
        self.store.restore(image.database)
        self.world.restore(image.world)
        with self.alive(image.process + 1, next_clock(image.time)):
            return self._live(image, keep_images, fed)

    @contextmanager
    def alive(self, number: int, clock: Clock) -> Iterator[None]:
        """While the block runs, the author's code is in process `number`, which begins at this time."""
        with self.memory.process(), self.leaks.process(number, clock.now().isoformat()):
            yield

    def _live(self, image: Image, keep_images: bool, fed: Mapping[Place, Value] | None) -> Life:
        self.process, self._values = image.process + 1, image.values
        self.runner = self._process(image.time, ValueLog(fed))
        recorder = _Recorder(self, image) if keep_images else _Taps()
        error, run = "", None
        with listening(recorder):
            try:
                run = drive(self.runner, self.scenario.run_id, self.scenario.inputs, again=self.scenario.again)
            except Exception as failure:  # whatever ends a recovery is a finding, not ours to hide
                error = f"{type(failure).__name__}: {getattr(failure, 'what', failure)}"
        evidence = gather(self.runner, self.scenario.run_id, run)
        return Life(recorder.taps, recorder.image_of, recorder.images, evidence, error, self.runner.parts.log)

    @property
    def outside(self) -> tuple[int, int]:
        """Counts that change when anything happens outside: entries of the provider, and calls that may leave none."""
        return len(self.world.ledger.image()), self.world.calls

    @property
    def time(self) -> str:
        """What the clock of the present process says."""
        return self.runner.parts.clock.now().isoformat()

    @property
    def values(self) -> Values:
        """What calls have returned until this very moment, in all processes."""
        return self._values.then(self.runner.parts.log)

    def _process(self, died: str, log: ValueLog) -> Runner:
        """A new process: what engine, policy or runner kept in memory died with the old one, at the time `died`."""
        parts, names = self.runner.parts, self.scenario
        new = {"engine": engine_class(names.engine)(parts.store, parts.codec), "policy": POLICIES[names.policy]()}
        moved = {"clock": next_clock(died), "chance": chance_of(self.process), "log": log}
        return Runner(replace(parts, **new, **moved), tenant=self.runner.tenant)

    def survivors(self, database: bytes) -> Image:
        """The image of this very moment, with `database` as the last committed state."""
        tenant, run_id = self.runner.tenant, self.scenario.run_id
        unknown = frozenset(untracked(self.runner.parts, tenant, run_id))
        status = status_of(self.store, tenant, run_id)
        return Image(database, self.world.image(), status, unknown, self.process, self.time, self.values)


class _Taps:
    """Listens to taps only."""

    def __init__(self) -> None:
        self.taps: list[Tap] = []
        self.image_of: list[int] = []
        self.images: list[Image] = []
        self._count = TapCounter()

    def __call__(self, label: str, phase: str) -> None:
        self.taps.append(self._count(label, phase))


class _Recorder(_Taps):
    """Listens to taps and keeps an image whenever something durable has changed."""

    def __init__(self, simulation: Simulation, begin: Image) -> None:
        super().__init__()
        self._simulation = simulation
        self.images.append(begin._replace(process=simulation.process, time=simulation.time))
        self._outside, self._now = simulation.outside, simulation.runner.parts.clock.now()

    def __call__(self, label: str, phase: str) -> None:
        super().__call__(label, phase)
        tap, last, simulation = self.taps[-1], self.images[-1], self._simulation
        committed = phase == "after" and tap.operation not in NOT_STORED
        outside, now = simulation.outside, simulation.runner.parts.clock.now()
        if committed:
            self.images.append(simulation.survivors(simulation.store.image()))
        elif (outside, now) != (self._outside, self._now):  # an open transaction dies: the last image's database stands
            world, time = simulation.world.image(), simulation.time
            unknown, values = self._unknown(last, phase), simulation.values
            self.images.append(last._replace(world=world, untracked=unknown, time=time, values=values))
        self._outside, self._now = outside, now
        self.image_of.append(len(self.images) - 1)

    def _unknown(self, last: Image, phase: str) -> frozenset[str]:
        if phase == "before":  # only activities were added, and a transaction may be open
            return last.untracked
        return self._simulation.survivors(last.database).untracked


def first_life(simulation: Simulation) -> Life:
    """The fault-free life of a scenario; raise the workflow's own error when it does not even work without a crash."""
    life = simulation.live(simulation.begin, keep_images=True)
    if life.error:
        raise LabError(
            f"workflow {simulation.scenario.workflow.name} fails without any crash: {life.error}",
            next="make it run first: labkit run",
        )
    with simulation.alive(2, next_clock(simulation.time)):  # whoever reads it is another process
        run_id, run = simulation.scenario.run_id, life.evidence.run
        return life._replace(evidence=gather(simulation.runner, run_id, run, reread=True))
