"""What one process passed, written down as it happens: a JSON line a tap, unbuffered, so that the killed leave theirs.

A run's traces lie in one folder, `1.jsonl` for its first process, `2.jsonl` for the next. The first line says who
(`{"pid": 7, "dies_at": "execute_refund/call:executed#1", "window": "W3"}`), then one line a tap (`{"tap": ...,
"at": ...}`), then one with `{"status": ...}` each time the process brought the run as far as it could. A process that
died wrote none after its last tap.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import psutil

from labkit.check.windows import windows
from labkit.errors import InvalidInput, InvalidState
from labkit.taps import Crash, Tap, TapCounter, listening


class Passed(msgspec.Struct, frozen=True):
    """One tap, and when it was passed (ISO 8601, UTC)."""

    tap: Tap
    at: str


class ProcessTrace(msgspec.Struct, kw_only=True):
    """One process: its taps in order, and how it ended.

    `status` is the run's when it let go, else `killed` or `running`. `killed_at` is a tap, `window` its crash window.
    """

    number: int
    pid: int
    passed: list[Passed]
    status: str
    killed_at: str = ""
    window: str = ""


class Trace:
    """Listens to the taps of this process on behalf of one run. With a `folder` it writes a new file there.

    `dies_at` is the tap at which this process is going to be killed, `window` its crash window, if known beforehand.
    """

    def __init__(self, folder: Path | None = None, *, dies_at: str = "", window: str = "") -> None:
        self.lines: list[bytes] = []
        self.over = False
        self._folder, self._dies_at, self._count = folder, dies_at, TapCounter()
        self._head = {"pid": os.getpid(), "dies_at": dies_at, "window": window}
        self._path: Path | None = None
        self._file: int | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Write down every tap while the block runs. Nothing is written while no tap is passed.

        A simulated crash is written down as the death that it stands for.
        """
        try:
            with listening(self._hear):
                yield
        except Crash:
            self.rest("killed")
            raise
        except BaseException as error:
            self.rest(f"error: {type(error).__name__}")
            raise
        finally:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def rest(self, status: str) -> None:
        """Write down that the run was brought as far as `status`; call it inside `listening`."""
        if self._file is not None or self.lines:
            self._write({"status": status})

    def _hear(self, label: str, phase: str) -> None:
        tap = str(self._count(label, phase))
        if self.over:  # the dead pass no taps
            return
        self._open()
        self._write({"tap": tap, "at": datetime.now(UTC).isoformat(timespec="microseconds")})
        self.over = tap == self._dies_at

    def _open(self) -> None:
        """Open the file, made at the first tap of all; the first line says who writes."""
        if self._file is not None or self.lines:
            return
        if self._folder and self._path:
            self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND)
            return
        if self._folder:
            self._path = _new_file(self._folder)
            self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        self._write(self._head)

    def _write(self, line: dict[str, Any]) -> None:
        body = msgspec.json.encode(line)
        if self._file is None:
            self.lines.append(body)
        else:
            os.write(self._file, body + b"\n")


def trace_folder(database: str | Path, run_id: str) -> Path:
    """Where the traces of a run lie: in a folder beside the database."""
    return Path(f"{database}.trace") / run_id


def _new_file(folder: Path) -> Path:
    """A new, empty file with the next number; two processes never share one."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        path = folder / f"{number}.jsonl"
        try:
            path.open("xb").close()
            return path
        except FileExistsError:
            number += 1


def read_folder(folder: Path) -> list[ProcessTrace]:
    """The traces of one run, oldest process first. Raise InvalidState for a damaged file."""
    files = sorted(folder.glob("*.jsonl"), key=lambda path: int(path.stem))
    found = []
    for path in files:
        *lines, _torn = path.read_bytes().split(b"\n")
        if not lines:
            continue  # its process has only just made it
        try:
            found.append(read_lines(lines, int(path.stem)))
        except (msgspec.MsgspecError, KeyError, InvalidInput) as error:
            raise InvalidState(
                f"trace {path} is damaged: {error}", safe="the run is untouched", next="delete it"
            ) from None
    return found


def read_lines(lines: list[bytes], number: int) -> ProcessTrace:
    """The trace that these lines hold."""
    head, *rest = (msgspec.json.decode(line, type=dict[str, Any]) for line in lines)
    passed = [Passed(Tap.parse(line["tap"]), line["at"]) for line in rest if "tap" in line]
    status = rest[-1].get("status", "") if rest else ""
    if not status:
        status = "running" if _alive(head["pid"], passed) else "killed"
    trace = ProcessTrace(number=number, pid=head["pid"], passed=passed, status=status)
    if status == "killed" and passed:
        trace.killed_at = head["dies_at"] or str(passed[-1].tap)
        trace.passed += _unseen(passed, trace.killed_at)
        trace.window = head["window"] or windows([each.tap for each in trace.passed])[-1]
    return trace


def _unseen(passed: list[Passed], killed_at: str) -> list[Passed]:
    """The tap of death when only the provider saw it pass: the caller was killed before it got an answer."""
    if str(passed[-1].tap) == killed_at or Tap.parse(killed_at).phase != "executed":
        return []
    return [Passed(Tap.parse(killed_at), passed[-1].at)]


def _alive(pid: int, passed: list[Passed]) -> bool:
    """True while the process that wrote a trace is there; a later process with the same number is not it."""
    try:
        born = psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        return False
    return not passed or born <= datetime.fromisoformat(passed[0].at).timestamp()
