"""A real process that a lab starts in order to kill it: `python -m labkit.lab.child JOB WINDOW`, the job as JSON."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec

from labkit.bench.child import perform
from labkit.bench.job import Job
from labkit.lab.outside import ProcessOutside, world_folder
from labkit.lab.reach import Reached
from labkit.timeline.trace import Trace, trace_folder


class LabJob(Job, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A job in a lab: when the provider ends, the child finds or starts the next one, as every lab does."""

    def client(self) -> Reached:
        """The provider's world, not yet connected."""
        scenario, outside = self.scenario(), ProcessOutside(world_folder(self.database))
        return Reached(self.url, self.world, lambda: outside.reach(scenario))


class Ended(msgspec.Struct, kw_only=True):
    """How a child ended: its process id, exit `status` (negative: the signal), and the end of what it printed."""

    pid: int
    status: int
    output: str


def launch(job: Job, window: str) -> Ended:
    """Run `job`, which dies in this crash window, in a new Python process and wait for its end."""
    paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)  # it finds the modules that we find
    command = [sys.executable, "-m", "labkit.lab.child", msgspec.json.encode(job).decode(), window]
    with subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": paths},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as child:
        try:
            output, _ = child.communicate()
        finally:
            child.kill()  # an interrupted lab leaves no child behind; one that has ended is not touched
    return Ended(pid=child.pid, status=child.returncode, output=output.decode("utf-8", "replace")[-4000:])


def main() -> None:
    """Perform the job, writing down every tap first."""
    job = msgspec.json.decode(sys.argv[1], type=LabJob)
    trace = Trace(trace_folder(job.database, job.run_id), dies_at=job.tap, window=sys.argv[2])
    with trace.listening():
        perform(job)
    trace.rest("ended")


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)
