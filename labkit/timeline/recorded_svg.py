"""Recorded runs as a picture: a line a call, from top to bottom; lines on the left join calls that are one effect.

Each way to end has a shape and a word of its own; colour only helps.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from labkit.timeline.look import AMBER, GREEN, RED
from labkit.timeline.recorded import Beat, RecordedTimeline
from labkit.timeline.svg import line, text

WIDTH, ROW, HEAD, LANES = 1060, 24, 26, 5  # pixels, and how many joining lines stand beside each other
LANE, NUMBER, TURN, SHAPE, CALL, WORDS = 9, 70, 80, 140, 154, 630  # pixels: where each column stands
LETTERS_OF_CALL, LETTERS_OF_WORDS = 60, 55  # how much fits, in bold letters; the whole line is its title
STYLE = "text{font:12px system-ui,sans-serif;fill:currentColor}.m{opacity:.75}.b{font-weight:600}.e{text-anchor:end}"
STYLE += ".l{stroke:currentColor;fill:none}"
SHAPES = {
    "answered": f'<circle r="5" fill="{GREEN}"/>',
    "failed": f'<path d="M-5 -5 L5 5 M5 -5 L-5 5" stroke="{RED}" stroke-width="2.5"/>',
    "in doubt": f'<path d="M0 -8 L8 0 L0 8 L-8 0 z" fill="none" stroke="{AMBER}" stroke-width="2" '
    'stroke-dasharray="3 2"/><text y="4" style="text-anchor:middle;font-weight:600">?</text>',
    "never made": '<rect x="-5" y="-5" width="10" height="10" class="l"/><path class="l" d="M-5 5 L5 -5"/>',
    "stray": f'<path d="M0 -7 L7 6 L-7 6 z" fill="none" stroke="{RED}" stroke-width="2"/>',
}


def draw(timelines: Sequence[RecordedTimeline]) -> str:
    """The SVG text of recorded runs, one below the other."""
    parts, top = [], 0
    for timeline in timelines:
        parts.append(f'<g transform="translate(0 {top})">{_run(timeline)}</g>')
        top += HEAD + ROW * len(timeline.beats) + 12
    said = ". ".join(f"{each.title}: {'; '.join(_told(beat) for beat in each.beats)}" for each in timelines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {max(top, HEAD)}" role="img" '
        f'aria-label="{escape(said)}" style="display:block;width:{WIDTH}px;height:auto">'
        f"<style>{STYLE}</style>{''.join(parts)}</svg>"
    )


def page(timeline: RecordedTimeline) -> str:
    """The picture, scrolled where it does not fit, and the same as text: HTML that needs nothing else."""
    return (
        f'<figure style="margin:0"><div style="overflow:auto;max-height:480px" tabindex="0" role="group" '
        f'aria-label="the calls of {escape(timeline.trajectory)}">{draw([timeline])}</div>'
        f"<details><summary>the same as text</summary><pre>{escape(str(timeline))}</pre></details></figure>"
    )


def _run(timeline: RecordedTimeline) -> str:
    parts = [text(0, 14, timeline.title, "b")]
    y = {beat.number: HEAD + ROW * at + ROW / 2 for at, beat in enumerate(timeline.beats)}
    parts += [_line(beat, y[beat.number]) for beat in timeline.beats]
    groups = sorted({(*sorted([beat.number, *beat.twice]), beat.known) for beat in timeline.beats if beat.twice})
    for lane, (*numbers, known) in enumerate(groups):
        parts.append(_joined([y[number] for number in numbers], 44 - LANE * (lane % LANES), bool(known)))
    return "".join(parts)


def _line(beat: Beat, y: float) -> str:
    look = "b" if beat.effect else "m"
    stress = "" if beat.mark == "answered" and not beat.twice else "b"
    turn = f"turn {beat.turn}" if beat.turn else ""
    return (
        f"<g><title>{escape(_told(beat))}</title>"
        + line(NUMBER - 16, y + ROW / 2, WIDTH, y + ROW / 2, 'stroke-opacity=".12"')
        + text(NUMBER, y + 4, str(beat.number), "e m")
        + text(TURN, y + 4, turn, "m")
        + f'<g transform="translate({SHAPE} {y})">{SHAPES[beat.mark]}</g>'
        + text(CALL, y + 4, _cut(beat.call, LETTERS_OF_CALL), look)
        + text(WORDS, y + 4, _cut(beat.words, LETTERS_OF_WORDS), stress)
        + "</g>"
    )


def _joined(heights: list[float], x: float, known: bool) -> str:
    """A bracket from the first of the lines to the last; whole and red where they are known to be one effect."""
    look = f'stroke="{RED}" stroke-width="2"' if known else f'stroke="{AMBER}" stroke-width="2" stroke-dasharray="4 3"'
    arms = "".join(f"M{x} {y} H50" for y in heights)
    return f'<path fill="none" {look} d="M{x} {heights[0]} V{heights[-1]} {arms}"/>'


def _told(beat: Beat) -> str:
    turn = f"turn {beat.turn}, " if beat.turn else ""
    return f"{beat.number}: {turn}{beat.place}: {beat.call}: {beat.words}"


def _cut(words: str, letters: int) -> str:
    return words if len(words) <= letters else words[: letters - 3].rstrip() + "..."
