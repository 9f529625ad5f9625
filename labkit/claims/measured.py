"""The measured results as a tidy table: one row a cell, a check or a probe. `datasets/measured.csv` is such a table."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from labkit.errors import InvalidInput
from labkit.measure.report import COUNTED, StackCell
from labkit.stacks.conformance import Finding

Kind = Literal["cell", "check", "probe"]


class Row(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One measured thing.

    `kind` is `cell`, `check` (of the conformance) or `probe`. A cell has a policy, a situation, a window, an effect and
    counts over its `trials`, as `StackCell` has them; a check or a probe has a `name`, an `outcome` (pass, fail,
    unsupported, not run) and one trial, none if it was not run. `seen` is what was seen, in words; `versions` those of
    the framework's packages.
    """

    stack: str
    kind: Kind
    name: str = ""
    policy: str = ""
    situation: str = ""
    window: str = ""
    effect: str = ""
    trials: int = 0
    duplicated: int = 0
    other_duplicated: int = 0
    lost: int = 0
    other_lost: int = 0
    wrong: int = 0
    false_finish: int = 0
    open: int = 0
    paid_again: int = 0
    failed: int = 0
    stuck: int = 0
    seconds_median: float | None = None
    seconds_95: float | None = None
    bytes: int | None = None
    outcome: Literal["", "pass", "fail", "unsupported", "not run"] = ""
    seen: str = ""
    versions: str = ""


COLUMNS = Row.__struct_fields__


def row_of_cell(cell: StackCell, versions: str) -> Row:
    """The row of one cell of a campaign."""
    counts: dict[str, Any] = {name: getattr(cell, name).count for name in COUNTED}
    return Row(
        stack=cell.stack,
        kind="cell",
        policy=cell.policy,
        situation=cell.situation,
        window=cell.window,
        effect=cell.effect,
        trials=cell.trials,
        failed=cell.statuses.get("failed", 0),
        stuck=cell.statuses.get("stuck", 0),
        seconds_median=_rounded(cell.seconds_median),
        seconds_95=_rounded(cell.seconds_95),
        bytes=cell.bytes,
        seen=_one_line(cell.example),
        versions=versions,
        **counts,
    )


def rows_of_findings(stack: str, kind: Kind, findings: Mapping[str, Finding], versions: str) -> list[Row]:
    """The rows of a stack's checks or probes."""
    return [
        Row(
            stack=stack,
            kind=kind,
            name=name,
            trials=int(finding.outcome in ("pass", "fail")),
            outcome=finding.outcome,
            seen=_one_line(finding.seen),
            versions=versions,
        )
        for name, finding in findings.items()
    ]


def replaced(earlier: Iterable[Row], rows: Sequence[Row], order: Sequence[str]) -> list[Row]:
    """`rows`, and the `earlier` ones of other stacks or kinds; stacks in this `order`, then those that it lacks.

    A check or a probe that was not run now, and was earlier, stays as it was.
    """
    earlier, known = list(earlier), list(order)
    had = {(row.stack, row.kind, row.name): row for row in earlier if row.name and row.trials}
    fresh = [had.get((row.stack, row.kind, row.name), row) if row.outcome == "not run" else row for row in rows]
    measured = {(row.stack, row.kind) for row in rows}
    together = [*(row for row in earlier if (row.stack, row.kind) not in measured), *fresh]
    return sorted(together, key=lambda row: known.index(row.stack) if row.stack in known else len(known))


def write(path: Path, rows: Iterable[Row]) -> None:
    """Write a table; a value that is not known is an empty field."""
    beside = path.with_name(f".{path.name}")
    with beside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([_field(getattr(row, name)) for name in COLUMNS] for row in rows)
    beside.replace(path)  # whoever dies before this leaves the old table


def read(path: Path) -> list[Row]:
    """Read a table; raise InvalidInput, with the line, for one that is not such a table."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            table = csv.DictReader(file)
            if tuple(table.fieldnames or ()) != COLUMNS:
                raise ValueError(f"its columns are {table.fieldnames}, expected {', '.join(COLUMNS)}")
            return [_row(number, fields) for number, fields in enumerate(table, start=2)]
    except (ValueError, csv.Error, TypeError) as error:  # of these are what msgspec and UTF-8 raise
        raise InvalidInput(
            f"{path} is no table of measured results: {error}",
            safe="nothing was changed",
            next="see datasets/README.md",
        ) from None


def _row(number: int, fields: dict[str, str]) -> Row:
    try:
        return msgspec.convert({name: text for name, text in fields.items() if text}, Row, strict=False)
    except (msgspec.ValidationError, TypeError) as error:
        raise ValueError(f"line {number}: {error}") from None


def _field(value: Any) -> str:
    return "" if value is None else str(value)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]
