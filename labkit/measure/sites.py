"""Places for trials, lent to whoever measures: one provider, and a few zygotes that have imported a framework."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from labkit.bench.errand import Errand
from labkit.bench.launch import Ended, Launcher, Plain, Zygote
from labkit.errors import LabError
from labkit.measure.trial import Cell, Result, Site
from labkit.provider.process import ProviderProcess
from labkit.stacks.find import find_stack


class Lazy:
    """A launcher that is started when it is first used: a second resumer is rare."""

    def __init__(self, stack: str, mode: str) -> None:
        self._stack, self._mode = stack, mode
        self._launcher: Launcher | None = None

    def run(self, job: Errand) -> Ended:
        """Run `job` in a process of its own and wait for its end."""
        return self._started().run(job)

    def get_ready(self) -> None:
        """Start it, if there is something to start; raise LabError when that cannot be done in the stack's patience."""
        launcher = self._started()
        if isinstance(launcher, Zygote):
            launcher.get_ready()

    def _started(self) -> Launcher:
        if self._launcher is None:
            stack = find_stack(self._stack)
            if self._mode == "zygote" and stack.forks:
                self._launcher = Zygote("labkit.measure.zygote", self._stack, patience=stack.patience)
            else:
                self._launcher = Plain("labkit.measure.child")
        return self._launcher

    def close(self) -> None:
        """Leave no process behind."""
        if self._launcher:
            self._launcher.close()


class Stopped(BaseException):
    """The sites were closed during the trial: what came out is no result, and no failure that anybody may record."""


class Sites:
    """Sites below the folder `root`, with the servers in `services`; `keep` leaves the folder of each trial there.

    `lane` is held for each cell that is being measured: there are `lanes` of them, and as many sites that nobody uses
    stay ready. Use it in `with`.
    """

    def __init__(self, root: Path, services: dict[str, str], *, lanes: int, keep: bool = False) -> None:
        self._root, self._services, self._keep = root.resolve(), services, keep
        self.lane = threading.Semaphore(lanes)
        self._spare = lanes
        self._idle: list[tuple[tuple[str, str], Site]] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._provider = ProviderProcess(self._root)

    def __enter__(self) -> Sites:
        self._provider.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        with self._lock:
            while self._idle:
                _close(self._idle.pop()[1])
        self._provider.stop()

    def stop(self) -> None:
        """From now on a trial ends with Stopped: it may have failed only because everything is being closed."""
        self._stopping.set()

    def measure(self, cell: Cell, name: str, mode: str) -> Result:
        """One trial of `cell` in the folder `name`, which is made anew. Whatever goes wrong is a result, too."""
        folder = self._root / name
        shutil.rmtree(folder, ignore_errors=True)
        try:
            with self.at(cell.stack, mode) as site:
                result = site.trial(cell, name)
        except Exception as failure:
            result = Result(kind="error", detail=f"{type(failure).__name__}: {failure}"[:600])
        finally:
            if not self._keep:
                shutil.rmtree(folder, ignore_errors=True)
        if self._stopping.is_set():
            raise Stopped(name)
        return result

    @contextmanager
    def at(self, stack: str, mode: str) -> Iterator[Site]:
        """A site for `stack`, with processes in this `mode`, that nobody else uses meanwhile.

        Raises LabError when the stack cannot get ready.
        """
        with self._lock:
            ready = next((each for each in self._idle if each[0] == (stack, mode)), None)
            if ready:
                self._idle.remove(ready)
        site = ready[1] if ready else self._new(stack, mode)
        try:
            yield site
        except BaseException:
            _close(site)
            raise
        with self._lock:
            self._idle.append(((stack, mode), site))
            surplus = self._idle.pop(0)[1] if len(self._idle) > self._spare else None
        if surplus:
            _close(surplus)

    def unfit(self, stacks: Iterable[str], mode: str) -> dict[str, str]:
        """Which of these stacks cannot get ready for processes in this `mode`, and why; a site that can is kept."""
        found: dict[str, str] = {}
        for stack in stacks:
            try:
                with self.at(stack, mode):
                    pass
            except LabError as error:
                found[stack] = error.what
        return found

    def _new(self, stack: str, mode: str) -> Site:
        launchers = (Lazy(stack, mode), Lazy(stack, mode))
        try:
            launchers[0].get_ready()
        except LabError:
            launchers[0].close()
            raise
        return Site(
            launchers=launchers,
            url=self._provider.url,
            root=self._root,
            services=self._services,
            patience=find_stack(stack).patience,
        )


def _close(site: Site) -> None:
    for launcher in site.launchers:
        with suppress(OSError):
            launcher.close()
