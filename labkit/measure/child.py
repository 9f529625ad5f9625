"""The process of a framework that is killed: `python -m labkit.measure.child JOB`, with the job as JSON."""

from __future__ import annotations

import os
import sys
import time
from contextlib import nullcontext
from typing import Any

import msgspec
import time_machine

from labkit.bench.errand import be_patient, expect_alarm
from labkit.bench.job import killed_by_provider
from labkit.bench.trace import Found, Tracer
from labkit.cases.desk import Desk
from labkit.errors import LabError, Unsupported
from labkit.measure.guard import Guard
from labkit.measure.job import DRIVEN, Answer, Job
from labkit.provider.protocol import World
from labkit.stacks.base import Place, Restored, Stack, Standing, drive
from labkit.stacks.find import find_stack
from labkit.taps import Tap, listening, tap

FINISH = "run/finish"
"""The label of the tap that follows the last step: the run is over and nobody has been told."""


def perform(job: Job) -> None:
    """Do `job` in this process and write its answer, unless its tap kills this process on the way."""
    begun = time.perf_counter()
    world, stack = job.client(), find_stack(job.stack)
    job.store.mkdir(exist_ok=True)
    deadly = Tap.parse(job.tap) if job.tap else None
    if deadly and killed_by_provider(deadly):
        world.arm(deadly)
        deadly = None
    watch = Stopwatch(Tracer(job.trace, Found(), deadly), begun)
    moved = time_machine.travel(time.time() + job.shift) if job.shift else nullcontext()
    with listening(watch), moved:
        answer = answered(stack, job, world)
        watch.stop()
        if job.verb in DRIVEN:
            tap(FINISH, "before")
    job.answer.write_bytes(msgspec.json.encode(msgspec.structs.replace(answer, seconds=watch.seconds)))


class Stopwatch:
    """A listener that hands each tap on, and remembers when the first one came: `seconds` since `begun`."""

    def __init__(self, tracer: Tracer, begun: float) -> None:
        self._tracer, self._begun = tracer, begun
        self.seconds = 0.0

    def __call__(self, label: str, phase: str) -> None:
        """Hear one tap."""
        self.stop()
        self._tracer(label, phase)

    def stop(self) -> None:
        """Stop, unless it has been stopped."""
        self.seconds = self.seconds or time.perf_counter() - self._begun


def answered(stack: Stack, job: Job, world: World) -> Answer:
    """Call the stack as the job says, and put what it returns or raises into words."""
    place = job.place()
    guard = Guard(job.policy, job.store, job.run_id, world)
    desk = Desk(job.run_id, job.case, world.note_activity, guard, change=job.change)
    try:
        answer = told(called(stack, job, desk, place))
    except Unsupported as lacking:
        answer = Answer(status="unsupported", detail=lacking.what)
    except LabError as stopped:  # a person is needed, a stale owner was refused, ...: the framework let it pass
        answer = Answer(status="failed", detail=f"{type(stopped).__name__}: {stopped.what}")
    return msgspec.structs.replace(answer, session=bool(desk.session))


def called(stack: Stack, job: Job, desk: Desk, place: Place) -> Any:
    """The method of the stack that belongs to the job's verb."""
    if job.verb in DRIVEN:
        return drive(stack, desk, place, job.verb)
    method = getattr(stack, "start" if job.verb == "begin" else job.verb)
    return method(desk, place, *([job.argument] if job.argument else []))


def told(found: Any) -> Answer:
    """An answer from whatever a stack's method returns: a standing, what was restored, or a list of points."""
    if isinstance(found, Standing):
        return Answer(status=found.status, facts=found.facts, detail=found.detail)
    if isinstance(found, Restored):
        return Answer(status="seen", facts=found.facts, next_step=found.next_step)
    if isinstance(found, list):
        return Answer(status="seen", points=found)
    return Answer(status="no answer", detail=f"the adapter returned a {type(found).__name__}")


if __name__ == "__main__":
    asked = msgspec.json.decode(sys.argv[1], type=Job)
    expect_alarm()
    be_patient(asked.patience)
    perform(asked)
    sys.stdout.flush()
    os._exit(0)  # threads and servers of a framework would be waited for
