"""The zygote of the lab's own engines: `python -m labkit.bench.zygote WORKFLOW`; see `labkit.bench.forking`."""

from __future__ import annotations

import sys
from contextlib import closing
from itertools import product

from labkit.bench.child import perform
from labkit.bench.forking import serve
from labkit.bench.job import Job
from labkit.cases import find_workflow
from labkit.cases.refund import refund
from labkit.effects.policies import POLICIES
from labkit.engines import ENGINES
from labkit.provider.process import ProviderProcess
from labkit.scenario import Scenario
from labkit.scratch import scratch_folder


def prepare() -> None:
    """Import the workflow under test and run the reference workflow as a child will, each way once.

    An interpreter that knows the code is much faster. Never the workflow under test: what its module remembers would
    survive a crash. The provider has ended, and every file and connection is closed, before anything is forked.
    """
    find_workflow(sys.argv[1])
    ways = list(product(ENGINES, POLICIES))
    with scratch_folder("rehearsal") as folder, ProviderProcess(folder) as provider:
        for number, (engine, policy) in enumerate(ways, 1):
            scenario = Scenario(workflow=refund, inputs=refund.example, engine=engine, policy=policy)
            place = {"folder": folder, "database": f"{folder}/{number}.db", "number": number}
            job = Job.of(scenario, **place, url=provider.url, world=f"rehearsal-{number}")
            with closing(job.client()) as world:
                world.create(refund.targets)
            perform(job)


if __name__ == "__main__":
    serve(Job, perform, prepare)
