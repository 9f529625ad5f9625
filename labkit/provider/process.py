"""Start and stop a provider process."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Self

from labkit.errors import LabError

_LOG = "provider.log"


class ProviderProcess:
    """A provider process whose ledger files lie below `root` (made when missing); use it in `with`, or start and stop.

    It ends with `stop()`, or by itself when this process ends in any way. A process forked from this one keeps it
    alive as well. What it complains about is in `root/provider.log`.
    """

    def __init__(self, root: str | Path, *, port: int = 0, patience: float = 20.0) -> None:
        self.root = Path(root)
        self.url = ""
        self._port, self._patience = port, patience
        self._process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int:
        """The process id; raise LabError when it is not started."""
        if self._process is None:
            raise LabError(f"the provider below {self.root} is not started", next="call start() first")
        return self._process.pid

    def start(self) -> Self:
        """Start it and wait until it listens, at most `patience` seconds; raise LabError when it does not.

        Does nothing when it was started already.
        """
        if self._process is not None:
            return self
        self.root.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "labkit.provider.server", "--root", str(self.root), "--port", str(self._port)]
        with open(self.root / _LOG, "ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,  # an interrupted notebook cell interrupts its group, not the provider
            )
        deadline = threading.Timer(self._patience, self._process.kill)
        deadline.start()
        try:
            self.url = self._read_url(self._process)
        finally:
            deadline.cancel()
        return self

    def stop(self) -> None:
        """End it and wait until it is gone; stopping twice does nothing."""
        process, self._process, self.url = self._process, None, ""
        if process is None:
            return
        with process:  # closes the pipes and waits
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _read_url(self, process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            return str(json.loads(line)["url"])
        except (ValueError, KeyError, TypeError):
            self.stop()
            log = (self.root / _LOG).read_text(errors="replace")[-2000:]
            raise LabError(
                f"the provider below {self.root} did not come up (exit {process.returncode}, said {line!r}):\n{log}",
                safe="nothing is running",
                next=f"read {self.root / _LOG}; if the port is taken, leave it out",
            ) from None
