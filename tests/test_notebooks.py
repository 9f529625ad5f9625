"""Every notebook runs from top to bottom on any machine, shows what it promises, and leaves nothing behind."""

from __future__ import annotations

import ast
import os
import re
import uuid
from pathlib import Path

import nbformat
import psutil
import pytest
from nbclient import NotebookClient
from notebook_promises import SHOWS

from labkit.widgets.questions import read_questions

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LESSONS = [path for path in NOTEBOOKS if path.stem < "09"]  # those after them are about frameworks, and need servers
PARTS = (
    "What you will be able to do",
    "Predict before you run",
    "Check yourself",
    "What real stacks do",
    "Where the idea comes from",
)

# Loaded by every Python that a notebook starts: whoever talks to another machine fails.
NO_NETWORK = """
import sys

def refuse(event, arguments):
    hosts = {"socket.connect": lambda: arguments[1], "socket.getaddrinfo": lambda: arguments}
    if event in hosts and isinstance(hosts[event](), tuple):
        host = hosts[event]()[0]
        if host not in (None, "", "localhost", "127.0.0.1", "::1", b"127.0.0.1", b"localhost"):
            raise OSError(f"a notebook must not need the network, and asked for {host!r}")

sys.addaudithook(refuse)
"""


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    """Each notebook of the course."""
    return request.param


@pytest.fixture
def book(path: Path) -> nbformat.NotebookNode:
    """The same notebook, read, not run."""
    return nbformat.read(path, as_version=4)


@pytest.mark.parametrize("name", SHOWS)
def test_the_notebooks_that_promise_something_are_there(name):
    assert name in [path.stem for path in NOTEBOOKS]


def test_a_notebook_runs_top_to_bottom_and_leaves_nothing_behind(path, tmp_path):
    mark, before = uuid.uuid4().hex, project_files()
    try:
        book = run(nbformat.read(path, as_version=4), tmp_path, mark)
    finally:
        left = end_marked(mark)
    assert not left, f"processes that outlive the kernel: {left}"
    assert list((tmp_path / "temporary").iterdir()) == []
    assert list((tmp_path / "here").iterdir()) == []
    assert project_files() == before
    *cells, quiz = [cell for cell in book.cells if cell.cell_type == "code"]
    for where, text, times in SHOWS.get(path.stem, []):
        shown = "\n".join(html_of(cell) for cell in cells if where in cell.source)
        assert shown.count(text) == times, f"{text!r} where {where!r} is, in:\n{shown}"
    [shown] = quiz.outputs
    assert shown.data["text/plain"].startswith("1. ") and "application/vnd.jupyter.widget-view+json" in shown.data
    for cell in cells:
        values = [output for output in cell.outputs if output.output_type != "stream"]
        assert len(values) <= 1, f"this cell shows {len(values)} things at once:\n{cell.source}"
        assert "<pre></pre>" not in html_of(cell), f"this cell shows an empty text:\n{cell.source}"


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_every_cell_can_be_run_a_second_time(lesson, tmp_path):
    mark, book = uuid.uuid4().hex, nbformat.read(lesson, as_version=4)
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    book.cells = [each for cell in cells for each in (cell, {**cell, "id": f"{cell.id[:58]}-again"})]
    try:
        run(nbformat.from_dict(book), tmp_path, mark)
    finally:
        end_marked(mark)


def test_every_code_cell_shows_something_or_makes_a_name(book):
    silent = []
    for cell in (cell for cell in book.cells if cell.cell_type == "code"):
        body = ast.parse(cell.source).body
        shows = isinstance(body[-1], ast.Expr) or "print(" in cell.source
        if not shows and all(isinstance(each, ast.Assert) for each in body):
            silent.append(cell.source)
    assert not silent, f"a reader who runs this sees nothing happen:\n{silent}"


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_a_prediction_is_asked_with_a_question_mark_and_judged_later(lesson):
    codes = [cell.source for cell in nbformat.read(lesson, as_version=4).cells if cell.cell_type == "code"]
    asked = next(code for code in codes if code.startswith("prediction ="))
    values = [node.value for node in ast.walk(ast.parse(asked)) if isinstance(node, ast.Constant)]
    names = [key.value for node in ast.walk(ast.parse(asked)) if isinstance(node, ast.Dict) for key in node.keys]
    assert {*values} - {*names} == {"?"}
    assert sum("judged(prediction, " in code for code in codes) == 1


def test_a_notebook_is_kept_without_outputs(book):
    nbformat.validate(book)
    ids = [cell.id for cell in book.cells]
    assert len(ids) == len(set(ids))
    for cell in book.cells:
        assert not cell.get("outputs") and cell.get("execution_count") is None, f"cell {cell.id} was run and saved"


def test_a_notebook_follows_the_template(book):
    text = "\n".join(cell.source for cell in book.cells if cell.cell_type == "markdown")
    headings = re.findall(r"(?m)^## (.+)$", text)
    assert [part for part in PARTS if part in headings] == list(PARTS), headings
    assert f"**{book.metadata.labkit.minutes} minutes.**" in book.cells[0].source
    long = [cell.source for cell in book.cells if cell.cell_type == "code" and cell.source.count("\n") > 14]
    assert not long, f"code that a student should read belongs into labkit:\n{long}"


def test_every_numbered_part_proves_what_it_says(book):
    codes: dict[str, str] = {}
    part = ""
    for cell in book.cells:
        headings = re.findall(r"(?m)^## (.+)$", cell.source) if cell.cell_type == "markdown" else []
        part = headings[-1] if headings else part
        codes[part] = codes.get(part, "") + (f"{cell.source}\n" if cell.cell_type == "code" else "")
    numbered = {name: code for name, code in codes.items() if name[:1].isdigit()}
    assert numbered
    assert [name for name, code in numbered.items() if not re.search(r"(?m)^ *assert ", code)] == []


def test_it_ends_with_a_crash_that_the_reader_explains_before_reading_why(book):
    text = "\n".join(cell.source for cell in book.cells if cell.cell_type == "markdown")
    headings = re.findall(r"(?m)^## (.+)$", text)
    last, why = headings[headings.index("Check yourself") - 2 :][:2]
    assert re.match(r"\d · Crash it", last) and why == "Why", headings
    asked = text.partition(f"## {last}")[2].partition("## Why")[0]
    assert re.search(r"[Pp]redict", asked) and re.search(r"[Ee]xplain", asked)


def test_its_questions_have_a_reason_for_each_answer_and_are_asked_by_its_last_cell(book, path):
    text = next(cell.source for cell in book.cells if cell.source.startswith("## Check yourself"))
    questions = read_questions(text)
    assert 4 <= len(questions) <= 7
    for each in questions:
        assert each.kind == "order" or set(each.choices) > set(each.answers), f"none is wrong: {each.text}"
        assert all(len(why) > 10 for why in each.choices.values()), each.text
    first = [each.answers[0] == next(iter(each.choices)) for each in questions if each.kind == "one"]
    assert sum(first) <= len(first) / 2, "the first choice is the right one too often"
    last = [cell.source for cell in book.cells if cell.cell_type == "code"][-1]
    assert f'Quiz.of_chapter("{path.stem}"' in last


def test_every_file_that_a_notebook_points_to_is_there(book, path):
    text = "\n".join(cell.source for cell in book.cells if cell.cell_type == "markdown")
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if not link.startswith("https://")]
    assert [link for link in links if not (path.parent / link).exists()] == []


def run(book: nbformat.NotebookNode, folder: Path, mark: str) -> nbformat.NotebookNode:
    """Execute a notebook in `folder`; every process that it starts carries `mark` in its environment."""
    for name in ("here", "temporary", "site"):
        (folder / name).mkdir()
    (folder / "site" / "sitecustomize.py").write_text(NO_NETWORK, "utf-8")
    paths = [str(folder / "site"), os.environ.get("PYTHONPATH", "")]
    client = NotebookClient(
        book,
        timeout=300,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=False,
        resources={"metadata": {"path": str(folder / "here")}},
    )
    temporary = {name: str(folder / "temporary") for name in ("TMPDIR", "TEMP", "TMP")}
    python_path = os.pathsep.join(filter(None, paths))
    client.execute(env={**os.environ, **temporary, "PYTHONPATH": python_path, "LABKIT_TEST_MARK": mark})
    return book


def end_marked(mark: str) -> list[str]:
    """Wait for the processes with this mark to end, end those that do not, and say which they were."""
    marked = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("LABKIT_TEST_MARK") == mark:
                marked.append(process)
        except psutil.Error:
            continue  # somebody else's process, or one that has ended
    _, left = psutil.wait_procs(marked, timeout=10)
    names = [f"{process.pid} {process.cmdline()}" for process in left]
    for process in left:
        process.kill()
    return names


def project_files() -> set[str]:
    """The files where a careless notebook would write: in the project folder and beside the notebooks."""
    visible = [path for path in ROOT.iterdir() if not path.name.startswith(".")]
    return {str(path) for path in [*visible, *(ROOT / "notebooks").rglob("*")] if "checkpoint" not in str(path)}


def html_of(cell: nbformat.NotebookNode) -> str:
    """What a cell shows, as HTML where it can."""
    data = [output.get("data", {"text/plain": output.get("text", "")}) for output in cell.outputs]
    return "\n".join(str(each.get("text/html") or each.get("text/plain", "")) for each in data)
