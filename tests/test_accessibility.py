"""axe-core finds nothing in the crash timeline, whatever it shows, in light and dark, wide and narrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import violations
from playwright.sync_api import Locator, Page, expect

from labkit.cases.refund import refund
from labkit.lab.facade import Lab
from labkit.widgets import CrashTimeline

SIZES = {"wide": (1300, 900), "narrow": (420, 800)}  # 420 is also what a phone shows, or 840 at 200 % zoom


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A timeline with a duplicate in W3, as a page of its own, after a second crash, which it may show."""
    path = tmp_path_factory.mktemp("axe") / "timeline.html"
    widget = CrashTimeline(refund, case=17, crashed=True)
    widget.knobs = {**widget.knobs, "second": True}
    widget.to_html(path, knobs=False)
    return path


@pytest.fixture(params=["light", "dark"])
def scheme(request: pytest.FixtureRequest, page: Page) -> Iterator[str]:
    """Both colour schemes."""
    page.emulate_media(color_scheme=request.param)
    return request.param


@pytest.fixture(params=SIZES)
def widget(request: pytest.FixtureRequest, page: Page, scheme: str, path: Path) -> Locator:
    """The timeline, in either size and colour scheme."""
    wide, high = SIZES[request.param]
    page.set_viewport_size({"width": wide, "height": high})
    page.goto(path.as_uri())
    expect(page.locator(".ct-event").first).to_be_visible()
    return page.locator(".ct")


def test_axe_finds_nothing_whatever_is_shown(page: Page, widget: Locator):
    expect(widget.get_by_role("slider", name="second crash")).to_be_visible()
    assert violations(page, ".ct") == []
    widget.get_by_role("checkbox", name="second crash").uncheck()
    widget.locator("[data-event][tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    expect(widget.get_by_role("region", name="record")).to_be_visible()
    assert violations(page, ".ct") == []
    widget.get_by_role("button", name="Clear the crash").click()
    expect(widget.locator(".ct-card")).to_have_count(0)
    assert violations(page, ".ct") == []


def test_the_page_itself_has_a_title_a_language_and_landmarks(page: Page, widget: Locator):
    assert violations(page, "html") == []
    sideways = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert sideways == 0, "only the table and the picture may scroll sideways"


def test_the_picture_of_a_run_is_clean_as_well(page: Page, scheme: str):
    with Lab(":memory:", policy="bare") as lab:
        lab.kill(refund, at="W3", case=17, real=False)
        picture = lab.timeline(lab.resume("refund-17"))._repr_html_()
    page.set_content(f"<style>:root {{ color-scheme: light dark }}</style><main>{picture}</main>")
    assert violations(page, "main") == []
