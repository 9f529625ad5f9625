"""The timeline outside a notebook: one HTML page with the same code and a small stand-in for the model, and one SVG."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any

from labkit.check.windows import MEANING
from labkit.lab.crash_points import LACKS_TAP, LACKS_WINDOW
from labkit.timeline import Timeline, look
from labkit.timeline.svg import description

HERE = Path(__file__).parent
PARTS = ("layout.js", "fit.js", "draw.js", "panels.js", "board.js", "input.js", "timeline.js")
SAID = {"duplicate": look.DUPLICATE, "question": look.QUESTION, "again": look.AGAIN, "lost": look.LOST}
SAID |= {"replyLost": look.REPLY_LOST, "nothingNew": look.NOTHING_NEW}
WORDS = {"MEANING": MEANING, "LACKS_WINDOW": LACKS_WINDOW, "LACKS_TAP": LACKS_TAP, "LANES": look.LANES, "SAID": SAID}
WORDS |= {"SENT": look.SENT._asdict(), "DONE": look.DONE._asdict(), "ALSO": look.ALSO}
WORDS |= {"MARKS": {name: mark._asdict() for name, mark in look.MARKS.items()}}
COMMON = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in WORDS.items())
COMMON += (HERE / "common.js").read_text("utf-8")
"""What stands before every widget's own code."""
ESM = COMMON + "\n".join((HERE / name).read_text("utf-8") for name in PARTS)
CSS = (HERE / "timeline.css").read_text("utf-8") + look.css()
SHELL = (HERE / "page.html").read_text("utf-8")
GAP = 16  # pixels between two runs


def key(policy: str, provider: str, drift: bool) -> str:
    """The name of a scene in a page."""
    return f"{policy}|{provider}|{json.dumps(drift)}"


def standalone(title: str, state: dict[str, Any], scenes: dict[str, Any]) -> str:
    """One page that holds the timeline, the state of its model and every scene by its `key`."""
    alone = {"alone": {"second": bool(state["second"])}, "progress": "", **state}
    return filled(f"{title}: where may it crash?", CSS, ESM, alone, scenes)


def filled(title: str, css: str, esm: str, state: dict[str, Any], scenes: dict[str, Any] | None = None) -> str:
    """One page with a widget's style and code, and its model's state; `scenes` are what a turn of its knobs shows."""
    holds = json.dumps({"state": state, "scenes": scenes or {}}, separators=(",", ":")).replace("<", "\\u003c")
    parts = {"title": escape(title), "css": css, "esm": script(esm), "data": holds}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], SHELL)


def script(text: str) -> str:
    """Code that may stand inside a script element: nothing in it can end the element."""
    return text.replace("</", "<\\/").replace("<!--", "<\\!--")


def stacked(timelines: list[Timeline], notes: list[str]) -> str:
    """The pictures of several runs below each other, each with its title, then lines of text, as one SVG text.

    Dark on white paper.

    A page shows it as an image, and an image does not know whether its page is dark.
    """
    parts, width, top = [], 0.0, float(GAP)
    for timeline in timelines:
        picture = timeline.svg()
        found = re.search(r'viewBox="0 0 (\S+) (\S+)"', picture)
        assert found, "a picture has a size"
        wide, high = map(float, found.groups())
        look = 'style="font:600 13px system-ui;fill:currentColor"'
        head = f'<text x="{GAP}" y="{top + 14:.0f}" {look}>{escape(timeline.title)}</text>'
        place = f'<svg x="{GAP}" y="{top + 22:.0f}" width="{wide:.0f}" height="{high:.0f}" '
        parts += [head, picture.replace("<svg ", place, 1)]
        width, top = max(width, wide + 2 * GAP), top + 22 + high + GAP
    for note in notes:
        parts.append(f'<text x="{GAP}" y="{top + 14:.0f}" style="font:13px system-ui">{escape(note)}</text>')
        width, top = max(width, 7 * len(note) + 2 * GAP), top + 22
    words = escape(". ".join([*map(description, timelines), *notes]))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{top:.0f}" '
        f'viewBox="0 0 {width:.0f} {top:.0f}" role="img" aria-label="{words}" '
        f'style="max-width:100%;height:auto;color:#1f1f1f">'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>'
    )
