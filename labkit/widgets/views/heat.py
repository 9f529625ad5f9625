"""The matrix as a heat table: engine x policy x provider x window, each cell with a sign, a word and a colour."""

from __future__ import annotations

import shlex
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

import ipywidgets
import msgspec
import traitlets as t

from labkit.cases import known_case
from labkit.check.cells import COUNTS, Cell
from labkit.check.render import mark
from labkit.check.windows import MEANING, WINDOWS
from labkit.errors import InvalidInput
from labkit.matrix import MatrixReport
from labkit.model import Workflow
from labkit.timeline.page import boxed
from labkit.widgets.timeline import CrashTimeline
from labkit.widgets.views.examples import Example, Examples
from labkit.widgets.views.view import SYNC, View, esm

# For each sign of the central table (labkit.check.render): how it looks, a sign told apart by shape, a word, a meaning.
KINDS = {
    "x": ("twice", "◈", "twice", "executed again"),
    "-": ("never", "▢", "never", "completed, and never executed"),
    "?": ("person", "?", "person", "left ambiguous, for a person to decide"),
    "u": ("unseen", "◌", "unseen", "executed once; harmless here, but our side knew nothing of it until recovery"),
    "#": ("broken", "#", "broken", "another invariant was broken"),
    "o": ("once", "✓", "once", "executed once"),
}


def plain(cell: Cell) -> dict[str, Any]:
    """A cell as the table shows it: what stands out, in which share of its schedules, and all its counts."""
    said = mark(cell)
    share = said[1:].rstrip("!") if said[0] != "o" else ""
    return {
        "kind": said[0],
        "share": share,
        "schedules": cell.schedules,
        "observed": {name: getattr(cell, name) for name in COUNTS},
        "expected": cell.expected,
        "unexpected": cell.unexpected,
        "verdict": cell.verdict,
        "invariants": cell.invariants,
    }


class HeatTable(View):
    """The table alone. `chosen` is the cell that is open, as `engine/policy/provider/window`; `examples` tell of it."""

    _esm = esm("heat.js")
    KEPT: ClassVar[tuple[str, ...]] = ("title", "data", "chosen", "examples", "pictures")
    chosen = t.Unicode("").tag(**SYNC)
    examples = t.Dict().tag(**SYNC)
    pictures: t.List[str] = t.List().tag(**SYNC)

    def __init__(self, report: MatrixReport) -> None:
        self._report = report
        cells = {"/".join((c.engine, c.policy, c.provider, c.window)): plain(c) for c in report.cells}
        super().__init__(
            title=f"{report.workflow}: {report.schedules:,} schedules of crashes",
            data={"cells": cells, "kinds": KINDS, "windows": MEANING, "unexpected": report.unexpected},
        )

    def to_table(self) -> str:
        """The table as static HTML."""
        head = "".join(f"<th>{window}</th>" for window in WINDOWS)
        rows = []
        for combination, by_window in self._rows():
            shown = [_shown(by_window.get(window)) for window in WINDOWS]
            names = "".join(f'<th style="text-align:left">{name}</th>' for name in combination)
            rows.append(f"<tr>{names}{''.join(f'<td>{text}</td>' for text in shown)}</tr>")
        legend = "; ".join(f"{sign} {word}: {meaning}" for _, sign, word, meaning in KINDS.values())
        return (
            f"<table><caption>{escape(self.title)}</caption><thead><tr><th>engine</th><th>policy</th><th>provider</th>"
            f"{head}</tr></thead><tbody>{''.join(rows)}</tbody></table><p>{escape(legend)}</p>"
        )

    def to_text(self) -> str:
        """The table as text, a line for each policy and provider, and for each engine where they differ."""
        head = "".join(f"{window:<14}" for window in WINDOWS)
        lines = [self.title, f"{'engine':<23}{'policy':<8}{'provider':<10}{head}"]
        for (engine, policy, provider), by_window in self._rows():
            shown = "".join(f"{_shown(by_window.get(window)):<14}" for window in WINDOWS)
            lines.append(f"{engine:<23}{policy:<8}{provider:<10}{shown}".rstrip())
        return "\n".join(lines)

    def still(self) -> dict[str, str]:
        """The table as HTML."""
        return {"text/html": self.to_table()}

    def _rows(self) -> list[tuple[tuple[str, str, str], dict[str, Cell]]]:
        """Names of engines, policy and provider, and the cells by window; engines that show the same are one row."""
        grouped = groupby(self._report.cells, key=lambda cell: (cell.engine, cell.policy, cell.provider))
        found = {combination: {cell.window: cell for cell in group} for combination, group in grouped}
        alike: dict[tuple[str, ...], list[tuple[str, str, str]]] = {}
        for (engine, *pair), by_window in found.items():
            look = (*pair, *(_shown(by_window.get(window)) for window in WINDOWS))
            alike.setdefault(look, []).append((engine, *pair))
        of_all = {engine for engine, *_ in found}
        rows = []
        for combinations in alike.values():
            engines, (_, policy, provider) = [engine for engine, *_ in combinations], combinations[0]
            name = f"all {len(of_all)} engines" if set(engines) == of_all and len(of_all) > 1 else ", ".join(engines)
            rows.append(((name, policy, provider), found[combinations[0]]))
        return rows


class MatrixTable(ipywidgets.VBox):
    """The matrix; the cell that is chosen opens its counterexample, or an example, in a crash timeline beneath.

    `report` is that of `labkit.matrix.matrix`; `inputs` are those that it was made with, by default the workflow's
    example; `workflow` is needed for your own. `chosen` opens a cell, `engine/policy/provider/window`. Raises
    InvalidInput for a cell that is not in the report.
    """

    def __init__(
        self, report: MatrixReport, workflow: Workflow[Any] | None = None, *, chosen: str = "", **inputs: Any
    ) -> None:
        self.workflow = workflow or known_case(report.workflow)
        self._examples = Examples(report, self.workflow, inputs or self.workflow.example)
        self.grid = HeatTable(report)
        self.timeline: CrashTimeline | None = None
        super().__init__([self.grid])
        self.grid.observe(self._opened, "chosen")
        self.choose(chosen)

    def choose(self, chosen: str) -> None:
        """Open a cell, or none; raise InvalidInput for a cell that is not in the report."""
        if chosen and chosen not in self.grid.data["cells"]:
            raise InvalidInput(f"no cell {chosen!r}", next="engine/policy/provider/window: hybrid/bare/neither/W3")
        self.grid.chosen = chosen

    def to_html(self, path: str | Path | None = None) -> str:
        """The table as one page without a kernel, with the example of every cell; written to `path` if one is given."""
        kept = self.grid.examples, self.grid.pictures
        pictures: dict[str, int] = {}
        told = {}
        for key in self._examples.cells:
            example = self._examples.of(key)
            number = pictures.setdefault(boxed(example.told.timeline), len(pictures))
            told["/".join(key)] = {**_told(example), "picture": number}
        self.grid.examples, self.grid.pictures = told, list(pictures)
        try:
            return self.grid.to_html(path)
        finally:
            self.grid.examples, self.grid.pictures = kept

    def to_table(self) -> str:
        """The table as static HTML."""
        return self.grid.to_table()

    def to_text(self) -> str:
        """The table as text, and below it the timeline of the cell that is open."""
        return "\n\n".join([self.grid.to_text(), *([self.timeline.to_text()] if self.timeline else [])])

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        data = super()._repr_mimebundle_(**kwargs) or {}
        return {**data, "text/html": self.to_table(), "text/plain": self.to_text()}

    def _opened(self, change: Any) -> None:
        if not change["new"]:
            self.children, self.timeline = [self.grid], None
            return
        engine, policy, provider, window = change["new"].split("/")
        example = self._examples.of((engine, policy, provider, window))
        self.grid.examples = {change["new"]: _told(example)}
        self.timeline = CrashTimeline.of_counterexample(example.schedule, self.workflow)
        self.children = [self.grid, self.timeline]


def _shown(cell: Cell | None) -> str:
    if cell is None:
        return ""
    said = plain(cell)
    _, sign, word, _ = KINDS[said["kind"]]
    return f"{sign} {word} {said['share']}{' !' if said['unexpected'] else ''}".strip()


def _told(example: Example) -> dict[str, Any]:
    """What the panel below the table says of an example."""
    schedule, told = example.schedule, example.told
    given = [f"{name}={msgspec.json.encode(value).decode()}" for name, value in schedule.inputs.items()]
    inputs = "".join(f" --input {shlex.quote(each)}" for each in given)
    where = f"--engine {schedule.engine} --policy {schedule.policy} --provider {schedule.provider}{inputs}"
    return {
        "found": example.found,
        "schedule": schedule.schedule,
        "status": told.timeline.status,
        "verdict": told.verdict,
        "findings": [f"{each.mark}: {each.text}" for each in told.timeline.findings],
        "broken": [f"{each.invariant}: {each.text}" for each in told.violations],
        "type": [
            f"labkit run {schedule.workflow} {where} --crash {schedule.schedule[0]}",
            f"labkit explore {schedule.workflow} {where}",
        ],
    }
