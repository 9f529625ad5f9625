"""Real crashes: processes that are killed with SIGKILL at a tap, and fresh ones that resume."""

from labkit.bench.kill import kill_once, resume_once

__all__ = ["kill_once", "resume_once"]
