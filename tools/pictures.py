"""Takes the screenshots that README.md shows: the timeline after a crash, light and dark, and a page of the book.

`make pictures` writes them into notebooks/images, small. It needs a Chromium and the book in `_book`. Fonts
differ from machine to machine, so the pictures are not compared with what is kept.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from labkit.cases.refund import refund
from labkit.doctor import BROWSERS
from labkit.scratch import scratch_folder
from labkit.widgets import CrashTimeline

ROOT = Path(__file__).resolve().parent.parent
FOLDER = "notebooks/images"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTH, HEIGHT = 1300, 900  # pixels
PATIENCE = 60_000  # milliseconds that a busy machine may take to draw
TIMELINE, CHAPTER = "timeline-{}.png", "book-{}.png"
COLOURS = 256  # enough for drawings and letters, and a third of the bytes


def main() -> int:
    """Take all pictures into notebooks/images; return 0, or 1 when there is no book yet."""
    chapter = ROOT / "_book" / "02_windows.html"
    if not chapter.exists():
        print("There is no book to take a picture of. Nothing was written. Type: make book", file=sys.stderr)
        return 1
    installed = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=installed, args=["--no-sandbox"])
        for path in take(browser, chapter, ROOT / FOLDER):
            print(f"{path.relative_to(ROOT).as_posix()}: {path.stat().st_size // 1024} kB")
        browser.close()
    return 0


def take(browser: Browser, chapter: Path, folder: Path) -> list[Path]:
    """Write the pictures into `folder`, those of the book from its page `chapter`; return their paths."""
    taken = []
    with scratch_folder() as temporary:
        standing = Path(temporary, "timeline.html")
        CrashTimeline(refund, case=17, at="W3", crashed=True).to_html(standing, knobs=False)
        for scheme in SCHEMES:
            for path, name, picture in ((standing, TIMELINE, of_timeline), (chapter, CHAPTER, of_chapter)):
                page = page_at(browser, path, scheme)
                taken.append(keep(picture(page), folder / name.format(scheme)))
                page.close()
    return taken


def page_at(browser: Browser, path: Path, scheme: Literal["light", "dark"]) -> Page:
    """Open a page from its file, light or dark."""
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme)
    page.goto(path.as_uri())
    return page


def of_timeline(page: Page) -> bytes:
    """Return the picture, as PNG, of the upper part of the timeline: the knobs and the three engines."""
    expect(page.locator(".ct-ring")).to_have_count(3, timeout=PATIENCE)
    stage = page.locator(".ct-stage").bounding_box()
    assert stage, "the timeline is drawn"
    page.locator("h1").evaluate("heading => heading.remove()")
    page.set_viewport_size({"width": WIDTH, "height": int(stage["y"] + stage["height"])})
    return page.screenshot()


def of_chapter(page: Page) -> bytes:
    """Return the picture, as PNG, of the place in the chapter where the crash can be dragged."""
    page.locator(".standing").first.scroll_into_view_if_needed()
    expect(page.frame_locator(".standing iframe").first.locator(".ct-event").first).to_be_visible(timeout=PATIENCE)
    page.evaluate("scrollTo(0, document.querySelector('.standing').getBoundingClientRect().top + scrollY - 330)")
    return page.screenshot()


def keep(png: bytes, path: Path) -> Path:
    """Write a picture with few colours, which makes it small; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = Image.open(io.BytesIO(png)).convert("RGB")
    whole.quantize(COLOURS, kmeans=1, dither=Image.Dither.NONE).save(path, optimize=True)
    return path


if __name__ == "__main__":
    raise SystemExit(main())
