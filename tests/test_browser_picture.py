"""The picture of the crash timeline as a person has it: what is in sight, can be read, and follows a hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from browser import handle, middle
from playwright.sync_api import Locator, Page, expect

from labkit.cases.refund import refund
from labkit.widgets import CrashTimeline
from labkit.widgets.page import key, standalone

SIZES = [1280, 800]
FIRST = [f"W{number}" for number in range(1, 6)]
TEXTS = """picture => [...picture.querySelectorAll("text")].filter(each => each.textContent.trim()).map(each => {
    const { left, top, right, bottom } = each.getBoundingClientRect();
    return { text: each.textContent, look: each.getAttribute("class"), left, top: top + 2, right, bottom: bottom - 2 };
})"""
SMALL = """widget => [...widget.querySelectorAll("*")]
    .filter(each => [...each.childNodes].some(node => node.nodeType === 3 && node.textContent.trim()))
    .filter(each => each.getClientRects().length && parseFloat(getComputedStyle(each).fontSize) < 12)
    .map(each => each.outerHTML)"""
ROWS = """bar => new Set([...bar.querySelectorAll("button, select")]
    .map(each => Math.round(each.getBoundingClientRect().bottom))).size"""


def opened(page: Page, folder: Path, wide: int = 1280, **options: Any) -> Locator:
    """The timeline as a page of its own, this many pixels wide, without any kernel."""
    path = folder / "timeline.html"
    CrashTimeline(refund, case=17, **options).to_html(path, knobs=False)
    page.set_viewport_size({"width": wide, "height": 1000})
    page.goto(path.as_uri())
    expect(page.locator(".ct-picture svg")).to_be_visible()
    return page.locator(".ct")


def overlapping(texts: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The pairs of texts that cover each other by more than a pixel."""
    return [
        (one["text"], other["text"])
        for number, one in enumerate(texts)
        for other in texts[:number]
        if min(one["right"], other["right"]) - max(one["left"], other["left"]) > 1
        and min(one["bottom"], other["bottom"]) - max(one["top"], other["top"]) > 1
    ]


@pytest.mark.parametrize("policy", ["bare", "ledger", "outbox"])
@pytest.mark.parametrize("wide", SIZES)
def test_it_opens_with_all_windows_of_the_first_effect_in_sight(page: Page, tmp_path: Path, wide: int, policy: str):
    widget = opened(page, tmp_path, wide, policy=policy)
    texts = widget.locator(".ct-picture").evaluate(TEXTS)
    windows = [each for each in texts if re.fullmatch("W[1-5]", each["text"]) and "ct-mid" in each["look"]]
    first = sorted(windows, key=lambda each: (each["top"], each["left"]))[:5]
    assert [each["text"] for each in first] == FIRST
    assert all(each["left"] >= 0 and each["right"] <= wide for each in texts)
    expect(widget.locator("[data-pan]")).to_be_hidden()


@pytest.mark.parametrize("crashed", [False, True])
@pytest.mark.parametrize("policy", ["bare", "ledger"])
@pytest.mark.parametrize("wide", SIZES)
def test_no_text_covers_another_and_all_can_be_read(page: Page, tmp_path: Path, wide: int, policy: str, crashed: bool):
    widget = opened(page, tmp_path, wide, policy=policy, crashed=crashed)
    handle(widget).focus()
    for press in ("", "ArrowRight", "ArrowRight", "ArrowRight", "Home", "End"):
        if press:
            page.keyboard.press(press)
            page.wait_for_function(
                "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
            )
        assert overlapping(widget.locator(".ct-picture").evaluate(TEXTS)) == [], press
    assert widget.evaluate(SMALL) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= wide


@pytest.mark.parametrize(("wide", "rows"), [(1280, 1), (800, 2)])
def test_the_controls_stand_in_one_row_and_in_two_where_it_is_narrow(page: Page, tmp_path: Path, wide: int, rows: int):
    assert opened(page, tmp_path, wide).locator(".ct-bar").evaluate(ROWS) == rows


def test_the_crash_follows_the_pointer_pixel_by_pixel(page: Page, tmp_path: Path):
    widget = opened(page, tmp_path)
    x, y = middle(widget)
    page.mouse.move(x, y)
    page.mouse.down()
    for by in [*range(1, 31), *range(30, -200, -7)]:
        page.mouse.move(x + by, y)
        assert abs(middle(widget)[0] - (x + by)) <= 1, by
    page.mouse.up()


@pytest.mark.parametrize("by", [120, -120, 40, 3000, -3000])
def test_a_quick_drag_ends_at_the_stop_nearest_to_the_pointer(page: Page, tmp_path: Path, by: int):
    widget = opened(page, tmp_path)
    x, y = middle(widget)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + by, y)
    page.mouse.up()
    settled = middle(widget)[0]
    last = int(handle(widget).get_attribute("aria-valuemax") or 0)
    places = stops(page, widget, last)
    inside = min(max(x + by, places[0]), places[-1])
    assert abs(settled - min(places, key=lambda place: abs(place - inside))) <= 1
    assert abs(settled - inside) < 60


def stops(page: Page, widget: Locator, last: int) -> list[float]:
    """Where the crash stands on the screen at each of its stops."""
    handle(widget).focus()
    page.keyboard.press("Home")
    found = []
    for number in range(last + 1):
        expect(handle(widget)).to_have_attribute("aria-valuenow", str(number))
        found.append(middle(widget)[0])
        page.keyboard.press("ArrowRight")
    return found


def test_at_every_stop_the_page_says_what_the_simulator_says(page: Page, tmp_path: Path):
    widget = opened(page, tmp_path, policy="keyed")
    shown = CrashTimeline(refund, case=17, policy="keyed", crashed=True)
    handle(widget).focus()
    page.keyboard.press("Home")
    for name, words, _ in shown.scene["stops"]:
        shown.at = name
        expect(handle(widget)).to_have_text(f"✗ {words}")
        told = shown.told()
        for engine, row in zip(shown.engines, widget.locator("tbody tr").all(), strict=True):
            if engine in told:
                expect(row.locator("code")).to_have_text(told[engine].timeline.lanes[0].killed_at)
                expect(row.locator(".ct-verdict")).to_have_class(re.compile(f"ct-{told[engine].verdict}$"))
            else:
                expect(row).to_contain_text("nothing is crashed")
                expect(row.locator(".ct-verdict")).to_have_count(0)
        page.keyboard.press("ArrowRight")


def test_a_policy_without_the_window_is_told_so_and_the_crash_stays(page: Page, tmp_path: Path):
    path = tmp_path / "timeline.html"
    CrashTimeline(
        refund, case=17, engines=("snapshot", "hybrid"), policy="ledger", at="W1", effect="send_mail"
    ).to_html(path)
    page.goto(path.as_uri())
    widget = page.locator(".ct")
    widget.get_by_role("combobox", name="policy").select_option("bare")
    expect(handle(widget)).to_have_text("✗ W1 of send_mail")
    expect(page.get_by_role("status").first).to_contain_text("no engine here has it, nothing is crashed")
    expect(widget.locator("svg text", has_text="has no W1 of send_mail")).to_have_count(2)
    widget.get_by_role("combobox", name="policy").select_option("outbox")
    expect(page.get_by_role("status").first).to_contain_text(
        "snapshot dies at send_mail/commit:before#1; hybrid dies at"
    )


def test_the_legend_names_every_mark_in_the_picture(page: Page, tmp_path: Path):
    widget = opened(page, tmp_path, policy="ledger")
    legend = widget.locator(".ct-legend").text_content() or ""
    for word in (
        "begin",
        "claim",
        "record",
        "wait",
        "approve",
        "commit",
        "intent",
        "call sent",
        "done at the provider",
    ):
        assert word in legend
    drawn = widget.locator(".ct-picture .ct-drawn path[transform]").evaluate_all(
        "all => [...new Set(all.map(each => each.getAttribute('d')))]"
    )
    known = widget.locator(".ct-legend path").evaluate_all("all => all.map(each => each.getAttribute('d'))")
    assert set(drawn) <= set(known)


def test_of_ten_thousand_events_only_those_in_view_are_drawn(page: Page, tmp_path: Path):
    timeline = CrashTimeline(refund, case=17)
    times = 10_000 // sum(len(each["first"]) for each in timeline.scene["engines"].values()) + 1
    path = tmp_path / "long.html"
    timeline.scene = repeated(timeline.scene, times)
    names = ("choices", "knobs", "at", "at_second", "crashed", "second", "killed")
    state = {name: getattr(timeline, name) for name in names}
    path.write_text(standalone("long", state, {key("bare", "as-declared", False): timeline.scene}), "utf-8")
    page.goto(path.as_uri())
    expect(page.locator(".ct-event").first).to_be_visible()
    slider = handle(page.locator(".ct"))
    assert int(slider.get_attribute("aria-valuemax") or 0) > 6_000, "windows are stops, and all that is no window"
    slider.focus()
    page.keyboard.press("End")
    expect(slider).to_have_text(re.compile(r"^✗ W5 of close_ticket \d+$"))
    assert 0 < page.locator(".ct-event").count() < 300
    page.get_by_role("button", name="fit the whole run").click()
    expect(page.locator(".ct-event")).to_have_count(0)
    assert 0 < page.locator(".ct-bin").count() < 3 * 1280 / 4


def repeated(scene: dict[str, Any], times: int) -> dict[str, Any]:
    """The scene of a run that goes through all its steps again and again; what follows a crash stays as it is."""
    wide = len(scene["columns"])
    columns = [[group, visit + n, *rest] for n in range(times) for group, visit, *rest in scene["columns"]]
    engines = {
        name: {
            **each,
            "first": [[number, column + n * wide] for n in range(times) for number, column in each["first"]],
            "crash": each["crash"] * times,
        }
        for name, each in scene["engines"].items()
    }
    passed = [
        sum(len(scene["pool"][number]["taps"]) for number, _ in each["first"]) for each in scene["engines"].values()
    ]
    stops = [
        [
            f"{name} {n}",
            f"{words} {n}",
            [None if tap is None else tap + n * all_ for tap, all_ in zip(taps, passed, strict=True)],
        ]
        for n in range(times)
        for name, words, taps in scene["stops"]
    ]
    return {**scene, "columns": columns, "engines": engines, "stops": stops}
