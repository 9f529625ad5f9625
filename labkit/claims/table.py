"""Claims beside measurements, as a table for a terminal and as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from labkit.claims.measured import read
from labkit.claims.verdict import Judged, Verdict, judge, read_claims

if TYPE_CHECKING:
    from rich.table import Table

SIGNS: dict[Verdict, str] = {
    "holds": "✓ holds",
    "fails": "✗ fails",
    "holds if": "~ holds if",
    "not measured": "? not measured",
}


def judged(claims: Path, measured: Path) -> list[Judged]:
    """Every claim of the file `claims` with its verdict from the rows of the file `measured`."""
    rows = read(measured)
    return [judge(claim, rows) for claim in read_claims(claims)]


def render(found: Sequence[Judged]) -> Table:
    """One line a claim."""
    from rich.table import Table

    table = Table(title=title(found), title_justify="left")
    for column in ("id", "stack", "claim", "verdict", "trials", "holds if; note"):
        table.add_column(column, no_wrap=column in ("id", "verdict", "trials"))
    for each in found:
        trials = f"{each.trials:,}" if each.trials else "-"
        table.add_row(each.claim.id, each.claim.stack, each.claim.claim, SIGNS[each.verdict], trials, each.remark)
    return table


def markdown(found: Sequence[Judged]) -> str:
    """The claims that were measured, as a Markdown table, and how many of each verdict there are."""
    lines = ["| stack | claim | measured | trials |", "| --- | --- | --- | --- |"]
    for each in found:
        if each.verdict != "not measured":
            remark = f": {each.remark}" if each.remark else ""
            lines.append(
                f"| {each.claim.stack} | {each.claim.claim} | {SIGNS[each.verdict]}{remark} | {each.trials:,} |"
            )
    return "\n".join([*lines, "", f"{title(found)}."])


def title(found: Sequence[Judged]) -> str:
    """How many claims there are of each verdict."""
    counts = Counter(each.verdict for each in found)
    return f"{len(found)} published claims: " + ", ".join(f"{counts[verdict]} {verdict}" for verdict in SIGNS)
