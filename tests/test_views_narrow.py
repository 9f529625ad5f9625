"""Narrow columns: a page never scrolls sideways; what is wider than its column scrolls in its own box, and says so."""

from __future__ import annotations

import pytest
from browser import violations
from playwright.sync_api import Page, expect

from labkit import Lab, refund

HINT = "wider than this column: scroll it to the right"


def sideways(page: Page) -> int:
    """By how many pixels the page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


@pytest.mark.parametrize(("width", "fits"), [(390, False), (500, False), (1300, True)])
def test_a_wide_timeline_scrolls_in_its_box_and_says_so(width: int, fits: bool, page: Page):
    with Lab(":memory:") as lab:
        lab.kill(refund, at="W3", effect="send_mail", case=17, real=False)
        picture = lab.timeline(lab.resume("refund-17"))._repr_html_()
    page.set_viewport_size({"width": width, "height": 900})
    page.set_content(f"<main>{picture}</main>")
    expect(page.get_by_text(HINT)).to_be_visible(visible=not fits)
    assert sideways(page) == 0 and violations(page, "main") == []
    box = page.get_by_role("group", name="the picture")
    assert (box.evaluate("box => box.scrollWidth > box.clientWidth")) is not fits
    box.focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowRight")
    if not fits:
        page.wait_for_function("box => box.scrollLeft > 0", arg=box.element_handle())
