"""The views in a real Chromium: as pages without a kernel, and in a real JupyterLab with a lab that is decided in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest
from browser import keep, violations
from notebook_server import PATIENCE, jupyterlab
from playwright.sync_api import Browser, Locator, Page, expect
from test_views import FOUND

from labkit import Lab, refund
from labkit.matrix import matrix
from labkit.widgets import CostCurves, CrashTimeline, EffectStates, MatrixTable, WaitingBoard

CELL = """from labkit import Lab, refund
from labkit.matrix import matrix
from labkit.widgets import MatrixTable, WaitingBoard
lab = Lab("lab.db", policy="ledger")
lab.start(refund, case=17)
report = matrix(refund, engines=("hybrid",), policies=("bare",), inputs={"case": 17})
display(MatrixTable(report, case=17), WaitingBoard(lab))"""


def board() -> str:
    """The page of a lab with a run that asks, and a mail in doubt."""
    with Lab(":memory:", policy="ledger") as lab:
        lab.start(refund, case=12)
        killed = lab.kill(refund, case=17, at="W3", effect="send_mail", real=False)
        lab.resume(killed.run_id, approve=True)
        return WaitingBoard(lab).to_html()


def heat() -> str:
    """The page of the matrix of two engines."""
    report = matrix(refund, engines=("snapshot", "hybrid"), policies=("bare", "ledger"), inputs={"case": 17})
    return MatrixTable(report, case=17).to_html()


PAGES: dict[str, Callable[[], str]] = {
    "states": lambda: EffectStates(case=17).to_html(),
    "curves": lambda: CostCurves(FOUND).to_html(),
    "matrix": heat,
    "board": board,
}


@cache
def text_of(name: str) -> str:
    """The page of a view, made once."""
    return PAGES[name]()


@pytest.fixture
def opened(page: Page, tmp_path: Path) -> Callable[[str], Locator]:
    """Opens the page of a view from its file, without any kernel; gives the view."""

    def opens(name: str) -> Locator:
        path = tmp_path / f"{name}.html"
        path.write_text(text_of(name), "utf-8")
        page.goto(path.as_uri())
        expect(page.locator(".lv")).to_be_visible()
        return page.locator(".lv")

    return opens


@pytest.fixture(params=[("light", 1300), ("dark", 1300), ("light", 420), ("dark", 320)], ids=str)
def look(request: pytest.FixtureRequest, page: Page) -> Iterator[tuple[str, int]]:
    """A colour scheme and a width of the page; 320 is a phone, or 640 at 200 %."""
    scheme, width = request.param
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    return request.param


OPEN: dict[str, Callable[[Locator], Any]] = {
    "states": lambda view: view.locator("[data-pick=ambiguous]:visible").click(),
    "curves": lambda view: view.get_by_label("size of the state").focus(),
    "matrix": lambda view: [
        view.locator(f"{each} >> nth=0").click() for each in ("summary", "[data-cell*='neither/W3']")
    ],
    "board": lambda view: view.get_by_role("button", name="Refresh").is_hidden(),
}


@pytest.mark.parametrize("name", list(PAGES))
def test_axe_finds_nothing_and_nothing_is_cut_off(
    name: str, look: tuple[str, int], page: Page, opened: Callable[[str], Locator]
):
    OPEN[name](opened(name))
    assert violations(page, ".lv") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= look[1]


def test_a_state_is_reached_with_keys_and_tells_its_rule(page: Page, opened: Callable[[str], Locator]):
    view = opened("states")
    expect(view.get_by_role("status")).to_contain_text("finds the effect executing: ? reconcile")
    expect(view.locator(".es-walked:visible")).to_have_count(1)
    view.locator("[data-pick][tabindex='0']:visible").focus()
    page.keyboard.press("ArrowRight")
    record = view.get_by_role("region", name="the chosen state or move")
    expect(record).to_contain_text("executing → confirmed")
    page.keyboard.press("ArrowRight")
    expect(record).to_contain_text("Advance: use the receipt")
    expect(view.locator("[data-pick=confirmed]:visible")).to_be_focused()
    page.keyboard.press("Escape")
    expect(record).to_be_hidden()


def test_without_a_ledger_a_reply_that_is_lost_leads_to_a_second_effect(opened: Callable[[str], Locator]):
    view = opened("states")
    view.get_by_label("policy").select_option("bare")
    expect(view.get_by_role("status")).to_contain_text("the provider has done it twice")
    expect(view.locator(".es-found")).to_have_count(0)
    expect(view.locator("table")).to_contain_text("this policy keeps no ledger")
    view.get_by_label("policy").select_option("ledger")
    view.get_by_role("combobox", name="provider").select_option("neither")
    expect(view.locator("[data-pick=ambiguous].es-end:visible")).to_contain_text("ends here")
    view.get_by_label("the process dies at").select_option("execute_refund/confirm:after#1")
    expect(view.get_by_role("status")).to_contain_text("» advance")


def test_a_slider_moves_with_keys_and_the_page_computes_what_python_does(page: Page, opened: Callable[[str], Locator]):
    view = opened("curves")
    slider = view.get_by_label("crash rate")
    slider.focus()
    page.keyboard.press("End")
    expect(slider).to_have_attribute("aria-valuetext", "a crash every 10 steps")
    expect(view.get_by_role("status")).to_contain_text("▲ hybrid costs least")
    curves = CostCurves(FOUND, rate=0.1)
    costs = [engine.cost(curves.setting) * 1e3 for engine in curves.engines]
    shown = [float(text.split()[0]) for text in view.locator("tbody td:last-child b").all_inner_texts()]
    assert shown == pytest.approx(costs, rel=1e-2)
    (crossing,) = curves.crossings().query("over == 'rate' and `lower before` == 'event-sourced'").to_dict("records")
    every = float(f"{1 / crossing['at']:.2g}")
    expect(view.locator(".cc-crossings").last).to_contain_text(f"a crash every {every:,.0f} steps or so event-sourced")


def test_a_picture_is_dragged_like_its_slider(page: Page, opened: Callable[[str], Locator]):
    view = opened("curves")
    box = view.locator("[data-over=size]").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 80)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"], box["y"] + 80, steps=4)
    page.mouse.up()
    expect(view.locator(".cc-value").first).to_have_text("1,000,000 characters")


def test_a_cell_is_found_with_arrows_and_opens_its_counterexample(page: Page, opened: Callable[[str], Locator]):
    view = opened("matrix")
    expect(view.get_by_role("grid")).to_have_accessible_name("the same on both engines")
    view.locator("[data-cell][tabindex='0']:visible").focus()
    for key in ("End", "Home", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    cell = view.get_by_role("region", name="the chosen cell")
    expect(cell).to_contain_text("hybrid · bare · dedup · W3")
    chosen = view.locator("[aria-selected=true]:visible")
    expect(chosen).to_have_accessible_name(re.compile("^the same on both engines, bare, .* .dedup., W3: .* in 100% of"))
    expect(cell).to_contain_text("its counterexample")
    expect(cell.locator("svg")).to_contain_text("DUPLICATE")
    expect(chosen).to_contain_text("◈ twice")
    page.keyboard.press("Escape")
    expect(cell).to_be_hidden()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the two engines one by one
    expect(view.get_by_role("grid")).to_have_count(3)
    view.locator("[data-cell='snapshot/ledger/neither/W3']").click()
    expect(cell).to_contain_text("an example")
    expect(chosen).to_have_count(2)  # where both stand for one, and its own
    page.set_viewport_size({"width": 1300, "height": 400})
    expect(cell).not_to_be_in_viewport()
    view.get_by_role("button", name="see its crash below").click()
    expect(cell).to_be_in_viewport()
    expect(cell).to_be_focused()
    expect(cell).to_contain_text("ambiguous:")


def test_what_differs_between_engines_stands_apart(page: Page):
    report = matrix(refund, policies=("outbox", "ledger"), inputs={"case": 17})
    page.set_content(MatrixTable(report, case=17).to_html())
    same, apart = page.get_by_role("grid").all()
    expect(same.locator("[data-cell]")).to_have_count(2 * 3 * 6 - 1)
    expect(apart).to_have_accessible_name("≠ not the same on all: 1 of 36 cells")
    expect(apart.get_by_role("row").last).to_contain_text(re.compile("outbox, neither, W2.*50%.*33%.*33%", re.S))
    same.locator("[data-cell='hybrid/outbox/dedup/between']").focus()
    page.keyboard.press("ArrowRight")
    expect(apart.locator(":focus")).to_have_accessible_name(re.compile("^snapshot, outbox, provider neither, W2"))
    assert violations(page, ".lv") == []


def test_without_a_kernel_the_board_says_what_to_type(opened: Callable[[str], Locator]):
    view = opened("board")
    expect(view.get_by_role("button")).to_have_count(0)
    doubt = view.get_by_role("region", name="send at mail: acme/refund/refund-17/5.send_mail")
    expect(doubt).to_contain_text("? AMBIGUOUS")
    expect(doubt).to_contain_text("--verdict confirmed --receipt ID")


def deaf(page: Page, widget: Any) -> Locator:
    """The widget in a page whose kernel never answers."""
    state = json.dumps(widget.get_state()).replace("<", "\\u003c")
    page.set_content(f"""<div id="here"></div><script type="module">{widget._esm}
    const kept = {state};
    const model = {{ get: (name) => kept[name], set(name, value) {{ kept[name] = value; }}, on() {{}}, off() {{}},
      send() {{}}, save_changes() {{}} }};
    render({{ model, el: document.getElementById("here") }});</script>""")
    return page.locator("#here")


def test_a_kernel_that_does_not_answer_is_told_on_the_board_and_in_the_timeline(page: Page):
    with Lab(":memory:", policy="ledger") as lab:
        lab.start(refund, case=12)
        view = deaf(page, WaitingBoard(lab))
        view.get_by_role("button", name="approve: refund-12").click()
        view.get_by_role("button", name="Yes: approve").click()
        expect(view.get_by_role("status")).to_contain_text("No answer from the kernel", timeout=PATIENCE)
    view = deaf(page, CrashTimeline(refund, engines=("hybrid",), case=17))
    view.get_by_role("button", name="Kill a real process").click()
    expect(view.locator(".ct-progress")).to_contain_text("No answer from the kernel", timeout=PATIENCE)


def test_in_jupyterlab_a_cell_opens_a_timeline_and_the_board_decides(page: Page, browser: Browser, tmp_path: Path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, tmp_path / "try.ipynb")
    with jupyterlab(tmp_path) as address:
        page.goto(address.format("try.ipynb"))
        expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=PATIENCE)
        page.locator(".jp-Notebook .cm-content").first.click()
        page.keyboard.press("Shift+Enter")
        page.locator("[data-cell='hybrid/bare/lookup/W4']").click(timeout=PATIENCE)
        expect(page.get_by_role("slider", name="crash", exact=True)).to_have_text("✗ W4 of execute_refund")
        view = page.locator(".lv", has=page.locator(".wb-runs"))
        for action, said in (("approve", "can go on"), ("resume", "is completed")):
            view.get_by_role("button", name=f"{action}: refund-17").click()
            expect(view.get_by_role("button", name="No, leave it")).to_be_focused()
            view.get_by_role("button", name=f"Yes: {action}").click()
            expect(view.get_by_role("status")).to_contain_text(f"refund-17 {said} now", timeout=PATIENCE)
        expect(view.locator(".wb-count")).to_contain_text("0 runs")
        expect(view.get_by_role("region", name="refund-17", exact=True)).to_contain_text("completed")
        keep(page, tmp_path, "views_in_jupyterlab")
