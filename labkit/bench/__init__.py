"""Real crashes: processes that are killed with SIGKILL at a tap, and fresh ones that resume.

`run` is the campaign behind `labkit bench`; `kill_once` and `resume_once` are single processes on a database that
somebody keeps. Read `job` (what a process is told), `child` (what it does), `launch` and `zygote` (how it is
started), `trial` (kill, resume, look), `judging`, then `campaign`.
"""

from labkit.bench.campaign import run
from labkit.bench.kill import kill_once, resume_once
from labkit.bench.launch import Ended
from labkit.bench.report import BenchReport, render

__all__ = ["BenchReport", "Ended", "kill_once", "render", "resume_once", "run"]
