"""A campaign as tests drive it: real commands, and what its database says meanwhile."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil

BENCH = ("bench", "--stack", "bare-saved", "--policy", "bare", "--repeat", "1", "--json")
CELLS = 22
"""Of one stack under one policy."""
STEPS = "SELECT count(*) FROM {}operation_outputs WHERE function_name = 'trial'"


class Command:
    """A labkit command that runs in a process of its own in `folder`; whatever it has started is known as well."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        command = [sys.executable, "-c", "from labkit.cli import main; main()", *arguments]
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        self.pid = self.process.pid

    def end(self, number: signal.Signals | None = None, within: float = 120) -> tuple[int, str, str]:
        """Send it the signal, if one is named; return its exit code and what it said once it has ended."""
        if number:
            self.process.send_signal(number)
        said, complained = self.process.communicate(timeout=within)
        return self.process.returncode, said, complained

    def below(self) -> list[psutil.Process]:
        """The processes that it has started and that run."""
        return psutil.Process(self.pid).children(recursive=True)


@contextmanager
def commands(folder: Path) -> Iterator[Callable[..., Command]]:
    """Yield what starts a command; those that still run at the end of the block are killed."""
    with ExitStack() as stack:

        def start(*arguments: str) -> Command:
            command = Command(folder, *arguments)
            stack.callback(command.process.wait)
            stack.callback(command.process.kill)
            return command

        yield start


def until(true: Callable[[], Any], patience: float = 120) -> None:
    """Wait until it is true; fail when it does not come true."""
    deadline = time.monotonic() + patience
    while not true():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.05)


def gone(processes: list[psutil.Process]) -> bool:
    """True when all of them end, those that are left as they are by a killed parent included."""
    _, alive = psutil.wait_procs(processes, timeout=60)
    return all(process.status() == psutil.STATUS_ZOMBIE for process in alive)
