"""What a notebook shows and a reader moves: widgets that also stand as pictures, text and pages without a kernel."""

from labkit.widgets.timeline import CrashTimeline

__all__ = ["CrashTimeline"]
