"""A real Chromium for tests: `browser` for all of them, a `page` for each, that must not fail.

A screenshot of each test is kept in its temporary folder, or in LABKIT_ARTEFACTS where that is set.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from notebook_server import PATIENCE
from playwright.sync_api import Browser, Error, Locator, Page, sync_playwright

from labkit.doctor import BROWSERS

FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium where it is, else Playwright's own, else no test, and why."""
    installed = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as driver:
        try:
            launched = driver.chromium.launch(executable_path=installed, args=FLAGS)
        except Error as error:
            pytest.skip(f"no Chromium could be started, install chromium or type playwright install: {error.message}")
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Browser, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page that must not fail; a screenshot of how it ended is kept."""
    opened = browser.new_page(viewport={"width": 1280, "height": 1000})
    opened.set_default_timeout(PATIENCE)
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    yield opened
    keep(opened, tmp_path, request.node.name)
    opened.close()
    assert not problems


def keep(page: Page, folder: Path, name: str) -> None:
    """Keep a screenshot as `name`."""
    path = Path(os.environ.get("LABKIT_ARTEFACTS", folder)) / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=path)


def violations(page: Page, selector: str) -> list[str]:
    """What axe-core has against all that is below `selector`: a line a thing, with its rule and why.

    axe-core comes with its Python package, nothing is fetched. What it cannot decide is not among it.
    """
    assert page.locator(selector).count(), f"there is no {selector} on the page"
    found = Axe().run(page, selector).response["violations"]
    return [f"{rule['id']}: {node['failureSummary']}\n{node['html']}" for rule in found for node in rule["nodes"]]


def handle(widget: Locator) -> Locator:
    """What the crash of a timeline is dragged by."""
    return widget.get_by_role("slider", name="crash", exact=True)


def middle(widget: Locator) -> tuple[float, float]:
    """Where the crash stands on the screen."""
    box = handle(widget).bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page: Page, widget: Locator, to: float) -> None:
    """Drag the crash to this x on the screen, in small moves as a hand does."""
    x, y = middle(widget)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(to, y, steps=8)
    page.mouse.up()
