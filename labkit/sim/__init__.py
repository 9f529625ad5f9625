"""Every crash, explored: schedules of up to three crashes, and every interleaving of two workers."""

from labkit.sim.explore import explore
from labkit.sim.report import Report, bound

__all__ = ["Report", "bound", "explore"]
