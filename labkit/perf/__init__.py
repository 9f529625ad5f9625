"""How fast: our engines and their peers side by side, on one disk, in one run. `labkit perf` prints it."""

from labkit.perf.measure import measure
from labkit.perf.render import render
from labkit.perf.report import Mark, Report, Row

__all__ = ["Mark", "Report", "Row", "measure", "render"]
