"""How a probe of DBOS is entered under the promise that it tries, and how it is judged."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from labkit.bench.launch import Launcher
from labkit.stacks.conformance import Finding
from labkit.stacks.probes.dbos_lives import Lived, Stage, launching

Probe = Callable[[Stage], Finding]


class Promises(dict[str, Callable[..., Finding]]):
    """Probes by their promise: `(a new folder, servers by name) -> Finding`. A launcher may follow, if there is one."""

    def __call__(self, words: str) -> Callable[[Probe], Probe]:
        """Enter the decorated probe under the promise that it tries."""

        def enter(probe: Probe) -> Probe:
            def run(folder: Path, services: dict[str, str], launcher: Launcher | None = None) -> Finding:
                with nullcontext(launcher) if launcher else launching() as found:
                    return probe(Stage(found, folder, services))

            self[words] = run
            return probe

        return enter


def judged(lived: Lived, **executed: int) -> Finding:
    """A pass when the run succeeded and executed exactly this."""
    return finding(lived.said.get("status") == "SUCCESS" and lived.executed == executed, told(lived))


def finding(good: bool, seen: str) -> Finding:
    """A pass or a fail, with what was seen."""
    return Finding("pass" if good else "fail", seen)


def told(lived: Lived) -> str:
    """What a process said, and all that was executed."""
    return f"{lived.said}, executed {dict(lived.executed)}"
