"""One trial of a framework: a process dies at a tap, the next goes on, and the provider's ledger says what happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec

from labkit.bench.errand import GAVE_UP
from labkit.bench.job import Outside
from labkit.bench.launch import KILLED, Ended, Launcher, last_words
from labkit.cases.desk import EFFECTS, RECEIPTS, TARGETS
from labkit.check.evidence import activities_repeated, executed_steps
from labkit.measure.child import FINISH
from labkit.measure.guard import DATABASE, open_effects
from labkit.measure.job import Answer, Job
from labkit.provider.protocol import Entry
from labkit.stacks.conformance import Verb
from labkit.taps import Tap

CASE = 17
RUN = "run-1"
NO_KILL = "no kill"
"""One process takes the run to its end, to compare with."""
BESIDES = ("second resumer", "renamed", "inserted", "started again", "clock forward", "clock back")
"""What may happen besides the crash: two processes resume at once; the code has changed; the run is begun again instead
of resumed; the clock of the new process has moved by `HOUR`."""
SITUATIONS = (NO_KILL, "crash", *BESIDES)
HOUR = 3600.0
STATUSES = ("completed", "waiting", "failed", "stuck")
"""How a run may stand in the end. What an adapter does not offer, or calls by another word, cannot be judged."""
WINDOWS = ("W1", "W2", "W3", "W4", "W5")


class Cell(msgspec.Struct, kw_only=True, frozen=True):
    """What is measured: a stack under a policy, killed in a window of an effect's step, in a situation.

    Without a kill, `window` and `effect` are empty.
    """

    stack: str
    policy: str
    window: str
    effect: str
    situation: str = "crash"

    @property
    def own(self) -> set[str]:
        """The effects that the cell is about: the one at which the process is killed; without a kill, all."""
        return {self.effect} if self.effect else set(EFFECTS)

    def tap(self) -> Tap:
        """Where the first process dies."""
        following = [*EFFECTS, ""][EFFECTS.index(self.effect) + 1]
        label, phase = {
            "W1": (f"{self.effect}/enter", "before"),
            "W2": (f"{self.effect}/call", "before"),
            "W3": (f"{self.effect}/call", "executed"),
            "W4": (f"{self.effect}/call", "after"),
            "W5": (f"{following}/enter" if following else FINISH, "before"),
        }[self.window]
        return Tap(label, phase, 1)


class Result(msgspec.Struct, kw_only=True, frozen=True):
    """What one trial showed. `kind` is `judged`, `not reached` or `error`, with `detail` for the last two.

    `duplicated` and `lost` list the steps whose effect the provider executed more than once, or not at all although
    the run is over. `wrong` says that a completed run holds a result of another step, `false_finish` that a run calls
    itself completed and an effect is missing, `open` that the effect ledger leaves an effect to a person. `paid` counts
    activity calls that were made again. `seconds` are those to recover, without a kill those to start; `size` is the
    bytes of the framework's files, None when it left none, as one that keeps all on a server.
    """

    kind: Literal["judged", "not reached", "error"]
    status: str = ""
    detail: str = ""
    duplicated: list[str] = []
    lost: list[str] = []
    wrong: bool = False
    false_finish: bool = False
    open: list[str] = []
    paid: int = 0
    seconds: float = 0.0
    size: int | None = None


class Site(msgspec.Struct, kw_only=True, frozen=True):
    """Where trials run: two launchers (the second for a second resumer), the provider's address and root folder, and
    the servers that stacks need, by name."""

    launchers: tuple[Launcher, Launcher]
    url: str
    root: Path
    services: dict[str, str] = {}
    patience: float = 30.0

    def trial(self, cell: Cell, name: str) -> Result:
        """Run one trial of `cell` in the new folder `name` below `root`."""
        with self.world(name) as world:
            if cell.situation == NO_KILL:
                answers = [self.ask(cell, world, 1, "start")]
            else:
                crashed = self.crash(cell, world)
                if not crashed.reached:
                    return not_reached(crashed)
                answers = self.go_on(cell, world)
            unfit = next((answer for answer in answers if answer.status not in STATUSES), None)
            if unfit:
                return Result(kind="error", status=unfit.status, detail=f"{unfit.status}: {unfit.detail}")
            return judge(answers, world.entries(), self.root / name / "store")

    def go_on(self, cell: Cell, world: Outside) -> list[Answer]:
        """What each of the processes says that come after the crash, at once if there are two."""
        count = 2 if cell.situation == "second resumer" else 1
        verb: Verb = "start" if cell.situation == "started again" else "resume"
        more: dict[str, Any] = {}
        if cell.situation in ("renamed", "inserted"):
            more["change"] = cell.situation
        if cell.situation.startswith("clock"):
            more["shift"] = HOUR if cell.situation == "clock forward" else -HOUR
        with ThreadPoolExecutor(count) as pool:
            asked = [pool.submit(self.ask, cell, world, 2 + n, verb, launcher=n, **more) for n in range(count)]
            return [each.result() for each in asked]

    def crash(self, cell: Cell, world: Outside) -> Ended:
        """The process that begins the run and is to die."""
        return self.launchers[0].run(self.job(cell, world, 1, "start", tap=str(cell.tap())))

    def ask(self, cell: Cell, world: Outside, number: int, verb: Verb, launcher: int = 0, **more: Any) -> Answer:
        """Let a process live to its end; return what it says."""
        job = self.job(cell, world, number, verb, **more)
        return answer_of(job, self.launchers[launcher].run(job))

    def job(self, cell: Cell, world: Outside, number: int, verb: Verb, **more: Any) -> Job:
        """The job of one process of a trial."""
        return Job(
            folder=str(self.root / world.world),
            number=number,
            patience=self.patience,
            stack=cell.stack,
            verb=verb,
            policy=cell.policy,
            run_id=RUN,
            case=CASE,
            url=self.url,
            world=world.world,
            info=world.info,
            services=self.services,
            **more,
        )

    @contextmanager
    def world(self, name: str) -> Iterator[Outside]:
        """A new folder and a new world for one trial; the world is closed afterwards, the files stay."""
        (self.root / name).mkdir(parents=True)
        with closing(Outside(self.url, name)) as client:
            client.create(TARGETS, folder=name)
            try:
                yield client
            finally:
                client.close_world()


def not_reached(life: Ended) -> Result:
    """The result of a trial whose first process did not die at its tap."""
    kind: Literal["error", "not reached"] = "error" if life.failed else "not reached"
    return Result(kind=kind, detail=f"{life.tap} was not reached, status {life.status}: {life.output[-600:]}")


def answer_of(job: Job, life: Ended) -> Answer:
    """What the process of `job` said, or `killed` if it died at its tap; one that raised has `failed`, one that never
    came to an end is `stuck`."""
    if life.reached:
        return Answer(status="killed")
    if job.answer.exists():
        return msgspec.json.decode(job.answer.read_bytes(), type=Answer)
    last = last_words(life.output) if life.output.strip() else f"it ended with status {life.status}"
    return Answer(status="stuck" if life.status in (GAVE_UP, KILLED) else "failed", detail=last)


def judge(answers: Sequence[Answer], entries: Sequence[Entry], store: Path) -> Result:
    """Hold what the processes say against what the provider has done."""
    last = answers[-1]
    effects = executed_steps(entries)
    missing = [step for step in EFFECTS if not effects[step]]
    completed = any(answer.status == "completed" for answer in answers)
    return Result(
        kind="judged",
        status="completed" if completed else last.status,
        detail=last.detail[:600],
        duplicated=[step for step in EFFECTS if effects[step] > 1],
        lost=missing if completed else [],
        wrong=any(wrong_result(answer) for answer in answers),
        false_finish=completed and bool(missing),
        open=open_effects(store, RUN),
        paid=activities_repeated(entries),
        seconds=last.seconds,
        size=size_of(store) or None,
    )


def size_of(store: Path) -> int:
    """The bytes of a framework's files below `store`; our own effect ledger is none of them."""
    files = [path for path in store.rglob("*") if path.is_file() and not path.name.startswith(DATABASE)]
    return sum(path.stat().st_size for path in files)


def wrong_result(answer: Answer) -> bool:
    """True when a run that calls itself completed holds a receipt of another target than the step called."""
    held = {name: str(answer.facts[name]) for name in RECEIPTS if name in answer.facts}
    return answer.status == "completed" and any(not held[name].startswith(RECEIPTS[name]) for name in held)
