"""Every crash, explored: schedules of up to three crashes, and every interleaving of two workers."""

from labkit.sim.explore import Report, bound, explore

__all__ = ["Report", "bound", "explore"]
