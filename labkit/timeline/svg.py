"""The timeline as a picture: self-contained SVG, in the colours of the page around it.

Time runs to the right. Lanes from top to bottom: crash windows, steps, calls and commits, our effect ledger, the
provider. Below the first process stands the next, in the same columns. Shape and words carry everything that
colour does.
"""

from __future__ import annotations

from html import escape

from labkit.timeline.grid import GUTTER, Grid, words
from labkit.timeline.operations import OUTSIDE, Happening, Operation
from labkit.timeline.timeline import Lane, Timeline

RED, AMBER, GREEN, BLUE = "#e5484d", "#c9820a", "#2f9e5f", "#3b82d6"
LEDGER = {"planned": ("none", "3 2"), "executing": (BLUE, ""), "confirmed": (GREEN, ""), "compensated": (GREEN, "3 2")}
FLAGS = {"duplicate": (RED, "DUPLICATE"), "question": (AMBER, "TWICE?")}  # what is written at an effect
LEDGER |= {"ambiguous": (AMBER, ""), "rejected": (RED, "")}
WINDOW_Y, STEP_Y, CALL_Y, LEDGER_Y, PROVIDER_Y, HEIGHT = 22, 38, 82, 112, 146, 204  # pixels from the top of a process
WIDER = "wider than this column: scroll it to the right →"
NAMED_CALLS = 3  # activities of a step that are named, below each other
STYLE = (
    "text{font:11px system-ui,sans-serif;fill:currentColor}.s{font-size:9.5px}.m{opacity:.75}.b{font-weight:600}"
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
        f'min-width:{least_width(grid)}px;max-width:{grid.width:.0f}px">'
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
            parts += [self._step(group, operations), self._windows(operations)]
            parts += [self._ledger(group, operations), *map(self._operation, operations)]
            parts += self._activities(group, operations)
        parts.append(self._kill())
        return f'<g transform="translate(0 {top})">{"".join(parts)}</g>'

    def _names(self) -> list[str]:
        rows = [("crash window", WINDOW_Y + 9), ("step", STEP_Y + 18), ("call, commit", CALL_Y + 4)]
        rows += [("our ledger", LEDGER_Y + (12 if self.keeps_ledger else 5)), ("provider", PROVIDER_Y + 6)]
        lines = [line(GUTTER, y, self.grid.width, y, 'stroke-opacity=".12"') for y in (CALL_Y, PROVIDER_Y + 2)]
        if not self.keeps_ledger:
            lines.append(text(0, LEDGER_Y + 17, f"{self.policy} keeps none", "s m"))
        return [text(0, y, name, "m") for name, y in rows] + lines

    def _step(self, group: str, operations: list[Operation]) -> str:
        left, right = self._left(group, operations), self.grid.extent[group][1]
        if any(self.lane.killed_at in operation.taps for operation in operations):
            right = max(self.grid.end(self.lane), left + 30)
        lines = words(group)
        top = STEP_Y + (18 if len(lines) == 1 else 12)
        names = [text((left + right) / 2, top + 12 * n, word, "c") for n, word in enumerate(lines)]
        return box(left, right, STEP_Y, 28, 'fill="currentColor" fill-opacity=".08"') + "".join(names)

    def _left(self, group: str, operations: list[Operation]) -> float:
        """Where a step begins; the one with which a process took over, where it did so."""
        left = self.grid.extent[group][0]
        if self.before and operations[0] is self.lane.operations[0]:
            return max(left, self.grid.x(operations[0]) - 24)
        return left

    def _windows(self, operations: list[Operation]) -> str:
        if operations[0].group not in self.grid.effects:
            return ""
        spans: list[tuple[str, float, float]] = []
        for operation in operations:
            for tap, window in zip(operation.taps, operation.windows, strict=True):
                left, right = self.grid.span(operation, tap)
                if spans and spans[-1][0] == window:
                    left = spans.pop()[1]
                spans.append((window, left, right))
        drawn = [
            box(left, right, WINDOW_Y, 12, _tint(window)) + text((left + right) / 2, WINDOW_Y + 9.5, window, "s c")
            for window, left, right in spans
            if window != "between"
        ]
        return "".join(drawn)

    def _operation(self, operation: Operation) -> str:
        x, calls = self.grid.x(operation), operation.name in OUTSIDE
        named = text(x, CALL_Y + 18, operation.name, "s c") if operation.group in self.grid.effects else ""
        title = f"<title>{escape(operation.step)}: {escape(operation.text)}</title>"
        if calls:
            return f"<g>{title}{self._call(operation, x)}{named}</g>"
        fill = 'fill="currentColor"' if operation.done else 'fill="none" stroke-dasharray="2 2"'
        return f'<g>{title}<circle cx="{x:.1f}" cy="{CALL_Y}" r="4.5" stroke="currentColor" {fill}/>{named}</g>'

    def _call(self, operation: Operation, x: float) -> str:
        """A call goes down to the provider; its reply comes up again, or is lost on the way."""
        left, right, low = x - 27, x + 27, PROVIDER_Y + 2
        parts = [f'<rect x="{left - 4.5:.1f}" y="{CALL_Y - 4.5}" width="9" height="9" fill="currentColor"/>']
        if operation.executed:
            parts.append(_arrow(f"M{left:.1f} {CALL_Y} V{low} H{x - 9:.1f} m-4 -3 l4 3 l-4 3"))
        else:
            parts.append(_arrow(f"M{left:.1f} {CALL_Y} V{LEDGER_Y - 3} m-3 -4 l3 4 l3 -4"))
        if operation.done and operation.executed:
            parts.append(_arrow(f"M{x + 9:.1f} {low} H{right:.1f} V{CALL_Y} m-3 4 l3 -4 l3 4"))
        effects = [each for each in operation.outside if each.kind != "activity"]
        if operation.repeated:
            parts.append(f'<path class="l" d="M{x:.1f} {low - 7} l7 7 l-7 7 l-7 -7 z"/>')
            parts.append(text(x, low + 21, "nothing new", "s c m"))
        return "".join(parts) + "".join(self._effect(each, x, n) for n, each in enumerate(effects))

    def _effect(self, happening: Happening, x: float, nth: int) -> str:
        y = PROVIDER_Y + 2 + 24 * nth
        flagged, said = FLAGS.get(happening.mark, (GREEN, ""))
        what, _, receipt = happening.text.partition(" → ")
        ring = f'<circle cx="{x:.1f}" cy="{y}" r="11" fill="none" stroke="{flagged}" stroke-width="2"/>'
        around = ring if happening.mark else ""
        flag = text(x, y + 44, said, "s c b", f'style="fill:{flagged}"') if said else ""
        return (
            f'<path d="M{x:.1f} {y - 7} l7 7 l-7 7 l-7 -7 z" fill="{flagged}"/>{around}{flag}'
            + text(x, y + 21, what, "s c")
            + text(x, y + 32, receipt, "s c m")
        )

    def _activities(self, group: str, operations: list[Operation]) -> list[str]:
        calls = [each for operation in operations for each in operation.outside if each.kind == "activity"]
        left, y = self._left(group, operations), PROVIDER_Y + 2
        drawn = []
        for number, each in enumerate(calls[:NAMED_CALLS]):
            again = f'stroke="{RED}" stroke-width="2" fill="none"' if each.mark else 'fill="currentColor"'
            name, look = (f"{each.text} again", "s b") if each.mark else (each.text, "s")
            drawn.append(f'<circle cx="{left + 4 + 11 * number:.1f}" cy="{y}" r="3.5" {again}/>')
            drawn.append(text(left, y + 16 + 11 * number, name, look))
        if len(calls) > NAMED_CALLS:
            drawn.append(text(left, y + 16 + 11 * NAMED_CALLS, f"and {len(calls) - NAMED_CALLS} more", "s m"))
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
            drawn.append(box(x, end, LEDGER_Y, 16, look))
            if died and end == right:  # what the ledger still says when the process is gone
                drawn.append(text(self.grid.end(self.lane) + 14, LEDGER_Y + 11.5, state, "s"))
            else:
                drawn.append(text((x + end) / 2, LEDGER_Y + 11.5, state, "s c"))
        return "".join(drawn)

    def _in_window(self) -> str:
        return f", {self.lane.window}" if self.lane.window != "between" else ""

    def _kill(self) -> str:
        if not self.lane.killed_at:
            return ""
        x = self.grid.end(self.lane)
        zigzag = "".join(f"l{6 if n % 2 else -6} 10" for n in range(13))
        line_ = f'<path d="M{x + 7:.1f} 18 {zigzag}" fill="none" stroke="{RED}" stroke-width="2"/>'
        return line_ + text(x + 13, STEP_Y + 17, f"✗ killed{self._in_window()}", "b")


def _tint(window: str) -> str:
    strength = {"W1": 0.06, "W2": 0.16, "W3": 0.3, "W4": 0.2, "W5": 0.06}.get(window, 0.05)
    return f'fill="{AMBER}" fill-opacity="{strength}" stroke="currentColor" stroke-opacity=".25"'


def boxed(timeline: Timeline) -> str:
    """The picture in a box as wide as its place: where it does not fit, the box scrolls, and a line above says so."""
    least = least_width(Grid(timeline))
    shown = f"@container (max-width:{least - 1}px){{.wider-{least}{{display:block !important}}}}"
    return (
        f'<div style="container-type:inline-size"><style>{shown}</style>'
        f'<p class="wider-{least}" style="display:none;margin:2px 0;font-size:.85em">{WIDER}</p>'
        f'<div style="overflow-x:auto" tabindex="0" role="group" aria-label="the picture">{draw(timeline)}</div></div>'
    )


def least_width(grid: Grid) -> int:
    """How narrow a picture may become, in pixels: its words can still be read."""
    return round(grid.width * 0.75)


def page(timeline: Timeline) -> str:
    """The picture, what stands out in words, and the whole as text: HTML that needs nothing else."""
    from labkit.timeline.text import MARKS

    findings = "".join(f"<li><b>{MARKS[each.mark]}</b> {escape(each.text)}</li>" for each in timeline.findings)
    return (
        f'<figure style="margin:0"><figcaption style="font-weight:600">{escape(timeline.title)}</figcaption>'
        f'{boxed(timeline)}<ul style="margin:.4em 0">{findings}</ul>'
        f"<details><summary>the same as text</summary><pre>{escape(str(timeline))}</pre></details></figure>"
    )
