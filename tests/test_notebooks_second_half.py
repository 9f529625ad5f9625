"""Notebooks 05 to 08: each claim has a cell that proves it, and each ends with a crash that the reader explains."""

from __future__ import annotations

import re
import uuid
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest

from labkit.bench.launch import KILLED
from tests.test_notebooks import NOTEBOOKS, end_marked, html_of, run

# What each must show, as in test_notebooks.SHOWS: (anywhere, or in its last cell; the text; how often).
PROMISES: dict[str, list[tuple[str, str, int]]] = {
    "05_hybrid": [
        ("anywhere", f"ended with status {KILLED}", 1),  # in W5, before the retention job
        ("anywhere", "<figcaption>", 2),  # the curves, each with its words
        ("anywhere", "payments-2", 1),  # the crash that breaks it: a row too many was deleted
        ("anywhere", "needs its whole journal", 1),
    ],
    "06_effects": [
        ("anywhere", "all 60 boxes are as measured here", 1),  # the picture of the README, derived by the reader
        ("anywhere", "<td>reconcile</td>", 4),
        ("anywhere", "payments-1-compensated", 1),
        ("anywhere", "<td>[40, 45]</td>", 1),  # the crash that breaks it: paid twice, and not the same amount
    ],
    "07_property": [
        ("anywhere", '"schedule": [', 1),  # the counterexample, as it was saved
        ("anywhere", "died at execute_refund/cleared:after#1", 1),  # and replayed
        ("last cell", "execute_refund/attempt:after#1", 1),  # where a paused owner does harm
    ],
    "08_trajectory": [
        ("anywhere", "repeats 8 of 8 effect calls", 1),
        ("anywhere", "DUPLICATE</b> executed 2 times", 1),  # the crash that breaks it
        ("anywhere", "3 bookings, 1 cancelled", 1),
        ("anywhere", "the record ends in the middle", 1),
    ],
}


@pytest.fixture(params=PROMISES)
def path(request: pytest.FixtureRequest) -> Path:
    """Each notebook of the second half."""
    [found] = [path for path in NOTEBOOKS if path.stem == request.param]
    return found


@pytest.fixture
def book(path: Path) -> nbformat.NotebookNode:
    """The notebook, not run."""
    return nbformat.read(path, as_version=4)


def test_it_shows_what_it_promises(path, tmp_path):
    mark = uuid.uuid4().hex
    try:
        executed = run(path, tmp_path, mark)
    finally:
        end_marked(mark)
    cells = [html_of(cell) for cell in executed.cells if cell.cell_type == "code"]
    for where, text, times in PROMISES[path.stem]:
        shown = "\n".join(cells[-1:] if where == "last cell" else cells)
        assert shown.count(text) == times, f"{text!r} {where}, in:\n{shown}"


def test_every_numbered_part_proves_what_it_says(book):
    parts, part = {"": ""}, ""
    for cell in book.cells:
        headings = re.findall(r"(?m)^## (.+)$", cell.source) if cell.cell_type == "markdown" else []
        part = headings[-1] if headings else part
        parts[part] = parts.get(part, "") + (cell.source + "\n" if cell.cell_type == "code" else "")
    numbered = {name: code for name, code in parts.items() if name[:1].isdigit()}
    assert numbered
    assert [name for name, code in numbered.items() if not re.search(r"(?m)^ *assert ", code)] == []


def test_it_ends_with_a_crash_that_the_reader_explains_before_reading_why(book):
    text = "\n".join(cell.source for cell in book.cells if cell.cell_type == "markdown")
    headings = re.findall(r"(?m)^## (.+)$", text)
    last = headings[headings.index("Check yourself") - 2 :]
    assert re.match(r"\d · Crash it", last[0]), headings
    assert last[1] == "Why"
    asked = text.partition(f"## {last[0]}")[2].partition("## Why")[0]
    assert re.search(r"\*\*[^*]*[Ee]xplain|explain it yourself", asked)


def test_every_question_has_an_answer_behind_it(book):
    text = next(cell.source for cell in book.cells if "## Check yourself" in cell.source)
    answers = re.findall(r"(?s)</summary>\n\n(.*?)\n\n</details>", text)
    numbers = [int(number) for number in re.findall(r"<details><summary><b>(\d)\.</b>", text)]
    assert len(answers) == len(numbers) >= 5 and all(len(answer) > 40 for answer in answers)
    assert all(second == first + 1 for first, second in pairwise([0, *numbers]))
