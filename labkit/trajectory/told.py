"""What has happened in recorded runs, in words: the opening of every report about a recording."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from labkit.trajectory.accidents import Happened, Repeat, Site, StrayResult

T = TypeVar("T")
SHOWN = 4  # entries of one kind; the rest is counted
OUTCOME = {
    "timed out": "timed out",
    "placeholder": "a placeholder stands in the place of its result",
    "unanswered": "no result",
    "unclear": "a result is there, but it is not known whose",
    "not made": "never made",
}
KEY = (
    "The ids differ: no key made from a call's id recognises the second call, one made from the business identity does"
)


def what_has_happened(happened: Sequence[Happened], what: str) -> list[str]:
    """The lines that say it, the gravest first. `what` is what is compared and counted: `effect`, or any `call`."""
    doubts = [(run.trajectory, site) for run in happened for site in run.in_doubt]
    duplicates, questions = (
        [(run.trajectory, each) for run in happened for each in getattr(run, kind)]
        for kind in ("duplicates", "questions")
    )
    questions.sort(key=lambda each: all(site.outcome == "answered" for site in each[1].calls))
    strays = [(run.trajectory, stray) for run in happened for stray in run.strays]
    never = [(run.trajectory, site) for run in happened for site in run.not_made]
    reads = sum(run.reads_in_doubt for run in happened)
    lines = [
        *_section(f"In doubt now, before any crash: {_count(doubts, 'call')}", doubts, _ended),
        *_section(f"One {what} made twice: {_count(duplicates, 'duplicate')}", duplicates, _repeat),
        *_section(f"Twice in one run, is it meant? {_count(questions, what)}", questions, _repeat),
        *_section(f"Results that belong to no call: {_count(strays, 'result')}", strays, _stray),
        *_section(f"Never made: {_count(never, 'call')}", never, _never),
    ]
    if any(len({site.id for site in each.calls}) > 1 for _, each in duplicates + questions):
        lines.append(f"  {KEY}{' (--same-effect FIELDS)' if questions else ''}.")
    if reads:
        lines.append(f"  In doubt too, but taken as reads: {reads} call{'' if reads == 1 else 's'}.")
    head = "What has happened"
    fine = f"nothing stands out: each {what} has a result of its own, and none occurs twice"
    return [f"{head}:", *lines] if lines else [f"{head}: {fine}."]


def and_(words: Sequence[str]) -> str:
    """Words in a row: `a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def ended(site: Site) -> str:
    """How a call ended, with the beginning of what was said."""
    if site.outcome == "unclear" and site.notes:
        return "; ".join(site.notes)
    told = OUTCOME.get(site.outcome, site.outcome)
    return f"{told}: {site.said}" if site.said and site.outcome != "unclear" else told


def shown(lines: Iterable[str]) -> RenderableType:
    """Lines for rich, as they are; where one is broken, the rest keeps its indent."""
    return Group(*(_indented(line) if line else Text() for line in lines))


def _indented(line: str) -> Padding:
    words = line.lstrip()
    return Padding(Text(words), (0, 0, 0, len(line) - len(words)), expand=False)


def _count(found: Sequence[object], what: str) -> str:
    return f"{len(found)} {what}{'' if len(found) == 1 else 's'}"


def _section(title: str, found: Sequence[tuple[str, T]], told: Callable[[str, T], Iterable[str]]) -> list[str]:
    """A title and the first of what was found; nothing at all where nothing was."""
    lines = [f"    {line}" for run, each in found[:SHOWN] for line in told(run, each)]
    more = [f"    and {len(found) - SHOWN} more; --json lists all of them"] if len(found) > SHOWN else []
    return [f"  {title}", *lines, *more] if found else []


def _ended(run: str, site: Site) -> list[str]:
    return [f"{run}, {site.at}: {site.call}", f"  {ended(site)}"]


def _never(run: str, site: Site) -> list[str]:
    return [
        f"{run}, {site.at}: {site.call}",
        f"  {site.said or '; '.join(site.notes) or 'its arguments cannot be read'}",
    ]


def _repeat(run: str, repeat: Repeat) -> list[str]:
    same = repeat.same if repeat.same == "equal arguments" else f"one effect by --same-effect {repeat.same}"
    return [f"{run}: {repeat.calls[0].call}, {same}", *(f"  {_nth(site)}" for site in repeat.calls)]


def _nth(site: Site) -> str:
    """One of several calls of one effect: where, under which id, and how it ended."""
    return ", ".join(filter(None, [site.at, site.id and f"id {site.id}", site.outcome]))


def _stray(run: str, stray: StrayResult) -> list[str]:
    named = " of ".join(filter(None, [stray.id, stray.tool])) or "without id or name"
    return [f"{run}, {stray.place}: {named}, {stray.why}", f"  {stray.said}"]
