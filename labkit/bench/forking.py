"""The loop of a zygote: a process that has imported everything once and forks a child for each job.

Its first line on standard output is empty JSON text once it is ready, or says why it cannot be. Jobs arrive as one JSON
line each on standard input; each is answered with the pid and the exit status of its child.
Children share imports and nothing else: no file, connection or thread may be open when it forks. The loop ends when
standard input does, that is with the parent, however that ended.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import IO, NoReturn, TypeVar

import msgspec

from labkit.bench.errand import GRACE, Errand, be_patient, expect_alarm
from labkit.errors import LabError

T = TypeVar("T", bound=Errand)


def serve(kind: type[T], perform: Callable[[T], None], prepare: Callable[[], object]) -> None:
    """Call `prepare` once, then `perform` each job of this `kind` in a fork, until standard input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what an imported module prints is no answer
    problem = _problem_of(prepare)
    _say(answers, problem)
    if problem:
        os._exit(1)  # threads that it has started would be waited for
    expect_alarm()
    gc.collect()
    gc.freeze()  # or the first collection in each child copies every page
    jobs = msgspec.json.Decoder(kind)
    for line in sys.stdin.buffer:
        job = jobs.decode(line)
        child = os.fork()
        if child == 0:
            _be_a_child(job, perform)
        _wait(child, job.patience + GRACE)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        _say(answers, (child, status))


def _problem_of(prepare: Callable[[], object]) -> str:
    """What `prepare` raises, with its line, or an empty text."""
    try:
        prepare()
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        words = error.what if isinstance(error, LabError) else f"{error} ({Path(last.filename).name}:{last.lineno})"
        return f"prepare raised {type(error).__name__}: {words}"
    return ""


def _say(answers: IO[bytes], what: object) -> None:
    try:
        answers.write(msgspec.json.encode(what) + b"\n")
        answers.flush()
    except BrokenPipeError:  # nobody reads the answers any more
        os._exit(0)


def _wait(child: int, seconds: float) -> None:
    """Wait for the end of `child`, and kill it if that has not come after so many `seconds`."""
    if hasattr(os, "pidfd_open"):
        ended = os.pidfd_open(child)
        if not select.select([ended], [], [], seconds)[0]:
            os.kill(child, signal.SIGKILL)
        os.close(ended)


def _be_a_child(job: T, perform: Callable[[T], None]) -> NoReturn:
    status = 1
    try:
        _redirect(job)
        be_patient(job.patience)
        perform(job)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def _redirect(job: Errand) -> None:
    """Give this child streams of its own; the zygote's belong to the zygote."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    output = os.open(job.output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for given, stream in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(given, stream)
