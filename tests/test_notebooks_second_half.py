"""Notebooks 05 to 08: each claim has a cell that proves it, and each ends with a crash that the reader explains."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent
SECOND_HALF = sorted((ROOT / "notebooks").glob("0[5-8]_*.ipynb"))


@pytest.fixture(params=SECOND_HALF, ids=lambda path: path.stem)
def book(request: pytest.FixtureRequest) -> nbformat.NotebookNode:
    """Each notebook of the second half, not run."""
    return nbformat.read(request.param, as_version=4)


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
