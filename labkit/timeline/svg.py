"""The timeline as a picture: self-contained SVG, in the colours of the page around it.

Time runs to the right. Lanes from top to bottom: crash windows, steps, calls and commits, our effect ledger, the
provider. Below the first process stands the next, in the same columns. Shape and words carry everything that
colour does.
"""

from __future__ import annotations

from html import escape

from labkit.timeline.grid import CALL, GUTTER, Grid, activity, words
from labkit.timeline.look import (
    AGAIN,
    AMBER,
    BLUE,
    DUPLICATE,
    GREEN,
    LANES,
    NOTHING_NEW,
    QUESTION,
    RED,
    REPLY_LOST,
    SENT,
    TINTS,
    mark_of,
    sign,
)
from labkit.timeline.operations import OUTSIDE, Happening, Operation
from labkit.timeline.timeline import Lane, Timeline

LEDGER = {"planned": ("none", "3 2"), "executing": (BLUE, ""), "confirmed": (GREEN, ""), "compensated": (GREEN, "3 2")}
FLAGS = {"duplicate": (RED, DUPLICATE), "question": (AMBER, QUESTION)}  # what is written at an effect
LEDGER |= {"ambiguous": (AMBER, ""), "rejected": (RED, "")}
WINDOW_Y, STEP_Y, CALL_Y, COMMIT_Y, LEDGER_Y, PROVIDER_Y = 22, 42, 92, 116, 144, 180  # pixels from the top of a process
HEIGHT = 246
WINDOW_NAME = 20  # pixels that the name of a window takes
NAMED_CALLS = 4  # lines that name the activities of a step
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:currentColor}.m{opacity:.75}.b{font-weight:600}"
    ".c{text-anchor:middle}.l{stroke:currentColor;fill:none}"
)


def draw(timeline: Timeline) -> str:
    """The SVG text of a timeline."""
    grid = Grid(timeline)
    height = 12 + HEIGHT * max(len(timeline.lanes), 1)
    parts = [_Process(timeline, lane, grid).draw(12 + HEIGHT * number) for number, lane in enumerate(timeline.lanes)]
    parts = parts or [text(12, 40, "no trace was kept of the processes of this run")]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {grid.width:.0f} {height}" role="img" '
        f'aria-label="{escape(description(timeline))}" style="display:block;width:100%;height:auto;'
        f'min-width:{grid.width:.0f}px;max-width:{grid.width:.0f}px">'
        f"<style>{STYLE}</style>{''.join(parts)}</svg>"
    )


def description(timeline: Timeline) -> str:
    """The picture in a few sentences, for who does not see it."""
    sentences = [timeline.title, *(lane.ending for lane in timeline.lanes), *(each.text for each in timeline.findings)]
    return ". ".join(sentences)


def text(x: float, y: float, content: str, classes: str = "", more: str = "") -> str:
    """A line of text with its base at (x, y)."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{classes}" {more}>{escape(content)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, more: str = "") -> str:
    """A straight line."""
    return f'<line class="l" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {more}/>'


def box(x1: float, x2: float, y: float, height: float, more: str) -> str:
    """A rounded box from x1 to x2."""
    return f'<rect x="{x1:.1f}" y="{y:.1f}" width="{x2 - x1:.1f}" height="{height}" rx="4" {more}/>'


def _arrow(path: str) -> str:
    return f'<path class="l" stroke-width="1.5" d="{path}"/>'


class _Process:
    """Draws one process."""

    def __init__(self, timeline: Timeline, lane: Lane, grid: Grid) -> None:
        self.lane, self.grid, self.keeps_ledger = lane, grid, timeline.keeps_ledger
        self.policy, self.before = timeline.policy, timeline.lanes[: timeline.lanes.index(lane)]
        self.groups: dict[str, list[Operation]] = {}
        for operation in lane.operations:
            self.groups.setdefault(operation.group, []).append(operation)

    def draw(self, top: float) -> str:
        """All lanes, with their top at `top`."""
        parts = [text(0, 12, self.lane.ending, "b"), *self._names()]
        for group, operations in self.groups.items():
            parts += [self._step(group, operations)]
            parts += [self._ledger(group, operations), *map(self._operation, operations)]
            parts += self._activities(group, operations)
        parts += [self._windows(), self._kill()]
        return f'<g transform="translate(0 {top})">{"".join(parts)}</g>'

    def _names(self) -> list[str]:
        rows = [("window", WINDOW_Y + 11), ("step", STEP_Y + 20), ("call", CALL_Y + 4), ("commit", COMMIT_Y + 4)]
        rows += [("ledger", LEDGER_Y + (13 if self.keeps_ledger else 5)), ("provider", PROVIDER_Y + 6)]
        rows += [] if self.keeps_ledger else [("none", LEDGER_Y + 19)]
        heights = (CALL_Y, COMMIT_Y, PROVIDER_Y + 2)
        lines = [line(GUTTER, y, self.grid.width, y, 'stroke-opacity=".12"') for y in heights]
        return [text(0, y, LANES[name], "m") for name, y in rows] + lines

    def _step(self, group: str, operations: list[Operation]) -> str:
        left, right = self._left(group, operations), self.grid.extent[group][1]
        if any(self.lane.killed_at in operation.taps for operation in operations):
            right = max(self.grid.end(self.lane), left + 30)
        lines = words(group)
        top = STEP_Y + (20 if len(lines) == 1 else 13)
        names = [text((left + right) / 2, top + 14 * n, word, "c") for n, word in enumerate(lines)]
        return box(left, right, STEP_Y, 32, 'fill="currentColor" fill-opacity=".08"') + "".join(names)

    def _left(self, group: str, operations: list[Operation]) -> float:
        """Where a step begins; the one with which a process took over, where it did so."""
        left = self.grid.extent[group][0]
        if self.before and operations[0] is self.lane.operations[0]:
            return max(left, self.grid.x(operations[0]) - 24)
        return left

    def _windows(self) -> str:
        """The windows of the effects: each lasts from its first tap to what the process passes next, or its death."""
        passed = [
            (each, tap, name)
            for each in self.lane.operations
            for tap, name in zip(each.taps, each.windows, strict=True)
        ]
        places = [self.grid.place(operation, tap) for operation, tap, _ in passed]
        last = self.grid.end(self.lane) or (self.grid.extent[passed[-1][0].group][1] if passed else 0.0)
        spans: list[tuple[str, float, float]] = []
        for (_, _, name), left, right in zip(passed, places, [*places[1:], last], strict=True):
            begin = spans.pop()[1] if spans and spans[-1][0] == name else left
            spans.append((name, begin, max(right, left + 1)))
        drawn = [
            box(left, right, WINDOW_Y, 15, _tint(name)) + text((left + right) / 2, WINDOW_Y + 11.5, name, "c")
            if right - left > WINDOW_NAME
            else box(left, right, WINDOW_Y, 15, _tint(name))
            for name, left, right in spans
            if name != "between"
        ]
        return "".join(drawn)

    def _operation(self, operation: Operation) -> str:
        x, calls = self.grid.x(operation), operation.name in OUTSIDE
        low = CALL_Y + 15 if calls else COMMIT_Y + 18
        named = text(x, low, operation.name, "c") if operation.group in self.grid.effects else ""
        title = f"<title>{escape(operation.step)}: {escape(operation.text)}</title>"
        if calls:
            return f"<g>{title}{self._call(operation, x)}{named}</g>"
        return f"<g>{title}{sign(mark_of(operation.name), x, COMMIT_Y, done=operation.done)}{named}</g>"

    def _call(self, operation: Operation, x: float) -> str:
        """A call goes down to the provider; its reply comes up again, or is lost on the way."""
        left, right, low = x - 0.36 * CALL, x + 0.36 * CALL, PROVIDER_Y + 2
        parts = [sign(SENT, left, CALL_Y)]
        if operation.executed:
            parts.append(_arrow(f"M{left:.1f} {CALL_Y} V{low} H{x - 9:.1f} m-4 -3 l4 3 l-4 3"))
        else:
            parts.append(_arrow(f"M{left:.1f} {CALL_Y} V{LEDGER_Y - 3} m-3 -4 l3 4 l3 -4"))
        if operation.done and operation.executed:
            parts.append(_arrow(f"M{x + 9:.1f} {low} H{right:.1f} V{CALL_Y} m-3 4 l3 -4 l3 4"))
        if operation.executed and not operation.done:
            parts.append(text(max(x + 10, self.grid.end(self.lane) + 13), low - 9, REPLY_LOST))
        effects = [each for each in operation.outside if each.kind != "activity"]
        if operation.repeated:
            parts.append(f'<path class="l" d="M{x:.1f} {low - 7} l7 7 l-7 7 l-7 -7 z"/>')
            parts.append(text(x, low + 22, NOTHING_NEW, "c m"))
        return "".join(parts) + "".join(self._effect(each, x, n) for n, each in enumerate(effects))

    def _effect(self, happening: Happening, x: float, nth: int) -> str:
        y = PROVIDER_Y + 2 + 24 * nth
        flagged, said = FLAGS.get(happening.mark, (GREEN, ""))
        what, _, receipt = happening.text.partition(" → ")
        ring = f'<circle cx="{x:.1f}" cy="{y}" r="11" fill="none" stroke="{flagged}" stroke-width="2"/>'
        around = ring if happening.mark else ""
        flag = text(x, y + 50, said, "c b", f'style="fill:{flagged}"') if said else ""
        return (
            f'<path d="M{x:.1f} {y - 7} l7 7 l-7 7 l-7 -7 z" fill="{flagged}"/>{around}{flag}'
            + text(x, y + 22, what, "c")
            + text(x, y + 36, receipt, "c m")
        )

    def _activities(self, group: str, operations: list[Operation]) -> list[str]:
        made = [(each, self.grid.x(op)) for op in operations for each in op.outside if each.kind == "activity"]
        left, y = self._left(group, operations), PROVIDER_Y + 2
        drawn = []
        for each, x in made:
            look = f'stroke="{RED}" stroke-width="2" fill="none"' if each.mark else f'fill="{BLUE}"'
            drawn.append(line(x, CALL_Y, x, y - 6, 'stroke-opacity=".3" stroke-dasharray="1 3"'))
            drawn += [f'<circle cx="{x:.1f}" cy="{at}" r="{5.5 if each.mark else 4}" {look}/>' for at in (CALL_Y, y)]
        said = [
            (word, each.mark) for each, _ in made for word in [*activity(each.text), *([AGAIN] if each.mark else [])]
        ]
        if len(said) > NAMED_CALLS:
            said[NAMED_CALLS - 1 :] = [("…", "")]
        right = self.grid.extent[group][1]
        for number, (word, mark) in enumerate(said):
            drawn.append(text((left + right) / 2, y + 20 + 14 * number, word, "c b" if mark and word == AGAIN else "c"))
        return drawn

    def _ledger(self, group: str, operations: list[Operation]) -> str:
        """What our ledger says of the step's effect, from the moment that it says it."""
        if group not in self.grid.effects or not self.keeps_ledger:
            return ""
        right = self.grid.extent[group][1]
        changes = [(self.grid.x(each), each.ledger) for each in operations if each.ledger]
        inherited = [
            each.ledger for lane in self.before for each in lane.operations if each.group == group and each.ledger
        ]
        if inherited:
            changes.insert(0, (self._left(group, operations), inherited[-1]))
        died = any(self.lane.killed_at in operation.taps for operation in operations)
        right = max(right, self.grid.end(self.lane) + 70) if died else right  # the word stands behind the crash
        ends = [*(x for x, _ in changes[1:]), right]
        drawn = []
        for (x, state), end in zip(changes, ends, strict=False):
            fill, dashes = LEDGER[state]
            edge = f'stroke="currentColor" stroke-opacity=".6" stroke-dasharray="{dashes}"'
            look = f'{edge} fill="{fill}" fill-opacity=".25"'
            drawn.append(box(x, end, LEDGER_Y, 18, look))
            if died and end == right:  # what the ledger still says when the process is gone
                drawn.append(text(self.grid.end(self.lane) + 14, LEDGER_Y + 13, state, ""))
            else:
                drawn.append(text((x + end) / 2, LEDGER_Y + 13, state, "c"))
        return "".join(drawn)

    def _in_window(self) -> str:
        return f", {self.lane.window}" if self.lane.window != "between" else ""

    def _kill(self) -> str:
        if not self.lane.killed_at:
            return ""
        x = self.grid.end(self.lane)
        zigzag = "".join(f"l{6 if n % 2 else -6} 10" for n in range(17))
        line_ = f'<path d="M{x + 7:.1f} 18 {zigzag}" fill="none" stroke="{RED}" stroke-width="2"/>'
        return line_ + text(x + 13, STEP_Y + 17, f"✗ killed{self._in_window()}", "b")


def _tint(window: str) -> str:
    return f'fill="{AMBER}" fill-opacity="{TINTS[window]}" stroke="currentColor" stroke-opacity=".25"'
