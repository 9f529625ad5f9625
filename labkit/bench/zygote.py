"""A process that has imported everything once and forks a child for each job: `python -m labkit.bench.zygote WORKFLOW`.

It reads one job a line on its standard input, and answers each with the pid and the exit status of its child.
Children share imports and nothing else: no file, connection or thread is open when it forks, so that what a child
knows of a run it has read itself. It ends when its standard input does, that is with its parent, however that ended.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
import traceback
from contextlib import closing
from itertools import product
from tempfile import TemporaryDirectory
from typing import NoReturn

import msgspec

from labkit.bench.child import perform
from labkit.bench.job import Job
from labkit.cases import find_workflow
from labkit.cases.refund import refund
from labkit.effects.policies import POLICIES
from labkit.engines import ENGINES
from labkit.provider.process import ProviderProcess
from labkit.scenario import Scenario


def main() -> None:
    """Serve jobs until standard input ends, or nobody reads the answers any more."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the workflow's module prints is no answer
    find_workflow(sys.argv[1])
    _rehearse()
    faulthandler.register(signal.SIGALRM, chain=True)  # says where a child stood, then lets the alarm end it
    gc.collect()
    gc.freeze()  # or the first collection in each child copies every page
    jobs = msgspec.json.Decoder(Job)
    for line in sys.stdin.buffer:
        job = jobs.decode(line)
        child = os.fork()
        if child == 0:
            _be_a_child(job)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        try:
            answers.write(msgspec.json.encode((child, status)) + b"\n")
            answers.flush()
        except BrokenPipeError:
            os._exit(0)


def _rehearse() -> None:
    """Run the reference workflow as a child will, each way once: an interpreter that knows the code is much faster.

    Never the workflow under test: what its module remembers would survive a crash. The provider has ended, and every
    file and connection is closed, before anything is forked.
    """
    ways = list(product(ENGINES, POLICIES))
    with TemporaryDirectory() as folder, ProviderProcess(folder) as provider:
        for number, (engine, policy) in enumerate(ways, 1):
            scenario = Scenario(workflow=refund, inputs=refund.example, engine=engine, policy=policy)
            place = {"folder": folder, "database": f"{folder}/{number}.db", "number": number}
            job = Job.of(scenario, **place, url=provider.url, world=f"rehearsal-{number}")
            with closing(job.client()) as world:
                world.create(refund.targets)
            perform(job)


def _be_a_child(job: Job) -> NoReturn:
    status = 1
    try:
        _redirect(job)
        signal.setitimer(signal.ITIMER_REAL, job.patience)
        perform(job)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def _redirect(job: Job) -> None:
    """Give this child streams of its own; the zygote's belong to the zygote."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    output = os.open(job.output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for given, stream in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(given, stream)


if __name__ == "__main__":
    main()
