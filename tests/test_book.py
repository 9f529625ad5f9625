"""The book: it works from the disk, asks nobody, can be crashed without a kernel, and names a chapter that fails."""

from __future__ import annotations

import re
from functools import partial
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urldefrag

import nbformat
import pytest
from notebook_server import PATIENCE
from playwright.sync_api import Browser, Page, expect

from tools import notebooks, pictures
from tools.book import execute, site

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.filterwarnings("ignore:.*Check CHANGES for Sphinx API")  # of the theme
CHAPTER = """# ---
# jupyter:
#   labkit:
#     minutes: 20
#     prerequisites: nothing
#     outcome: see a small chapter in the book
# ---
# %% [markdown]
# # A small chapter
#
# It points to [an engine](../labkit/engines/snapshot.py), [all engines](../labkit/engines), [the
# data](../datasets/refund_cases.csv) and [itself](00_small.ipynb).

# %%
import ipywidgets

ipywidgets.IntSlider(description="zeppelin")
"""


def course(folder: Path, source: str) -> Path:
    """Write a course of one chapter into `folder`, and return where its notebooks are."""
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "00_small.py").write_text(source, "utf-8")
    (folder / "00_small.ipynb").write_text(notebooks.build(source), "utf-8")
    return folder


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The book of a small course."""
    folder = tmp_path_factory.mktemp("book")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site, "LIVE", site.LIVE.replace("case=17", 'case=17, engines=("hybrid",)'))  # a third of the time
        site.build(course(folder / "notebooks", CHAPTER), folder / "_book", folder / "kept", partial(print, end=""))
    return folder / "_book"


@pytest.fixture
def asked(page: Page) -> list[str]:
    """What the page asks of anything but the disk; it gets no answer."""
    foreign: list[str] = []
    page.route(lambda address: not address.startswith(("file:", "data:", "blob:")), lambda route: route.abort())
    page.on("request", lambda request: foreign.append(request.url))
    page.on("websocket", lambda socket: foreign.append(socket.url))
    return foreign


def test_the_book_is_read_searched_and_crashed_from_the_disk_alone(book: Path, page: Page, asked: list[str]):
    page.goto((book / "index.html").as_uri())
    widget = page.frame_locator(".standing iframe").locator(".ct")
    expect(widget.locator(".ct-event").first).to_be_visible(timeout=PATIENCE)
    low = page.locator(".standing iframe").bounding_box()
    widget.get_by_role("button", name="Crash here").click()
    expect(widget.locator(".ct-ring")).to_have_count(1)
    expect(widget.locator("svg text", has_text="DUPLICATE")).to_have_count(1)
    page.wait_for_function(  # the frame grows, so that nothing of the page inside is cut off
        "low => document.querySelector('.standing iframe').clientHeight > low", arg=low and low["height"] + 100
    )
    page.locator("ol.chapters a").click()
    expect(page.locator("h1").last).to_contain_text("A small chapter")
    page.get_by_role("link", name="an engine").click()
    expect(page.locator(".highlight").last).to_contain_text("class SnapshotEngine")
    page.goto((book / "search.html").as_uri() + "?q=zeppelin")
    page.locator("#search-results").get_by_role("link", name="A small chapter").click()
    expect(page.get_by_text("zeppelin").last).to_be_visible()
    page.locator(".prev-next-area a").click()
    expect(page.locator(".standing iframe")).to_be_visible()
    assert [address for address in asked if not address.startswith(("file:", "data:", "blob:"))] == []
    assert f"{(book / 'index.html').as_uri()}" in asked, "the test sees what is asked"


def test_a_widget_is_as_dark_as_the_book(book: Path, page: Page):
    page.emulate_media(color_scheme="light")
    page.goto((book / "index.html").as_uri())
    root = page.frame_locator(".standing iframe").locator("html")
    expect(root).to_have_css("color-scheme", "light", timeout=PATIENCE)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    expect(root).to_have_css("color-scheme", "dark", timeout=PATIENCE)


def test_each_link_of_the_book_leads_somewhere(book: Path):
    pages = {path: path.read_text("utf-8") for path in book.rglob("*.html") if "_static" not in path.parts}
    names = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in pages.items()}
    dead, followed = [], 0
    for path, text in pages.items():
        for link in map(unescape, re.findall(r'\b(?:href|src)="([^"]*)"', text)):
            address, fragment = urldefrag(link)
            if re.match(r"[a-z]+:", address):
                continue
            target = (path.parent / unquote(address.partition("?")[0])).resolve() if address else path
            followed += 1
            if not target.is_file() or (fragment and target in names and fragment not in names[target] | {""}):
                dead.append(f"{path.name}: {link}")
    assert dead == [] and followed > 50


def test_a_failing_chapter_is_named_with_its_cell_and_error_and_the_old_book_stays(tmp_path: Path):
    out = tmp_path / "_book"
    out.mkdir()
    (out / "index.html").write_text("the old book", "utf-8")
    broken = CHAPTER.replace("import ipywidgets\n", "spoilt = 1 / 0\n")
    with pytest.raises(
        execute.ChapterFailed, match=r"(?s)00_small failed in cell 2:.*spoilt = 1 / 0.*ZeroDivisionError"
    ):
        site.build(course(tmp_path / "notebooks", broken), out, tmp_path / "kept", lambda text: None)
    assert (out / "index.html").read_text("utf-8") == "the old book"
    assert list(tmp_path.glob("kept/*")) == []


def test_a_chapter_is_executed_again_only_when_something_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(execute, "run", lambda name, book: book)
    monkeypatch.setattr(execute, "ROOT", tmp_path)
    monkeypatch.setattr(execute, "DEPENDS_ON", ("module.py",))
    text = nbformat.writes(nbformat.v4.new_notebook())
    hows = []
    for code, book in (("1", text), ("1", text), ("2", text), ("2", text + "\n"), ("2", text + "\n")):
        (tmp_path / "module.py").write_text(code, "utf-8")
        hows.append(execute.executed("chapter", book, tmp_path / "kept")[1].split()[0])
    assert hows == ["executed", "unchanged", "executed", "executed", "unchanged"]
    assert len(list((tmp_path / "kept").iterdir())) == 1, "what is out of date is not kept"


def test_make_pictures_takes_the_screenshots_that_the_readme_shows(book: Path, browser: Browser, tmp_path: Path):
    taken = pictures.take(browser, book / "index.html", tmp_path)
    assert all(path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size < 200_000 for path in taken)
    shown = re.findall(r'(?:srcset|src)="([^"]+)"|!\[[^]]+\]\(([^)]+)\)', (ROOT / "README.md").read_text("utf-8"))
    names = [html or markdown for html, markdown in shown]
    assert {f"{pictures.FOLDER}/{path.name}" for path in taken} <= set(names)
    assert [name for name in names if not (ROOT / name).is_file()] == []
