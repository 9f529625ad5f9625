"""Draws the picture in README.md from a fresh exploration: what one crash does to an effect, by policy and provider.

Every engine is explored; a cell is drawn only if all of them agree, otherwise the generator stops.
"""

from __future__ import annotations

from pathlib import Path

from labkit.cases.refund import refund
from labkit.check.cells import Cell
from labkit.check.windows import MEANING
from labkit.effects.policies import POLICIES
from labkit.matrix import matrix
from labkit.model import CAPABILITIES

PATH = "notebooks/images/windows.svg"
WINDOWS = ("W1", "W2", "W3", "W4", "W5")
LEFT, TOP, WIDTH, HEIGHT, GAP = 250, 118, 132, 34, 6
PROVIDERS = {"dedup": "recognises a repeat", "lookup": "can be asked", "neither": "does neither"}
STYLE = """
  svg { font-family: system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; }
  .page { fill: #ffffff; } .text { fill: #1f2933; } .faint { fill: #52606d; }
  .once { fill: #e3f1e6; stroke: #2f7d4f; } .twice { fill: #fbe3e1; stroke: #b3261e; stroke-width: 2; }
  .maybe { fill: #fdf1d3; stroke: #8a6100; stroke-dasharray: 5 3; }
  .word { font-size: 14px; text-anchor: middle; fill: #1f2933; } .strong { font-weight: 700; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #14181d; } .text, .word { fill: #eef2f6; } .faint { fill: #aab6c2; }
    .once { fill: #173524; stroke: #6fcf97; } .twice { fill: #4a1714; stroke: #ff8a80; }
    .maybe { fill: #40320b; stroke: #ffd166; }
  }
"""


def generate(root: Path) -> dict[str, str | None]:
    """Return the picture, drawn anew."""
    return {PATH: draw(observe())}


def observe() -> dict[tuple[str, str, str], str]:
    """Explore every single crash; return once, twice or maybe for each policy, provider and window."""
    found: dict[tuple[str, str, str], str] = {}
    for cell in matrix(refund, crashes=1).cells:
        key = (cell.policy, cell.provider, cell.window)
        if found.setdefault(key, word(cell)) != word(cell):
            raise SystemExit(f"the engines disagree about {key}: the picture cannot be drawn")
    return found


def word(cell: Cell) -> str:
    """Return what the cell says about the effect."""
    return "twice" if cell.duplicated else "maybe" if cell.ambiguous else "once"


def draw(found: dict[tuple[str, str, str], str]) -> str:
    """Return the SVG."""
    rows = [(policy, provider) for policy in POLICIES for provider in CAPABILITIES]
    height = TOP + sum(HEIGHT + (GAP * 2 if provider == "neither" else 0) for _, provider in rows) + 56
    width = LEFT + len(WINDOWS) * (WIDTH + GAP) + 20
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="t d">',
        '<title id="t">What one crash does to a refund</title>',
        f'<desc id="d">{describe(found)}</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{width}" height="{height}" rx="10"/>',
        '<text class="text" x="20" y="36" font-size="20" font-weight="700">'
        "The process dies around a refund. How often is the money paid?</text>",
        '<text class="faint" x="20" y="60" font-size="14">Every crash of the reference workflow, '
        "on a snapshot, an event-sourced and a hybrid engine: all three agree.</text>",
    ]
    for index, window in enumerate(WINDOWS):
        x = LEFT + index * (WIDTH + GAP) + WIDTH / 2
        second = MEANING[window].partition(", ")[2] or {"W1": "before the intent", "W5": "result committed"}[window]
        lines.append(f'<text class="word strong" x="{x}" y="84">{window}</text>')
        lines.append(f'<text class="word faint" x="{x}" y="99" style="font-size:10.5px">{second}</text>')
    y = TOP
    for policy, provider in rows:
        if provider == "dedup":
            lines.append(f'<text class="text" x="20" y="{y + 22}" font-size="16" font-weight="700">{policy}</text>')
        label = PROVIDERS[provider]
        lines.append(
            f'<text class="faint" x="{LEFT - 14}" y="{y + 22}" font-size="13" text-anchor="end">{label}</text>'
        )
        lines += [box(index, y, found[policy, provider, window]) for index, window in enumerate(WINDOWS)]
        y += HEIGHT + (GAP * 2 if provider == "neither" else 0)
    lines.append(
        f'<text class="faint" x="20" y="{y + 24}" font-size="13">maybe: nobody can know, so the run stops and a person '
        "decides. Rows: policy, and what the provider does. Made by: make generate</text>"
    )
    return "\n".join([*lines, "</svg>", ""])


def box(index: int, y: int, said: str) -> str:
    """Return one cell: shape, outline and word say the same."""
    x = LEFT + index * (WIDTH + GAP)
    strong = " strong" if said == "twice" else ""
    shown = {"once": "once", "twice": "✕ twice", "maybe": "? maybe"}[said]
    return (
        f'<rect class="{said}" x="{x}" y="{y + 3}" width="{WIDTH}" height="{HEIGHT - 6}" rx="6"/>'
        f'<text class="word{strong}" x="{x + WIDTH / 2}" y="{y + 22}">{shown}</text>'
    )


def describe(found: dict[tuple[str, str, str], str]) -> str:
    """Return the table in words, for whoever cannot see it."""
    bad = [f"{policy} with {provider} in {window}: {said}" for (policy, provider, window), said in found.items()]
    return "; ".join(line for line in bad if not line.endswith("once") and "between" not in line) + "; all others: once"
