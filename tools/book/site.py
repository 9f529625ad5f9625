"""Builds the book: executes what changed, writes a title page, lets Sphinx make the pages, then puts them in place."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from html import escape
from pathlib import Path

import nbformat
from sphinx.application import Sphinx
from sphinx.util.console import strip_colors

from labkit.scratch import scratch_folder
from tools.book.execute import executed
from tools.book.stage import stage
from tools.course import Chapter, chapters

HERE = Path(__file__).parent
WIDGETS = "widgets"  # the folder of the book that holds the pages of the widgets
COVER = "index"
LIVE = """from labkit import refund
from labkit.widgets import CrashTimeline

CrashTimeline(refund, case=17, at="W3")"""


class BookBroken(Exception):
    """Sphinx found something wrong; the text says what and where."""


def build(notebooks: Path, out: Path, kept: Path, say: Callable[[str], object]) -> None:
    """Make the book of all chapters of the folder `notebooks` in the folder `out`, which is replaced as a whole.

    Executed chapters are kept in the folder `kept`. `say` is given texts of what is done, that end in a
    newline where a line ends. Raises ChapterFailed when a chapter
    does not run, BookBroken when Sphinx has a warning; then `out` is as it was.
    """
    course = chapters(notebooks / "src")
    texts = {each.stem: (notebooks / f"{each.stem}.ipynb").read_text("utf-8") for each in course}
    texts[COVER] = cover(course)
    with scratch_folder("book") as folder:
        source, made = Path(folder, "source"), Path(folder, "made")
        for number, (name, text) in enumerate(texts.items(), 1):
            say(f"[{number}/{len(texts)}] {name} ... ")
            book, how = executed(name, text, kept)
            stage(name, book, source, made / WIDGETS)
            say(f"{how}\n")
        if (notebooks / "images").exists():
            shutil.copytree(notebooks / "images", source / "images")
        say("making the pages\n")
        make_pages(source, made, Path(folder, "doctrees"))
        shutil.rmtree(out, ignore_errors=True)
        shutil.move(made, out)


def make_pages(source: Path, made: Path, doctrees: Path) -> None:
    """Let Sphinx make the pages of `source` in `made`; raise BookBroken if it warns of anything."""
    warnings = io.StringIO()
    app = Sphinx(str(source), str(HERE), str(made), str(doctrees), "html", status=None, warning=warnings)
    app.build()
    if said := strip_colors(warnings.getvalue()).replace(f"{source}/", ""):
        raise BookBroken(f"the pages have faults:\n\n{said}\nThe book is as it was before.")
    (made / ".nojekyll").unlink(missing_ok=True)


def cover(course: list[Chapter]) -> str:
    """Return the title page as the text of a notebook: what the course is, a timeline to try, and the chapters."""
    minutes = sum(each.minutes for each in course)
    opening = (HERE / "cover.md").read_text("utf-8").format(chapters=len(course), hours=f"{round(minutes / 30) / 2:g}")
    before, _, after = opening.partition("<!-- timeline -->")
    listed = "\n".join(map(entry, course))
    contents = "\n".join(f"{each.number} · {each.title} <{each.stem}>" for each in course)
    cells = [
        nbformat.v4.new_markdown_cell(before.strip(), id="opening"),
        nbformat.v4.new_code_cell(LIVE, id="timeline", metadata={"tags": ["remove-input"]}),
        nbformat.v4.new_markdown_cell(f'{after.strip()}\n\n<ol class="chapters">\n{listed}\n</ol>', id="chapters"),
        nbformat.v4.new_markdown_cell(f"```{{toctree}}\n:hidden:\n\n{contents}\n```", id="contents"),
    ]
    return nbformat.writes(nbformat.v4.new_notebook(cells=cells))


def entry(each: Chapter) -> str:
    """Return one chapter of the list on the title page, in HTML."""
    return (
        f'<li><a href="{each.stem}.html"><b>{each.number}</b> {escape(each.title)}</a>'
        f"<p>Afterwards you can {escape(each.outcome)}.</p>"
        f"<small>{each.minutes} minutes · you need: {escape(each.prerequisites)}</small></li>"
    )
