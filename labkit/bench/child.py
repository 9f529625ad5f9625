"""The process that is killed: `python -m labkit.bench.child JOB`, with the job as JSON.

It does what a new process does after a crash: look what is there, begin the run or resume it, and go on to the end.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

from labkit.bench.errand import be_patient, expect_alarm
from labkit.bench.job import Job, killed_by_provider
from labkit.bench.trace import Found, Tracer
from labkit.check.evidence import untracked
from labkit.errors import UnknownRun
from labkit.runner import Runner
from labkit.scenario import drive
from labkit.store import runs
from labkit.store.sqlite import SqliteStore
from labkit.taps import Tap, listening


def perform(job: Job) -> None:
    """Run `job` in this process to its end, or until its tap kills this process. Raises what the workflow raises."""
    scenario, world = job.scenario(), job.client()
    new = not Path(job.database).exists()
    clock = job.new_clock()
    runner = scenario.runner(SqliteStore(job.database), world, clock, process=job.number)
    deadly = Tap.parse(job.tap) if job.tap else None
    if deadly and killed_by_provider(deadly):
        world.arm(deadly)
        deadly = None
    found = Found() if new else look(runner, job.run_id)
    tell = (lambda: clock.now().isoformat()) if job.clock else (lambda: "")
    with listening(Tracer(job.trace, found, deadly, runner.parts.log, tell)):
        drive(runner, job.run_id, job.inputs, again=scenario.again)


def look(runner: Runner, run_id: str) -> Found:
    """What the dead process left behind, before anything is changed."""
    parts = runner.parts
    try:
        status = runs.header(parts.store, runner.tenant, run_id).status
    except UnknownRun:
        status = "none"
    return Found(status, sorted(untracked(parts, runner.tenant, run_id)), len(parts.world.entries()))


if __name__ == "__main__":
    asked = msgspec.json.decode(sys.argv[1], type=Job)
    expect_alarm()
    be_patient(asked.patience)
    perform(asked)
    sys.stdout.flush()
    os._exit(0)  # like a killed child, a finished one tidies nothing up
