"""Fills in what is generated in README.md and labkit/README.md: reading order, and what was measured of frameworks."""

from __future__ import annotations

from pathlib import Path

from tools import claims_table, reading_order


def generate(root: Path) -> dict[str, str | None]:
    """Return each README that is there, with its generated parts renewed."""
    texts: dict[str, str | None] = {}
    for name in reading_order.READMES:
        if (root / name).exists():
            text = (root / name).read_text("utf-8")
            texts[name] = claims_table.fill(root, reading_order.fill(root, name, text))
    return texts
