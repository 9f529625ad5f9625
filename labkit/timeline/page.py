"""The timeline of a run as HTML: the picture in a box that scrolls where it is too wide, its legend, and the words."""

from __future__ import annotations

from html import escape

from labkit.timeline import look
from labkit.timeline.grid import Grid
from labkit.timeline.look import ink
from labkit.timeline.svg import draw
from labkit.timeline.timeline import Timeline

INK, SMALL = "currentColor", 'width="14" height="14" viewBox="-7.5 -7.5 15 15" aria-hidden="true"'
WIDER = "wider than this column: scroll it to the right →"


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
    """How narrow a picture may become, in pixels: its words stay as large as they are."""
    return round(grid.width)


def legend(timeline: Timeline) -> str:
    """Every mark that stands in the picture, with what it means, as a line of HTML."""
    names = {operation.name for lane in timeline.lanes for operation in lane.operations}
    colours = {look.DONE: look.GREEN}
    paths = [
        (mark, f'<path d="{mark.path}" {ink(mark, colour=colours.get(mark, INK))}/>') for mark in look.legend(names)
    ]
    signs = [f"<svg {SMALL}>{path}</svg> {escape(mark.meaning)}" for mark, path in paths]
    signs += [f"<b>{sign}</b> {escape(meaning)}" for sign, meaning in look.ALSO.items()]
    spans = "".join(f'<span style="display:inline-block;margin-right:14px">{each}</span> ' for each in signs)
    return f'<p style="margin:.2em 0;font-size:12px">{spans}</p>'


def page(timeline: Timeline) -> str:
    """The picture, what stands out in words, and the whole as text: HTML that needs nothing else."""
    from labkit.timeline.text import MARKS

    findings = "".join(f"<li><b>{MARKS[each.mark]}</b> {escape(each.text)}</li>" for each in timeline.findings)
    return (
        f'<figure style="margin:0"><figcaption style="font-weight:600">{escape(timeline.title)}</figcaption>'
        f'{boxed(timeline)}{legend(timeline)}<ul style="margin:.4em 0">{findings}</ul>'
        f"<details><summary>the same as text</summary><pre>{escape(str(timeline))}</pre></details></figure>"
    )
