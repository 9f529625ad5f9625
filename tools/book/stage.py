"""Turns executed notebooks into what Sphinx reads: widgets become frames, files of the project become pages."""

from __future__ import annotations

import os
import re
from pathlib import Path

import nbformat

from tools.book.execute import ROOT
from tools.book.in_kernel import PAGE

HERE = Path(__file__).parent
FRAME = (HERE / "frame.html").read_text("utf-8")
PROJECT_LINK = re.compile(r"\]\(\.\./([^)#]+)\)")
LONGEST = 60  # lines shown of a file that is not code


def stage(name: str, book: nbformat.NotebookNode, source: Path, pages: Path) -> None:
    """Write the chapter `name` into the folder `source`, and the pages of its widgets into the folder `pages`."""
    shown = 0
    for cell in book.cells:
        if cell.cell_type == "markdown":
            cell.source = with_project_files(cell.source, source)
        for output in cell.get("outputs", []):
            if page := output.get("data", {}).pop(PAGE, None):
                shown += 1
                output.data["text/html"] = framed(page, pages / f"{name}-{shown}.html")
    write(source / f"{name}.ipynb", nbformat.writes(book))


def framed(page: str, path: Path) -> str:
    """Write a widget's page to `path`, and return the HTML that shows it in the book."""
    write(path, page.replace("</body>", f"{FRAME}</body>"))
    link = f"{path.parent.name}/{path.name}"
    found = re.search(r"<title>(.*?)</title>", page)
    title = found[1] if found else "a widget"
    return (
        f'<div class="standing"><iframe src="{link}" title="{title}"></iframe>'
        f'<p><a href="{link}" target="_blank">Open it on a page of its own</a></p></div>'
    )


def with_project_files(text: str, source: Path) -> str:
    """Return a chapter's Markdown in which links to files and folders of the project lead to pages of the book."""

    def to_page(found: re.Match[str]) -> str:
        name = found[1].rstrip("/")
        write(source / "files" / f"{name}.md", listing(ROOT / name, source / "files" / f"{name}.md"))
        return f"](files/{name}.md)"

    return PROJECT_LINK.sub(to_page, text)


def listing(path: Path, page: Path) -> str:
    """Return a page, in Markdown, that will stand at `page` and shows a file, or the Python files in a folder."""
    inside = sorted(path.glob("*.py")) if path.is_dir() else [path]
    parts = [f"---\norphan: true\n---\n\n# `{path.relative_to(ROOT).as_posix()}`"]
    for each in inside:
        heading = f"## `{each.name}`\n\n" if path.is_dir() else ""
        is_code, lines = each.suffix == ".py", len(each.read_text("utf-8").splitlines())
        language, limit = ("python", "") if is_code else ("text", f":lines: 1-{min(lines, LONGEST)}\n")
        included = Path(os.path.relpath(each, page.parent)).as_posix()
        parts.append(f"{heading}```{{literalinclude}} {included}\n:language: {language}\n{limit}```")
    return "\n\n".join(parts) + "\n"


def write(path: Path, text: str) -> None:
    """Write a text, making its folder first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
