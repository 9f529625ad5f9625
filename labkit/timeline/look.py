"""What a run looks like: the words, marks and colours that the static picture and the widget share."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from labkit.timeline.operations import LEDGER_AFTER

RED, AMBER, GREEN, BLUE = "#c4314b", "#b7791f", "#2f9e5f", "#3182ce"
LANES = {
    "window": "window",
    "step": "step",
    "call": "ctx call",
    "commit": "commit",
    "ledger": "our ledger",
    "none": "not kept",
    "provider": "provider",
}
TINTS = {"W1": 0.1, "W2": 0.28, "W3": 0.55, "W4": 0.28, "W5": 0.1}  # how strong the amber of a window is
DUPLICATE, QUESTION, AGAIN, LOST = "DUPLICATE", "TWICE?", "AGAIN", "LOST"
REPLY_LOST, NOTHING_NEW = "✗ reply lost", "nothing new"


class Mark(NamedTuple):
    """How an operation is drawn: an SVG path around (0, 0), filled or as a line, and what it means."""

    path: str
    filled: bool
    meaning: str


def _disc(radius: float) -> str:
    return f"M-{radius} 0a{radius} {radius} 0 1 0 {2 * radius} 0a{radius} {radius} 0 1 0-{2 * radius} 0z"


_NOTE = Mark("M-5-2.5h10v5h-10z", True, "note in our ledger: intent, attempt, confirm, doubt, cleared")
_WAIT = Mark("M-4.5-5h3.2v10h-3.2zM1.3-5h3.2v10h-3.2z", True, "wait: the run is put aside")
_ANSWER = Mark("M-5 0l4 4 6.5-8.5", False, "approve, resolve: a person answers")
COMMIT = Mark(_disc(5), True, "commit: the step is saved")
MARKS = {
    "begin": Mark("M-4-5.5L5.5 0-4 5.5z", True, "begin: the run is there"),
    "claim": Mark("M-5.5 4.5L0-5.5 5.5 4.5z", True, "claim: a process takes the run"),
    "record": Mark(_disc(3.2), True, "record: the result of a call is saved"),
    "wait": _WAIT,
    "ask": _WAIT,
    "approve": _ANSWER,
    "resolve": _ANSWER,
    "commit": COMMIT,
    "close": COMMIT,
    **dict.fromkeys([*LEDGER_AFTER.keys() - {"wait"}], _NOTE),
}
SENT = Mark("M-4.5-4.5h9v9h-9z", True, "call sent")
DONE = Mark("M0-7l7 7-7 7-7-7z", True, "done at the provider")
ALSO = {  # sign -> meaning, of what is drawn beside the marks of operations
    "●": "activity called (blue)",
    "◎": "called again",
    "◈": "done twice, or perhaps (TWICE?)",
    "◇": "known key, nothing new",
}


def mark_of(operation: str) -> Mark:
    """How this operation is drawn; what has no mark of its own is drawn as a commit."""
    return MARKS.get(operation, COMMIT)


def legend(operations: Collection[str]) -> list[Mark]:
    """The marks of these operations, each once, then those of calls."""
    return [*dict.fromkeys(mark for name, mark in MARKS.items() if name in operations), SENT, DONE]


def ink(mark: Mark, *, done: bool = True, colour: str = "currentColor") -> str:
    """How a mark is filled or drawn as a line; dashed when it was not done."""
    dashes = 'stroke-dasharray="2 2"'
    filled = f'fill="{colour}"' if done else f'fill="none" stroke="currentColor" {dashes}'
    return filled if mark.filled else f'fill="none" stroke="currentColor" stroke-width="2.4" {"" if done else dashes}'


def sign(mark: Mark, x: float, y: float, *, done: bool = True) -> str:
    """A mark at (x, y)."""
    return f'<path d="{mark.path}" transform="translate({x:.1f} {y})" {ink(mark, done=done)}/>'


def css() -> str:
    """The colours as CSS variables of a widget, mixed with its ink where they must be read on any ground."""
    mixed = {"green": f"{GREEN} 82%", "blue": f"{BLUE} 78%"}
    lines = [f"--ct-red: {RED};", f"--ct-amber: {AMBER};"]
    lines += [f"--ct-{name}: color-mix(in srgb, {colour}, var(--ct-ink));" for name, colour in mixed.items()]
    tints = [
        f".ct-{window} {{ fill: color-mix(in srgb, var(--ct-amber) {share:.0%}, transparent); }}"
        for window, share in TINTS.items()
    ]
    return f".ct {{ {' '.join(lines)} }}\n" + "\n".join(tints) + "\n"
