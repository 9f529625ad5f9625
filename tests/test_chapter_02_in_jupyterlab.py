"""Chapter 02 in a real JupyterLab, as a reader has it: opened, run, and its crash dragged and let happen."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import nbformat
from browser import drag, handle, keep, middle
from notebook_server import PATIENCE, jupyterlab
from playwright.sync_api import Locator, Page, expect

from labkit.engines import ENGINES

CHAPTER = Path(__file__).resolve().parent.parent / "notebooks" / "02_windows.ipynb"
LONG = 5 * PATIENCE  # milliseconds for all cells of a chapter, real kills among them


def run_all_cells(page: Page) -> None:
    """Run the notebook from the menu, and wait until every cell has its number; a kernel is idle between cells."""
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    cells = sum(cell.cell_type == "code" for cell in nbformat.read(CHAPTER, as_version=4).cells)
    done = page.locator(".jp-Notebook .jp-InputPrompt").filter(has_text=re.compile(r"\[\d+\]:"))
    expect(done).to_have_count(cells, timeout=LONG)


def saved(page: Page, path: Path) -> nbformat.NotebookNode:
    """The notebook as JupyterLab saves it."""
    before = path.stat().st_mtime_ns
    page.keyboard.press("Control+s")
    expect(page.locator(".jp-mod-dirty")).to_have_count(0)
    assert path.stat().st_mtime_ns > before
    return nbformat.read(path, as_version=4)


def test_chapter_02_from_opening_it_to_the_recovered_run(page: Page, tmp_path: Path):
    path = Path(shutil.copy(CHAPTER, tmp_path))
    with jupyterlab(tmp_path) as address:
        page.goto(address.format(path.name))
        expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=PATIENCE)
        run_all_cells(page)
        cells = [cell for cell in saved(page, path).cells if cell.cell_type == "code"]
        assert all(cell.execution_count for cell in cells)
        assert not [out for cell in cells for out in cell.outputs if out.output_type == "error"]
        widget = page.locator(".ct")
        widget.scroll_into_view_if_needed()
        drag_through_all_windows(page, widget)
        crash_and_kill(widget)
        keep(page, tmp_path, "chapter-02")


def drag_through_all_windows(page: Page, widget: Locator) -> None:
    """From W1, where the chapter puts the crash, to W3 by keys; then drag it along the payment, and back to W3."""
    expect(handle(widget)).to_have_text("✗ W1 of execute_refund")
    handle(widget).focus()
    for window in ("W2", "W3"):
        page.keyboard.press("ArrowUp")
        expect(handle(widget)).to_have_text(f"✗ {window} of execute_refund")
    x, _ = middle(widget)
    met = set()
    for by in range(-120, 180, 12):
        drag(page, widget, x + by)
        met.add(handle(widget).text_content())
    assert met >= {f"✗ W{number} of execute_refund" for number in range(1, 6)}
    drag(page, widget, x)
    expect(handle(widget)).to_have_text("✗ W3 of execute_refund")


def crash_and_kill(widget: Locator) -> None:
    """Let it happen, in the simulator and then for real: the recovered run and the provider's ledger are shown."""
    widget.get_by_role("button", name="Crash here").click()
    expect(widget.locator(".ct-ring")).to_have_count(3)
    widget.get_by_role("button", name="Kill a real process").click()
    expect(widget.locator(".ct-real")).to_have_count(3, timeout=PATIENCE)
    expect(widget.locator(".ct-ring")).to_have_count(3)
    for engine in ENGINES:
        card = widget.get_by_role("region", name=engine, exact=True)
        expect(card).to_contain_text(re.compile(r"really killed: process \d+ ended with -9"))
        expect(card).to_contain_text("run: completed")
        expect(card.locator("ol")).to_contain_text("payments-2 ◈ DUPLICATE")
