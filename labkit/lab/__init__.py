"""The facade that notebooks and exercises import: `Lab` runs, kills and looks; `compare` sets engines side by side."""

from labkit.lab.compare import compare
from labkit.lab.facade import Lab

__all__ = ["Lab", "compare"]
