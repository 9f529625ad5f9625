"""Frameworks as notebooks see them: kill one for real, look at both ledgers, try its probes, read what was recorded."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.bench.launch import DEFAULT_MODE
from labkit.cases.service_desk import DATASETS
from labkit.claims.measured import Row, read
from labkit.claims.survey import probes_of
from labkit.errors import InvalidInput, LabError
from labkit.lab.stack_trial import Recorded, StackTrial
from labkit.measure.servers import services_for
from labkit.measure.sites import Sites
from labkit.measure.trial import NO_KILL, Cell, judge
from labkit.scratch import scratch_folder
from labkit.stacks.find import find_stack

if TYPE_CHECKING:
    import pandas as pd

MEASURED = DATASETS / "measured.csv"
LOOK = 9
"""The number of the process that only looks."""
RECORDED = "recorded: "
SHOWN = (
    *("stack", "policy", "situation", "window", "effect", "trials", "duplicated", "other_duplicated"),
    *("lost", "other_lost", "false_finish", "failed"),
)


class StackLab:
    """Real trials of `stacks`, in a temporary folder that is gone after `close`.

    The servers that they need are started. `missing` says which could not be had, and why: what was recorded in
    `datasets/measured.csv` is then shown instead, and says so. Raises InvalidInput for an unknown stack.
    """

    def __init__(self, *stacks: str) -> None:
        self._open = ExitStack()
        self._folder = Path(self._open.enter_context(scratch_folder()))
        had = self._open.enter_context(services_for(stacks, self._folder / "servers"))
        self.missing, self._services = had.missing, had.addresses
        self._sites = self._open.enter_context(Sites(self._folder / "trials", had.addresses, lanes=2))
        self._count = 0

    def close(self) -> None:
        """Leave no process, no server and no file behind."""
        self._open.close()

    def kill(
        self,
        stack: str,
        *,
        window: str,
        effect: str = "execute_refund",
        policy: str = "bare",
        situation: str = "crash",
    ) -> StackTrial | Recorded:
        """One trial: a process dies in a window of an effect, the next one resumes as the documentation says.

        `situation` is `crash` or one of `labkit.measure.trial.BESIDES`. Raises LabError when the process did not die
        there, InvalidInput for `no kill`.
        """
        if situation == NO_KILL:
            raise InvalidInput("in this situation nothing is killed", next="labkit bench --stack measures it")
        cell = Cell(stack=stack, policy=policy, window=window, effect=effect, situation=situation)
        if set(find_stack(stack).services) & set(self.missing):
            return recorded(cell)
        name = self._next(stack)
        with self._sites.at(stack, DEFAULT_MODE) as site, site.world(name) as world:
            died = site.crash(cell, world)
            if not died.reached:
                raise LabError(f"{stack} did not die at {died.tap}: {died.output[-600:]}", next="run the cell again")
            before = len(world.entries())
            found = site.ask(cell, world, LOOK, "restored")
            answers = site.go_on(cell, world)
            entries = world.entries()
            result = judge(answers, entries, site.root / name / "store")
        return StackTrial(cell, died, found, answers, entries, before, result)

    def probe(self, framework: str, *names: str, **options: Any) -> pd.DataFrame:
        """Try these probes of a framework with their `options`: a row each, its outcome and what was seen."""
        import pandas as pd

        rows = [(name, *self._tried(framework, name, options)) for name in names]
        return pd.DataFrame(rows, columns=["it would be good if", "outcome", "seen"]).set_index("it would be good if")

    def _tried(self, framework: str, name: str, options: dict[str, Any]) -> tuple[str, str]:
        folder = self._folder / self._next(framework)
        finding = apart(probes_of(framework)[name], folder, self._services, **options)
        if finding.outcome != "not run":
            return finding.outcome, finding.seen
        row = _row(stack=framework, kind="probe", name=name)
        return row.outcome, RECORDED + row.seen

    def _next(self, name: str) -> str:
        self._count += 1
        return f"{name}-{self._count}".replace(":", "-")


def recorded(cell: Cell) -> Recorded:
    """What was measured for `cell`; raise LabError when nothing was."""
    fields = {name: getattr(cell, name) for name in ("stack", "policy", "window", "effect", "situation")}
    return Recorded(cell, _row(kind="cell", **fields))


def measured(*stacks: str, **fields: str) -> pd.DataFrame:
    """The recorded cells of some stacks, all by default, that have these values: a row each."""
    import pandas as pd

    rows = [row for row in _rows(kind="cell", **fields) if not stacks or row.stack in stacks]
    return pd.DataFrame([[getattr(row, name) for name in SHOWN] for row in rows], columns=list(SHOWN))


def apart(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call in a thread of its own: what starts an event loop cannot be called from a notebook, which runs in one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call, *args, **options).result()


def _rows(**fields: str) -> list[Row]:
    rows = read(MEASURED) if MEASURED.exists() else []
    return [row for row in rows if all(getattr(row, name) == value for name, value in fields.items())]


def _row(**fields: str) -> Row:
    found = _rows(**fields)
    if not found:
        raise LabError(
            f"nothing is recorded of {', '.join(fields.values())}",
            safe="nothing was run",
            next=f"labkit doctor names the servers; labkit survey --out {MEASURED.name} records",
        )
    return found[0]
