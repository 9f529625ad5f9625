"""Curves on two logarithmic axes, as self-contained SVG in the colours of the page; each engine has its own dashes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from math import ceil, floor, log10
from typing import NamedTuple

import numpy as np

DASHES = {"snapshot": "", "event-sourced": "7 4", "hybrid": "2 3"}
WIDE, HIGH = 420.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 92.0, 34.0, 44.0
STYLE = "text{font:11px system-ui,sans-serif;fill:currentColor}.t{font-weight:600;font-size:12px}"


class Picture(NamedTuple):
    """What one picture shows: lines by engine over x between its `ends`, a marker `at` one x, and where they cross."""

    title: str
    x: str
    ends: tuple[float, float]
    at: float
    lines: dict[str, Callable[[float], float]]
    crossings: Sequence[tuple[float, float]]


def side_by_side(pictures: Sequence[Picture]) -> str:
    """The pictures beside each other as one SVG text."""
    inner = "".join(f'<g transform="translate({WIDE * n:.0f} 0)">{_draw(each)}</g>' for n, each in enumerate(pictures))
    words = "; ".join(f"{each.title} over {each.x}" for each in pictures)
    wide = WIDE * len(pictures)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {HIGH:.0f}" role="img" '
        f'aria-label="{escape(words)}" style="width:100%;max-width:{wide:.0f}px;height:auto">'
        f"<style>{STYLE}</style>{inner}</svg>"
    )


def _draw(picture: Picture) -> str:
    grid = [float(x) for x in np.geomspace(*picture.ends, 60)]
    values = [line(x) for line in picture.lines.values() for x in grid]
    low, high = 10.0 ** floor(log10(min(values))), 10.0 ** ceil(log10(max(values)))

    def place(x: float, y: float) -> tuple[float, float]:
        across = log10(x / picture.ends[0]) / log10(picture.ends[1] / picture.ends[0])
        up = log10(y / low) / log10(high / low)
        return LEFT + across * (WIDE - LEFT - RIGHT), HIGH - BOTTOM - up * (HIGH - TOP - BOTTOM)

    parts = [f'<text class="t" x="{LEFT}" y="16">{escape(picture.title)}</text>']
    parts += [_tick(place(x, low), plain(x), "x") for x in _decades(*picture.ends)]
    parts += [_tick(place(picture.ends[0], y), plain(y), "y") for y in _decades(low, high)]
    parts.append(f'<text x="{LEFT}" y="{HIGH - 6}">{escape(picture.x)}</text>')
    top, foot = place(picture.at, high), place(picture.at, low)
    parts.append(f'<path d="M{top[0]:.1f} {top[1]}V{foot[1]}" stroke="currentColor" stroke-dasharray="1 3"/>')
    ends = []
    for name, line in picture.lines.items():
        points = " ".join("{:.1f},{:.1f}".format(*place(x, line(x))) for x in grid)
        look = f'fill="none" stroke="currentColor" stroke-width="1.8" stroke-dasharray="{DASHES[name]}"'
        parts.append(f'<polyline points="{points}" {look}/>')
        ends.append((place(grid[-1], line(grid[-1]))[1], name))
    names = zip(apart([y for y, _ in sorted(ends)]), sorted(ends), strict=True)
    parts += [f'<text x="{WIDE - RIGHT + 6}" y="{y + 4:.1f}">{name}</text>' for y, (_, name) in names]
    for x, y in picture.crossings:
        cx, cy = place(x, y)
        parts.append(
            f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="6" fill="none" stroke="currentColor" stroke-width="1.6"/>'
        )
    return "".join(parts)


def _tick(at: tuple[float, float], text: str, axis: str) -> str:
    x, y = at
    if axis == "x":
        return f'<text x="{x:.1f}" y="{y + 15:.1f}" text-anchor="middle">{text}</text>'
    line = f'<path d="M{x} {y:.1f}H{WIDE - RIGHT}" stroke="currentColor" stroke-opacity=".15"/>'
    return f'{line}<text x="{x - 5}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'


def plain(number: float) -> str:
    """A power of ten in a few characters."""
    for unit, sign in ((1e6, "M"), (1e3, "k")):
        if number >= unit:
            return f"{number / unit:g}{sign}"
    return f"{number:g}" if number >= 1e-3 else f"1e{round(log10(number))}"


def _decades(low: float, high: float) -> list[float]:
    """Powers of ten from `low` to `high`, at most about five."""
    first, last = ceil(log10(low) - 1e-9), floor(log10(high) + 1e-9)
    step = max(1, ceil((last - first) / 4))
    return [10.0**power for power in range(first, last + 1, step)]


def apart(places: Sequence[float], least: float = 13) -> list[float]:
    """Sorted places, moved so that each is at least so far from the one before."""
    found: list[float] = []
    for place in places:
        found.append(max(place, found[-1] + least) if found else place)
    return found
