"""The states of an effect as a picture: one self-contained SVG, across or downwards, in the colours of the page."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from html import escape
from math import hypot, inf
from operator import mul
from typing import NamedTuple

from labkit.widgets.views.machine import OF_MOVE, OF_STATE, STATES, TRANSITIONS

Point = tuple[float, float]
ACROSS = {
    "none": (62, 160),
    "planned": (225, 160),
    "executing": (420, 62),
    "ambiguous": (420, 258),
    "confirmed": (632, 62),
    "rejected": (632, 160),
    "compensated": (815, 258),
}
DOWN = {
    "none": (195, 30),
    "planned": (195, 130),
    "executing": (100, 290),
    "ambiguous": (292, 290),
    "confirmed": (80, 490),
    "rejected": (215, 490),
    "compensated": (322, 620),
}
BOX = (112.0, 38.0)
BENDS = {("executing", "ambiguous"): 0.32, ("ambiguous", "executing"): 0.32}  # the other pairs bend less
LABEL_AT = {("confirmed", "compensated"): 0.66, ("ambiguous", "confirmed"): 0.3, ("executing", "rejected"): 0.42}
STYLE = """
.es{--ink:var(--ct-ink,currentColor);font:12px system-ui,sans-serif}
.es text{fill:var(--ink);text-anchor:middle;font-size:12px}
.es .es-box{fill:none;stroke:var(--ink);stroke-width:1.3}
.es .es-ambiguous .es-box{stroke-dasharray:5 3}
.es .es-line{fill:none;stroke:var(--ink);stroke-width:1.1;opacity:.55}
.es .es-tip{fill:var(--ink);opacity:.7}
.es .es-hit{fill:none;stroke:transparent;stroke-width:16}
.es .es-name{font-size:11px;opacity:.85;paint-order:stroke;stroke:var(--ct-ground,Canvas);stroke-width:5px}
.es .es-tag{font-size:11px;font-weight:700;paint-order:stroke;stroke:var(--ct-ground,Canvas);stroke-width:5px}
.es .es-found .es-box{stroke-width:3.5}
.es .es-end .es-box{stroke-width:3.5;fill:color-mix(in srgb,#2b6cb0 18%,transparent)}
.es .es-walked .es-line{stroke:#2b6cb0;stroke-width:3;opacity:1}
.es .es-walked .es-tip{fill:#2b6cb0;opacity:1}
.es .es-walked .es-name{font-weight:700;opacity:1}
"""


class Shape(NamedTuple):
    """Where the states stand: across, or downwards for narrow columns."""

    downwards: bool

    @property
    def size(self) -> Point:
        """Width and height."""
        return (400, 660) if self.downwards else (880, 320)

    def at(self, state: str) -> Point:
        """The middle of a state's box."""
        return (DOWN if self.downwards else ACROSS)[state]


def draw(*, found: str = "", end: str = "", walked: Collection[tuple[str, str]] = (), downwards: bool = False) -> str:
    """The picture; the state that was `found`, where it came to an `end` and the moves `walked` stand out."""
    shape = Shape(downwards)
    wide, high = shape.size
    tags = {end: "ends here", found: "found here" if found != end else "found, and ends here"}
    moves = "".join(_move(shape, move, move in walked) for move in TRANSITIONS)
    boxes = "".join(_state(shape, state, tags, found, end) for state in STATES)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="es" viewBox="0 0 {wide:.0f} {high:.0f}" role="group" '
        f'aria-label="states of an effect" style="width:100%;max-width:{wide:.0f}px;height:auto">'
        f"<style>{STYLE}</style>{moves}{boxes}</svg>"
    )


def _state(shape: Shape, state: str, tags: Mapping[str, str], found: str, end: str) -> str:
    x, y = shape.at(state)
    wide, high = BOX
    look = "".join(f" es-{name}" for name, which in (("found", found), ("end", end)) if which == state)
    says = escape(f"{state}: {OF_STATE[state].meaning}")
    tag = f'<text class="es-tag" x="{x}" y="{y + high / 2 + 14}">{tags.get(state, "")}</text>'
    return (
        f'<g class="es-state es-{state}{look}" data-pick="{state}" role="button" tabindex="-1" aria-label="{says}">'
        f'<rect class="es-box" x="{x - wide / 2}" y="{y - high / 2}" width="{wide}" height="{high}" rx="9"/>'
        f'<rect class="es-hit" style="fill:transparent" x="{x - wide / 2}" y="{y - high / 2}" width="{wide}" '
        f'height="{high}"/><text x="{x}" y="{y + 4}">{state}</text>{tag}</g>'
    )


def _move(shape: Shape, move: tuple[str, str], walked: bool) -> str:
    source, to = move
    path, tip, (x, y) = _loop(shape, source) if source == to else _arrow(shape, move)
    look = " es-walked" if walked else ""
    says = escape(f"from {source} to {to}: {OF_MOVE[move].meaning}")
    return (
        f'<g class="es-move{look}" data-pick="{source}&gt;{to}" role="button" tabindex="-1" aria-label="{says}">'
        f'<path class="es-hit" d="{path}"/><path class="es-line" d="{path}"/>'
        f'<path class="es-tip" d="{tip}"/>'
        f'<text class="es-name" x="{x:.1f}" y="{y + 4:.1f}">{OF_MOVE[move].name}</text></g>'
    )


def _loop(shape: Shape, state: str) -> tuple[str, str, Point]:
    """A move to the same state: a loop on the side where nothing else is; line, tip and place of the name."""
    (x, y), (wide, high) = shape.at(state), BOX
    side = -1 if state == "executing" else 1
    if shape.downwards:
        edge = x + side * wide / 2
        far = edge + side * 38
        line = f"M{edge} {y - 9}C{far} {y - 26},{far} {y + 26},{edge} {y + 9}"
        return line, _tip((edge, y + 9), (far, y + 22)), (edge + side * 8, y - 30)
    edge = y + side * high / 2
    far = edge + side * 36
    x -= 48 if side > 0 else 0  # the tag stands below the box
    line = f"M{x - 14} {edge}C{x - 40} {far},{x + 40} {far},{x + 14} {edge}"
    return line, _tip((x + 14, edge), (x + 30, far)), (x, edge + side * 34)


def _arrow(shape: Shape, move: tuple[str, str]) -> tuple[str, str, Point]:
    """A bent arrow between two boxes; the two directions of a pair bend apart. Line, tip and place of the name."""
    (x1, y1), (x2, y2) = shape.at(move[0]), shape.at(move[1])
    bend = BENDS.get(move, 0.17 if move[::-1] in TRANSITIONS else 0.0)
    bend *= -1 if shape.downwards else 1  # the picture downwards is a mirror image
    middle = ((x1 + x2) / 2 - (y2 - y1) * bend, (y1 + y2) / 2 + (x2 - x1) * bend)
    begin, end = _edge((x1, y1), middle), _edge((x2, y2), middle)
    part = LABEL_AT.get(move, 0.5)
    shares = ((1 - part) ** 2, 2 * part * (1 - part), part**2)
    x, y = (sum(map(mul, shares, places)) for places in zip(begin, middle, end, strict=True))
    points = "{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}".format(*begin, *middle, *end)
    return f"M{points}", _tip(end, middle), (x, y)


def _edge(box: Point, towards: Point) -> Point:
    """Where the line from the middle of a box towards a point leaves the box."""
    dx, dy = towards[0] - box[0], towards[1] - box[1]
    scale = min(BOX[0] / 2 / abs(dx) if dx else inf, BOX[1] / 2 / abs(dy) if dy else inf)
    return box[0] + dx * scale, box[1] + dy * scale


def _tip(end: Point, source: Point) -> str:
    """The head of an arrow that comes from `source` and ends at `end`."""
    dx, dy = end[0] - source[0], end[1] - source[1]
    scale = 8 / hypot(dx, dy)
    back, side = (end[0] - dx * scale, end[1] - dy * scale), (-dy * scale / 2, dx * scale / 2)
    corners = (end, (back[0] + side[0], back[1] + side[1]), (back[0] - side[0], back[1] - side[1]))
    return "M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}z".format(*(each for corner in corners for each in corner))
