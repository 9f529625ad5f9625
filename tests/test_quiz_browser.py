"""The quiz in a real Chromium, as a page of its own and in JupyterLab: keys, screen readers, no mix of two quizzes."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe
from notebook_server import PATIENCE, jupyterlab
from playwright.sync_api import Locator, Page, expect
from test_quiz import MANY, NUMBER, ONE, ORDER

from labkit.widgets import Quiz


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A page with one question of each kind."""
    Quiz(ONE, MANY, NUMBER, ORDER).to_html(tmp_path / "quiz.html")
    return tmp_path / "quiz.html"


@pytest.fixture
def quiz(page: Page, path: Path) -> Locator:
    """The quiz, opened from its file, without any kernel."""
    page.goto(path.as_uri())
    return page.locator(".qz")


def question(quiz: Locator, number: int) -> Locator:
    return quiz.locator("form").nth(number - 1)


def test_a_wrong_choice_says_why_and_may_be_tried_again(quiz: Locator):
    first = question(quiz, 1)
    first.get_by_role("button", name="Check").click()
    expect(first.get_by_role("status")).to_have_text("Choose first.")
    first.get_by_role("radio", name="once").check()
    first.get_by_role("button", name="Check").click()
    expect(first.get_by_role("status")).to_contain_text("✗ wrong once: No: W3 lies between.")
    expect(first.get_by_role("status")).not_to_contain_text("Yes.")
    first.get_by_role("radio", name="it is paid 2 times").check()
    first.get_by_role("button", name="Check").click()
    expect(first.get_by_role("status")).to_contain_text("Right.✓ right it is paid 2 times: Yes.")
    expect(quiz.locator(".qz-score")).to_have_text("1 of 4 right")


def test_of_many_choices_it_says_which_are_wrong_and_how_many_are_missing(quiz: Locator):
    second = question(quiz, 2)
    second.get_by_role("checkbox", name="W1").check()
    second.get_by_role("button", name="Check").click()
    expect(second.get_by_role("status")).to_contain_text("Not all. 1 more holds.")
    second.get_by_role("checkbox", name="W3").check()
    second.get_by_role("button", name="Check").click()
    expect(second.get_by_role("status")).to_contain_text("No. 1 more holds.")
    expect(second.get_by_role("status")).to_contain_text("✗ wrong W3: It was.")
    second.get_by_role("checkbox", name="W3").uncheck()
    second.get_by_role("checkbox", name="W5").check()
    second.get_by_role("button", name="Check").click()
    expect(second.get_by_role("status")).to_contain_text("Right.")


def test_steps_are_put_in_order_by_buttons_and_by_keys(page: Page, quiz: Locator):
    fourth = question(quiz, 4)
    fourth.get_by_role("button", name="Check").click()
    expect(fourth.get_by_role("status").last).to_have_text("No. The first is another one.")
    fourth.get_by_role("button", name="up: intent").click()
    fourth.get_by_role("button", name="up: intent").press("ArrowUp")
    expect(fourth.get_by_role("status").first).to_have_text("intent: now 1 of 3")
    expect(fourth.get_by_role("button", name="up: intent")).to_be_focused()
    fourth.get_by_role("button", name="Check").click()
    expect(fourth.get_by_role("status").last).to_have_text("No. Right so far, from the top: 1 of 3.")
    fourth.get_by_role("button", name="down: commit").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")  # it is the last already
    expect(fourth.get_by_role("listitem")).to_contain_text(["intent", "call", "commit"])
    fourth.get_by_role("button", name="Check").click()
    expect(fourth.get_by_role("status").last).to_contain_text("Right.")
    expect(fourth.get_by_role("status").last.get_by_role("listitem").first).to_contain_text("intent: It is planned.")


@pytest.mark.parametrize(
    ("typed", "said"), [("2", "Right."), ("1", "And the other?"), ("7", "No."), ("two", "no number")]
)
def test_a_number_is_answered_when_it_is_typed(quiz: Locator, typed: str, said: str):
    third = question(quiz, 3)
    third.get_by_role("textbox", name="Your number").fill(typed)
    third.get_by_role("textbox").press("Enter")
    expect(third.get_by_role("status")).to_contain_text(said)


def test_everything_is_done_by_keys(page: Page, quiz: Locator):
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    expect(question(quiz, 1).get_by_role("radio", name="it is paid 2 times")).to_be_checked()
    page.keyboard.press("Enter")
    expect(question(quiz, 1).get_by_role("status")).to_contain_text("Right.")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    focused = page.locator("*:focus-visible")
    expect(focused).to_have_text("All explanations")
    expect(focused).to_have_css("outline-style", "solid")
    page.keyboard.press("Enter")
    expect(question(quiz, 1).get_by_role("status")).to_contain_text("once: No: W3 lies between.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_before_and_after_an_answer(page: Page, quiz: Locator, scheme):
    page.emulate_media(color_scheme=scheme)
    for answered in (False, True):
        if answered:
            question(quiz, 1).get_by_role("radio", name="once").check()
            question(quiz, 2).get_by_role("checkbox", name="W1").check()
            question(quiz, 4).get_by_role("button", name="up: call").click()
            for number in (1, 2, 4):
                question(quiz, number).get_by_role("button", name="Check").click()
            question(quiz, 1).get_by_role("button", name="All explanations").click()
        found = Axe().run(page, context=".qz")
        assert found.violations_count == 0, found.generate_report()


def test_a_narrow_page_is_not_wider_than_its_window(page: Page, quiz: Locator):
    page.set_viewport_size({"width": 320, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_two_quizzes_in_one_page_do_not_mix(page: Page, tmp_path: Path):
    (tmp_path / "two.html").write_text(f"<!doctype html>{Quiz(ONE).fragment()}<hr>{Quiz(NUMBER).fragment()}", "utf-8")
    page.goto((tmp_path / "two.html").as_uri())
    expect(page.locator(".qz")).to_have_count(2)
    page.get_by_role("radio", name="once").check()
    page.get_by_role("button", name="Check").first.click()
    expect(page.locator(".qz").first.get_by_role("status")).to_contain_text("✗ wrong once")
    expect(page.locator(".qz").last.get_by_role("status")).to_be_empty()


def test_without_scripts_the_questions_can_be_read(browser, path: Path):
    bare = browser.new_context(java_script_enabled=False).new_page()
    bare.goto(path.as_uri())
    expect(bare.get_by_text("How often is it paid?")).to_be_visible()
    expect(bare.get_by_text("lies between")).to_be_hidden()
    bare.get_by_text("Answer", exact=True).first.click()
    expect(bare.get_by_text("lies between")).to_be_visible()
    bare.context.close()


def test_in_jupyterlab_its_keys_answer_and_the_notebook_stays_as_it_is(page: Page, tmp_path: Path):
    code = """from labkit.widgets import Question, Quiz
one = Question("Which?", {"W2": "No.", "W3": "Yes."}, "W3")
Quiz(one, Question("How many?", {2: "Both.", 1: "And the other?"}, 2))"""
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)"}}
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)], metadata=kernel)
    nbformat.write(book, tmp_path / "quiz.ipynb")
    with jupyterlab(tmp_path) as address:
        page.goto(address.format("quiz.ipynb"))
        expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=PATIENCE)
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        first = page.locator(".qz").get_by_role("radio", name="W2")
        first.focus(timeout=PATIENCE)
        page.keyboard.press("Space")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(question(page.locator(".qz"), 1).get_by_role("status")).to_contain_text("Right.")
        page.get_by_role("textbox", name="Your number").fill("2")
        page.keyboard.press("Enter")
        expect(page.locator(".qz-score")).to_have_text("2 of 2 right")
        expect(page.locator(".jp-CodeCell")).to_have_count(1)
        found = Axe().run(page, context=".qz")
        assert found.violations_count == 0, found.generate_report()
