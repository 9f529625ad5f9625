"""Writes what was measured of existing frameworks into README.md: windows, and claims beside measurements.

Both follow from `datasets/measured.csv` and `datasets/claims.csv` alone. They stand between
`<!-- generated:windows -->` or `<!-- generated:claims -->` and `<!-- /generated -->`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from labkit.claims.measured import Row, read
from labkit.claims.table import judged, markdown
from labkit.measure.report import wilson
from labkit.measure.trial import NO_KILL, WINDOWS
from tools.reading_order import between

EFFECT = "execute_refund"


def fill(root: Path, text: str) -> str:
    """Return the `text` of a README with both tables renewed, where it has them."""
    if "<!-- generated:windows -->" not in text:
        return text
    claims, measured = root / "datasets/claims.csv", root / "datasets/measured.csv"
    return between(between(text, "windows", windows(read(measured))), "claims", markdown(judged(claims, measured)))


def windows(rows: Sequence[Row]) -> str:
    """Return the table of how often the refund was paid twice, in Markdown: a row a stack, a column a window.

    Before them stands how often any effect was executed twice without a kill.
    """
    cells = [row for row in rows if row.kind == "cell"]
    crashes = [row for row in cells if row.situation == "crash" and row.effect == EFFECT]
    shown = [row for row in cells if row.situation == NO_KILL] + crashes
    columns = ("", *WINDOWS)  # the window is empty without a kill
    lines = [f"| stack | policy | {NO_KILL} | {' | '.join(WINDOWS)} |", f"| --- | --- |{' --- |' * len(columns)}"]
    for stack in dict.fromkeys(row.stack for row in crashes):
        for policy in ("bare", "ledger"):
            found = {row.window: row for row in shown if (row.stack, row.policy) == (stack, policy)}
            lines.append(f"| {stack} | {policy} | {' | '.join(rate(found.get(window)) for window in columns)} |")
    bounds = sorted({row.trials for row in crashes if row.trials})
    told = ", ".join(f"0 of {trials} means a rate below {wilson(0, trials).high:.0%}" for trials in bounds)
    return "\n".join([*lines, "", f"{told}. Without a kill, any of the three effects counts."])


def rate(row: Row | None) -> str:
    """Return how often a cell's effect was executed twice, with the interval in percent unless it never was."""
    if row is None or not row.trials:
        return "?"
    found = wilson(row.duplicated, row.trials)
    told = f"{found.count}/{row.trials}"
    return f"**{told}** ({found.low:.0%}-{found.high:.0%})" if found.count else told
