"""The zygote of a framework: `python -m labkit.measure.zygote STACK`; it imports the framework and runs nothing."""

from __future__ import annotations

import sys

from labkit.bench.forking import serve
from labkit.measure.child import perform
from labkit.measure.job import Job
from labkit.stacks.find import find_stack

if __name__ == "__main__":
    serve(Job, perform, lambda: find_stack(sys.argv[1]).prepare())
