"""Start real processes, one at a time, and say how each ended. Two ways: a new interpreter, or a fork of a zygote."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import msgspec

from labkit.bench.errand import GRACE, PATIENCE, Errand
from labkit.bench.trace import KILL, Found, read_trace
from labkit.cases import find_workflow
from labkit.errors import InvalidInput, LabError
from labkit.sim.leaks import fixed_places
from labkit.taps import Tap
from labkit.values import Values

MODES = ("zygote", "plain")
DEFAULT_MODE = "zygote" if sys.platform == "linux" else "plain"  # forking a process with frameworks is unsafe elsewhere
KILLED = int(-KILL if os.name == "posix" else KILL)
"""Exit status of a process that was killed: minus the signal's number, or what TerminateProcess was given."""
TAIL = 4000


class Ended(msgspec.Struct, kw_only=True, frozen=True):
    """How process `pid` ended: exit `status` (negative: the signal), the taps that it `passed`, what it `found`.

    `tap` is where it was to die, None when it was to live. `output` is the end of what it printed, `time` what its
    clock said last, empty for a clock that nobody moved, `values` what its calls had returned.
    """

    pid: int
    status: int
    passed: list[Tap]
    found: Found
    output: str
    tap: Tap | None = None
    time: str = ""
    values: Values = Values()

    @property
    def reached(self) -> bool:
        """True when it was killed, and at its tap."""
        return self.tap is not None and self.status == KILLED and self.passed[-1:] == [self.tap]

    @property
    def failed(self) -> bool:
        """True when it neither died where it was to die nor came to its end."""
        return not self.reached and self.status != 0


def last_words(output: str) -> str:
    """The line that names the error of the last traceback that a process printed; without one, the last line."""
    _, found, traceback = output.rpartition("Traceback (most recent call last):\n")
    named = [line for line in traceback.splitlines() if line.strip() and not line.startswith(" ")]
    lines = named if found else output.split("\n")
    told = [line.strip() for line in lines if line.strip()] or ["it printed nothing"]
    return told[0] if found else told[-1]


class Launcher(Protocol):
    """Runs one process after another."""

    def run(self, job: Errand) -> Ended:
        """Run `job` in a process of its own and wait for its end."""
        ...

    def close(self) -> None:
        """Leave no process behind."""
        ...


class Plain:
    """A new Python interpreter, `python -m CHILD JOB`, for each process: slow, on every platform, nothing is shared."""

    def __init__(self, child: str) -> None:
        self._child = child

    def run(self, job: Errand) -> Ended:
        """Run `job` in a process of its own and wait for its end."""
        command = [sys.executable, "-m", self._child, msgspec.json.encode(job).decode()]
        with (
            job.output.open("wb") as output,
            _start(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output) as process,
        ):
            try:
                status = process.wait(job.patience + GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                status = process.wait()
            finally:
                process.kill()  # an interrupt leaves nothing behind; one that has ended is not touched
        return ended(job, process.pid, status)

    def close(self) -> None:
        """Nothing is left behind."""


class Zygote:
    """A process, `python -m MODULE ARGUMENT`, that has imported everything and forks a child for each job.

    It has `patience` seconds to get ready. With a `seed` its children hash text by it, else by one that they share.
    See `labkit.bench.forking`.
    """

    def __init__(self, module: str, argument: str, *, patience: float = PATIENCE, seed: int | None = None) -> None:
        command = [sys.executable, "-m", module, argument]
        self._process = _start(command, seed, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=None)
        self._patience, self._ready = patience, False

    def get_ready(self) -> None:
        """Wait until it can fork; raise LabError, with why, when it cannot, and leave no process behind."""
        if self._ready:
            return
        answers = self._process.stdout
        assert answers
        why = f"prepare did not come to its end in {self._patience:g} s"
        if select.select([answers], [], [], self._patience)[0]:
            line = answers.readline()
            why = msgspec.json.decode(line, type=str) if line else self._ended("prepare")
        self._ready = not why
        if why:
            self._process.kill()
            self._process.wait()
            raise LabError(why, safe="nothing of it was run", next="mend what is called before any process is forked")

    def run(self, job: Errand) -> Ended:
        """Run `job` in a fork of the zygote and wait for its end; raise LabError when the zygote is gone."""
        self.get_ready()
        requests, answers = self._process.stdin, self._process.stdout
        assert requests and answers
        with suppress(BrokenPipeError):  # then no answer comes either
            requests.write(msgspec.json.encode(job) + b"\n")
            requests.flush()
        line = answers.readline()
        if not line:
            raise LabError(
                self._ended(f"the zygote {self._process.pid}"),
                safe="trials that were finished stand",
                next="read what it printed; try mode plain",
            )
        return ended(job, *msgspec.json.decode(line, type=tuple[int, int]))

    def _ended(self, what: str) -> str:
        return f"{what} ended with status {self._process.wait()}"

    def close(self) -> None:
        """End the zygote, which waits for its child."""
        with self._process:
            assert self._process.stdin
            self._process.stdin.close()


class TwoZygotes:
    """One for processes with an odd number, and one for the others: each has imported everything itself, and a set lies
    in another order in each."""

    def __init__(self, module: str, argument: str) -> None:
        self._zygotes = [Zygote(module, argument, seed=seed) for seed in (1, 2)]

    def run(self, job: Errand) -> Ended:
        """Run `job` in a fork of its zygote and wait for its end; raise LabError when that is gone."""
        return self._zygotes[job.number % 2].run(job)

    def close(self) -> None:
        """End both."""
        for zygote in self._zygotes:
            zygote.close()


def launcher(mode: str, workflow: str) -> Launcher:
    """The launcher of this `mode` for `workflow` (`module:attribute`); raise InvalidInput for another mode."""
    if require_mode(mode) == "zygote":
        kind = TwoZygotes if fixed_places(find_workflow(workflow)) else Zygote
        return kind("labkit.bench.zygote", workflow)
    return Plain("labkit.bench.child")


def require_mode(mode: str) -> str:
    """`mode`; raise InvalidInput when there is no such mode, or none on this platform."""
    if mode not in MODES or (mode == "zygote" and not hasattr(os, "fork")):
        raise InvalidInput(
            f"mode {mode!r} does not work here: the modes are {', '.join(MODES)}, and a zygote has to fork",
            safe="nothing was run",
            next="use mode plain, which works everywhere",
        )
    return mode


def ended(job: Errand, pid: int, status: int) -> Ended:
    """What the files of process `pid`, which ended with `status`, say."""
    trace = read_trace(job.trace)
    tap = Tap.parse(job.tap) if job.tap else None
    passed = trace.passed
    if tap and status == KILLED and tap.phase == "executed" and passed[-1:] and passed[-1][:2] == (tap.label, "before"):
        passed.append(tap)  # only the provider knows that it came so far
    output = job.output.read_bytes()[-TAIL:].decode("utf-8", "replace")
    return Ended(
        pid=pid,
        status=status,
        passed=passed,
        found=trace.found or Found(),
        output=output,
        tap=tap,
        time=trace.time,
        values=trace.values,
    )


def _start(command: list[str], seed: int | None = None, **streams: Any) -> subprocess.Popen[bytes]:
    # the child finds the modules that its parent finds; Ctrl-C goes to the parent alone, which ends its children
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)}
    if seed is not None:
        environment["PYTHONHASHSEED"] = str(seed)
    return subprocess.Popen(command, env=environment, start_new_session=True, **streams)
