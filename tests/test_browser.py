"""The crash timeline in a real Chromium: as a page without a kernel, and in a real JupyterLab with a real kill."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from browser import drag, handle, keep, middle, violations
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from notebook_server import PATIENCE, jupyterlab
from playwright.sync_api import Locator, Page, expect

from labkit.cases.refund import refund
from labkit.widgets import CrashTimeline

CELL = """from labkit import refund
from labkit.widgets import CrashTimeline
timeline = CrashTimeline(refund, case=17, engines=("snapshot", "hybrid"))
timeline"""


def notebook() -> nbformat.NotebookNode:
    """A notebook of one cell that shows a timeline."""
    kernel = {"name": "python3", "display_name": "Python 3"}
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)], metadata={"kernelspec": kernel})


@pytest.fixture
def widget(page: Page, tmp_path: Path) -> Locator:
    """The timeline as a page of its own, opened from its file, without any kernel."""
    path = tmp_path / "timeline.html"
    CrashTimeline(refund, case=17).to_html(path, knobs=False)
    page.goto(path.as_uri())
    expect(page.locator(".ct-event").first).to_be_visible()
    return page.locator(".ct")


def test_a_dragged_crash_says_its_window_and_what_follows(page: Page, widget: Locator):
    expect(handle(widget)).to_have_text("✗ W3 of execute_refund")
    expect(widget.locator("tbody tr").first).to_contain_text("DUPLICATE")
    x, _ = middle(widget)
    drag(page, widget, x - 300)
    expect(handle(widget)).to_have_text(re.compile("^✗ (before|after) the "))
    expect(widget.locator("tbody tr").nth(1)).to_contain_text("✓ valid")
    expect(widget.get_by_role("status").first).to_contain_text("no effect at hand")
    drag(page, widget, x)
    expect(handle(widget)).to_have_text("✗ W3 of execute_refund")


def test_keys_move_the_crash_and_let_it_happen(page: Page, widget: Locator):
    windows = []
    handle(widget).focus()
    page.keyboard.press("Home")
    expect(handle(widget)).to_have_attribute("aria-valuenow", "0")
    last = int(handle(widget).get_attribute("aria-valuemax") or 0)
    for number in range(1, last + 1):
        page.keyboard.press("ArrowRight")
        expect(handle(widget)).to_have_attribute("aria-valuenow", str(number))
        windows.append((handle(widget).text_content() or "").removeprefix("✗ "))
    assert len(set(windows)) == len(windows) == last, "each key press says something new"
    assert [each for each in windows if "execute_refund" in each] == [f"W{n} of execute_refund" for n in range(1, 6)]
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(widget.locator(".ct-card")).to_have_count(3)


def test_with_bare_a_crash_in_w3_shows_the_duplicate_in_shape_and_words(widget: Locator):
    expect(widget.locator(".ct-ring")).to_have_count(0)
    widget.get_by_role("button", name="Crash here").click()
    expect(widget.locator(".ct-ring")).to_have_count(3)
    expect(widget.locator("svg text", has_text="DUPLICATE")).to_have_count(3)
    card = widget.locator(".ct-card").first
    expect(card).to_contain_text("run: completed")
    expect(card).to_contain_text("payments-2 ◈ DUPLICATE")
    expect(widget.get_by_role("button", name="Kill a real process")).to_be_disabled()
    widget.get_by_role("button", name="Clear the crash").click()
    expect(widget.locator(".ct-ring")).to_have_count(0)


def test_both_crashes_of_a_schedule_are_told_in_words(page: Page, tmp_path: Path):
    schedule = ["execute_refund/call:executed#1", "send_mail/call:after#1"]
    path = tmp_path / "schedule.html"
    CrashTimeline.of_schedule(refund, schedule, policy="bare", case=17).to_html(path, knobs=False)
    page.goto(path.as_uri())
    expect(page.locator("tbody tr")).to_contain_text(f"{schedule[0]}then {schedule[1]}")
    expect(page.locator("tbody tr")).to_contain_text("then W4 reply received")
    expect(page.get_by_role("status").first).to_contain_text("Second crash in W4 of send_mail: reply received")
    expect(page.get_by_role("status").first).to_contain_text(f"dies at {schedule[1]}")


def test_what_broke_an_invariant_is_never_called_ok(page: Page, tmp_path: Path):
    path = tmp_path / "untracked.html"
    CrashTimeline(refund, case=17, policy="keyed", at="W4", crashed=True).to_html(path, knobs=False)
    page.goto(path.as_uri())
    row = page.locator("tbody tr").first
    expect(row).to_contain_text("✗ BROKEN refund-17/4.execute_refund was executed and only the provider knew")
    expect(row).not_to_contain_text("✓ OK")
    expect(page.get_by_role("status").first).to_contain_text("snapshot: completed, broken, invalid")


def test_each_event_has_a_record_and_is_reached_by_keys(page: Page, widget: Locator):
    widget.locator("[data-event][tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    expect(widget.get_by_role("region", name="record")).to_contain_text("run/claim:after#1")
    page.keyboard.press("ArrowDown")
    expect(widget.get_by_role("region", name="record")).to_contain_text("event-sourced")
    page.keyboard.press("Escape")
    expect(widget.get_by_role("region", name="record")).to_be_hidden()


def test_everything_that_is_operated_has_a_name_and_a_role(widget: Locator):
    assert widget.get_attribute("role") == "group" and "refund case 17" in (widget.get_attribute("aria-label") or "")
    nameless = widget.evaluate(
        """widget => [...widget.querySelectorAll("button, select, input, [role=slider], [role=button], [role=region]")]
            .filter(each => !(each.getAttribute("aria-label") || each.closest("label")?.textContent.trim()))
            .map(each => each.outerHTML)"""
    )
    assert nameless == []
    assert widget.locator("svg[role=img]").count() == 0, "what is operated is no picture"


def test_play_goes_on_tap_by_tap_until_it_is_paused(page: Page, widget: Locator):
    handle(widget).focus()
    page.keyboard.press("Home")
    widget.get_by_role("button", name="play").click()
    expect(handle(widget)).to_have_attribute("aria-valuenow", re.compile(r"[2-9]|\d\d"))
    widget.get_by_role("button", name="pause").click()
    expect(widget.get_by_role("button", name="play")).to_be_visible()


@pytest.fixture(scope="module")
def executed() -> nbformat.NotebookNode:
    """A notebook that shows a timeline, executed and kept as the course keeps it: without the state of widgets."""
    book = notebook()
    NotebookClient(book, store_widget_state=False).execute()
    return book


def test_an_exported_notebook_shows_the_picture_without_kernel_or_network(
    page: Page, tmp_path: Path, executed: nbformat.NotebookNode
):
    path = tmp_path / "exported.html"
    path.write_text(HTMLExporter().from_notebook_node(executed)[0], "utf-8")
    page.context.set_offline(True)
    page.goto(path.as_uri())
    picture = page.locator(".jp-OutputArea-output img")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.naturalWidth") > 500
    assert violations(page, ".jp-OutputArea-output") == []


def test_in_a_notebook_that_was_not_run_the_run_is_told_in_words(
    page: Page, tmp_path: Path, executed: nbformat.NotebookNode
):
    nbformat.write(executed, tmp_path / "theirs.ipynb")
    with jupyterlab(tmp_path) as address:
        page.goto(address.format("theirs.ipynb"))
        expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=PATIENCE)
        output = page.locator(".jp-OutputArea-output")
        expect(output).to_contain_text("refund-17: refund 1.0.0 on hybrid, policy bare: completed")
        expect(output).to_contain_text("each effect happened at most once")


def choose_dark(folder: Path) -> None:
    """Let the JupyterLab of this folder have its dark theme."""
    settings = folder / "home" / "jupyterlab_settings_dir" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "themes.jupyterlab-settings").write_text('{"theme": "JupyterLab Dark"}')


def test_in_jupyterlab_it_is_dragged_crashed_and_a_process_is_really_killed(page: Page, tmp_path: Path):
    nbformat.write(notebook(), tmp_path / "try.ipynb")
    choose_dark(tmp_path)
    with jupyterlab(tmp_path) as address:
        page.goto(address.format("try.ipynb"))
        expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=PATIENCE)
        page.locator(".jp-Notebook .cm-content").first.click()
        page.keyboard.press("Shift+Enter")
        widget = page.locator(".ct")
        expect(handle(widget)).to_have_text("✗ W3 of execute_refund", timeout=PATIENCE)
        x, _ = middle(widget)
        drag(page, widget, x - 60)
        expect(handle(widget)).not_to_have_text("✗ W3 of execute_refund")
        drag(page, widget, x)
        expect(handle(widget)).to_have_text("✗ W3 of execute_refund")
        page.keyboard.press("ArrowUp")  # a key that JupyterLab would take, like Enter
        expect(handle(widget)).to_have_text("✗ W4 of execute_refund")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(widget.locator(".ct-ring")).to_have_count(2)
        widget.get_by_role("button", name="Kill a real process").click()
        expect(widget.locator(".ct-progress")).to_contain_text("killing a process at execute_refund/call:executed#1")
        expect(widget.locator(".ct-real")).to_have_count(2, timeout=PATIENCE)
        expect(widget.locator(".ct-real").first).to_contain_text("ended with -9")
        widget.get_by_role("checkbox", name="second crash").check()
        expect(widget.get_by_role("slider", name="second crash")).to_be_visible()
        policy, cells = widget.get_by_role("combobox", name="policy"), page.locator(".jp-Notebook .jp-Cell").count()
        policy.focus()
        page.keyboard.press("Escape")  # out of the cell's editor: now JupyterLab's letters are commands
        policy.focus()
        page.keyboard.press("b")
        expect(page.locator(".jp-Notebook .jp-Cell")).to_have_count(cells)
        policy.select_option("ledger")
        expect(widget.locator("tbody tr").first).to_contain_text("✓ valid")
        assert page.locator("body").get_attribute("data-jp-theme-light") == "false"
        assert violations(page, ".ct") == []
        keep(page, tmp_path, "jupyterlab")
