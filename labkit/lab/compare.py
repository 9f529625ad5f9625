"""One crash on three engines, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import msgspec

from labkit.arguments import checked
from labkit.check.evidence import Evidence, step_of
from labkit.check.verdict import unsettled, verdict
from labkit.check.windows import WINDOWS, acknowledged
from labkit.effects.key import effect_of
from labkit.errors import LabError
from labkit.lab.crash_points import CrashPoint, find
from labkit.lab.facade import Lab
from labkit.lab.foresee import chosen_by_any
from labkit.lab.machine import MEMORY
from labkit.lab.naming import run_id_of
from labkit.model import Workflow
from labkit.own_engines import engine_names
from labkit.provider.protocol import Entry
from labkit.scenario import AS_DECLARED, Scenario, inputs_for
from labkit.scratch import scratch_folder
from labkit.sim.judging import Judge, told_without_log
from labkit.sim.lives import Life
from labkit.timeline import Timeline
from labkit.timeline.operations import describe
from labkit.timeline.text import plain
from labkit.values import ValueLog

COLUMNS = ["engine", "killed at", "provider's ledger", "activity calls", "status", "verdict"]


class Row(msgspec.Struct, kw_only=True):
    """One engine: where its process died, what the provider executed for the effect, and how the run ended.

    `step` is the effect (`pay`, or `pay/2`), or the step in which the process died. `exit_status` is None when the
    crash was simulated. `activity_calls` are all calls that were made, `again` those of them that had been made before.
    `broken` are invariants by name; `verdict` is valid, invalid, or unknown when the run did not come to its end, as
    when a person has to decide, or made two effects that may be one; `missing` says which. An engine that has no such
    point says so in `lacks`: nothing was killed, no verdict.
    """

    engine: str
    step: str
    killed_at: str = ""
    pid: int = 0
    exit_status: int | None = None
    executed: list[Entry] = []
    activity_calls: int = 0
    again: int = 0
    status: str = ""
    verdict: str = ""
    broken: list[str] = []
    missing: list[str] = []
    error: str = ""
    lacks: str = ""
    timeline: Timeline | None = None

    def cells(self) -> list[str]:
        """The row as text, in the order of `COLUMNS`."""
        if self.lacks:
            return [self.engine, f"{self.lacks}: nothing was killed", "", "", "", ""]
        calls = f"{self.activity_calls} ({self.again} again)" if self.again else str(self.activity_calls)
        executed = "\n".join(describe(entry) for entry in self.executed) or f"no effect in {self.step}"
        said = f"{self.verdict}, {_rules(self.broken)}" if self.broken else self.verdict
        said = f"{self.verdict}: {'; '.join(self.missing)}" if self.verdict == "unknown" else said
        said = f"{self.verdict}: {self.error}" if self.error else said
        return [self.engine, self.killed_at, executed, calls, self.status, said]


class Comparison(msgspec.Struct, kw_only=True):
    """The rows of all engines. `table` is a data frame; printed and in a notebook it reads as a table."""

    workflow: str
    at: str
    policy: str
    real: bool
    rows: list[Row]

    @property
    def table(self) -> Any:
        """One row an engine, as a pandas data frame."""
        import pandas as pd

        return pd.DataFrame([row.cells() for row in self.rows], columns=COLUMNS)

    @property
    def ledgers(self) -> Any:
        """The provider's ledgers of the effect side by side, a data frame: a column an engine, a row an execution."""
        import pandas as pd

        columns = {row.engine: pd.Series([describe(entry) for entry in row.executed], dtype=str) for row in self.rows}
        return pd.DataFrame(columns).fillna("")

    @property
    def title(self) -> str:
        """What was done, in one line."""
        how = "SIGKILL" if self.real else "simulated crash"
        at = f"{self.at} of {self.rows[0].step}" if self.at in WINDOWS else self.at
        return f"{self.workflow}: {how} at {at}, policy {self.policy}, then resumed in another process"

    def data(self) -> dict[str, Any]:
        """All of it but the timelines, as plain JSON data."""
        rows = [{name: value for name, value in row.items() if name != "timeline"} for row in map(_plain, self.rows)]
        return {"workflow": self.workflow, "at": self.at, "policy": self.policy, "real": self.real, "rows": rows}

    def _repr_html_(self) -> str:
        cell = "<{0} style='text-align:left;vertical-align:top;white-space:pre-line'>{1}</{0}>"
        lines = [[cell.format("th", name) for name in COLUMNS]]
        lines += [[cell.format("td", escape(text)) for text in row.cells()] for row in self.rows]
        body = "".join(f"<tr>{''.join(line)}</tr>" for line in lines)
        return f"<table><caption style='text-align:left'>{escape(self.title)}</caption>{body}</table>"

    def __rich__(self) -> Any:
        from labkit.lab.tables import table

        shown = [name for name in COLUMNS if name != "killed at"]
        rows = ([row.engine, *row.cells()[2:-1], row.verdict] for row in self.rows if not row.lacks)
        made = table(shown, rows, self.title)
        made.caption, made.caption_justify = "\n".join(self._notes()), "left"
        return made

    def _notes(self) -> list[str]:
        died = ", ".join(f"{row.engine} process {row.pid} ({row.exit_status})" for row in self.rows if not row.lacks)
        broken = dict.fromkeys(name for row in self.rows for name in row.broken)
        errors = [f"{row.engine}: {row.error}" for row in self.rows if row.error]
        errors += [f"{row.engine} {row.cells()[1]}" for row in self.rows if row.lacks]
        notes = [f"killed, with exit status: {died}"] if self.real else []
        stopped = [f"{row.engine}: {reason}" for row in self.rows for reason in row.missing]
        return notes + ([_rules(broken)] if broken else []) + stopped + errors

    def __str__(self) -> str:
        return plain(self)

    __repr__ = __str__


@checked
def compare(
    workflow: Workflow[Any],
    *,
    at: str = "W3",
    policy: str = "bare",
    provider: str = AS_DECLARED,
    effect: str | None = None,
    engines: Sequence[str | type[Any]] | type[Any] = (),
    real: bool = True,
    progress: Callable[[str], None] | None = None,
    **inputs: Any,
) -> Comparison:
    """Kill the workflow at `at` (a window of an effect, or a tap) on each engine, resume it, and look.

    `engines` are names or classes, the lab's three when none is given. Each dies at its own tap of the window; one that
    has none says so, and nothing is killed on it. The kills are real unless `real=False`. `progress(engine)` is called
    before each engine. Raises InvalidInput, before anything is run, for a point that no engine has.
    """
    inputs = inputs_for(workflow, inputs)
    run_id = run_id_of(workflow, inputs)
    base = Scenario(workflow=workflow, inputs=inputs, policy=policy, provider=provider, run_id=run_id)
    judges = {engine: Judge(msgspec.structs.replace(base, engine=engine)) for engine in engine_names(engines)}
    point = chosen_by_any({engine: each.reference.taps for engine, each in judges.items()}, at, effect)
    rows = []
    with scratch_folder() as folder:
        for engine, each in judges.items():
            if progress:
                progress(engine)
            path = Path(folder) / f"{engine}.db" if real else MEMORY
            with Lab(path, engine=engine, policy=policy, provider=provider) as lab:
                rows.append(_row(lab, each, point, real))
    return Comparison(workflow=workflow.name, at=at, policy=policy, real=real, rows=rows)


def _row(lab: Lab, judge: Judge, point: CrashPoint, real: bool) -> Row:
    scenario, taps = judge.scenario, judge.reference.taps
    workflow, run_id, place = scenario.workflow, scenario.run_id, point.place
    at = find(taps, point)
    if at is None:
        return Row(engine=scenario.engine, step=place, lacks=point.lacks)
    killed = lab.kill(workflow, at=str(taps[at]), real=real, **scenario.inputs)
    error = ""
    try:
        if killed.run is None:
            lab.start(workflow, approve=True, **scenario.inputs)
        else:
            lab.resume(run_id, approve=True)
    except LabError as failure:
        error = failure.what
    evidence = lab.evidence(run_id)
    broken, untold = _broken(judge, at, evidence, error)
    missing = [*unsettled(evidence), *untold]
    named = effect_of if place != taps[at].step else step_of
    return Row(
        engine=scenario.engine,
        killed_at=killed.tap,
        pid=killed.pid,
        exit_status=killed.exit_status,
        step=place,
        executed=[entry for entry in evidence.outside if entry.kind == "effect" and named(entry.subject) == place],
        activity_calls=sum(entry.kind == "activity" for entry in evidence.outside),
        again=evidence.activities_repeated(),
        status=evidence.status,
        verdict=verdict(broken, missing),
        missing=missing,
        broken=broken,
        error=error,
        timeline=lab.timeline(run_id),
    )


def _broken(judge: Judge, at: int, evidence: Evidence, error: str) -> tuple[list[str], list[str]]:
    """The names of the invariants that are broken after a death at tap number `at`, by the rules of the simulator, and
    what cannot be told."""
    first = judge.reference
    image, kept = first.images[first.image_of[at]], Counter(acknowledged(first.taps[: at + 1]))
    violations, _ = judge.judge(Life([], [], [], evidence, error, ValueLog()), image, kept, image.untracked)
    told, untold = told_without_log(judge, [*violations, *judge.anyway()])
    return list(dict.fromkeys(violation.invariant for violation in told)), untold


def _rules(broken: Iterable[str]) -> str:
    """Invariants by name, in quotes: a name says what should have been, not what was."""
    return "broken rules: " + ", ".join(f"'{name}'" for name in broken)


def _plain(row: Row) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(row)
    return data
