"""Self-check questions: every choice says why, the right one is what was measured, and text is enough."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labkit.errors import InvalidInput
from labkit.widgets import Question, Quiz
from labkit.widgets.questions import read_questions

TWICE = "it is paid 2 times"
ONE = Question("How often is it *paid*?", {"once": "No: `W3` lies between.", TWICE: "Yes."}, TWICE)
MANY = Question("Which are safe?", {"W1": "Nothing was tried.", "W3": "It was.", "W5": "It is known."}, ["W1", "W5"])
ORDER = Question(
    "What comes first?",
    {"commit": "It is known.", "call": "It is tried.", "intent": "It is planned."},
    ("intent", "call", "commit"),
)
NUMBER = Question("How many?", {2: "One for each.", 1: "And the other?"}, 2)
MARKDOWN = """## Check yourself

**1.** How often
is it paid?

- **a** once
- **b** it is paid
  2 times

<details><summary>Answer</summary>

- **a** ✗ No, `W3`.
- **b** ✓ Yes.

</details>

**2.** Which? *Choose all that hold.*

- **a** W1
- **b** W3

<details><summary>Answer</summary>

- **a** ✓ First.
- **b** ✓ Second.

</details>

**3.** How many?

<details><summary>Answer</summary>

- **2** ✓ One for each.
- **1.5** ✗ And the rest?

</details>

**4.** What first? *Put them in order.*

- **a** pay
- **b** plan

<details><summary>Answer</summary>

- **b** ✓ First.
- **a** ✓ Second.

</details>
"""


def chapter(folder: Path, text: str = MARKDOWN) -> Path:
    """A notebook with one cell."""
    path = folder / "chapter.ipynb"
    cells = [{"cell_type": "markdown", "source": text.splitlines(keepends=True)}]
    path.write_text(json.dumps({"cells": cells}), "utf-8")
    return path


@pytest.mark.parametrize(
    ("choices", "right", "said"),
    [
        ({"yes": "so", "no": " "}, "yes", "does not explain ['no']"),
        ({"yes": "so", "no": "not"}, "maybe", "right is 'maybe'"),
        ({"yes": "so", "no": "not"}, [], "right is []"),
        ({"yes": "so"}, "yes", "expected two or more"),
        ({"yes": "so", "no": "not"}, ("no",), "orders ['no']"),
        ({"yes": "so", "no": "not"}, ("yes", "no"), "in the right order"),
    ],
)
def test_a_question_that_teaches_nothing_is_refused(choices, right, said):
    with pytest.raises(InvalidInput) as refused:
        Question("Really?", choices, right)
    assert said in refused.value.what


def test_a_chapter_is_read_as_its_questions():
    one, many, number, order = read_questions(MARKDOWN)
    assert (order.kind, order.right, list(order.choices)) == ("order", ("plan", "pay"), ["pay", "plan"])
    assert order.choices == {"plan": "First.", "pay": "Second."}
    assert one == Question("How often is it paid?", {"once": "No, `W3`.", TWICE: "Yes."}, TWICE)
    assert (many.kind, many.right) == ("many", ["W1", "W3"])
    assert (number.kind, number.right, number.choices) == ("number", 2, {2: "One for each.", 1.5: "And the rest?"})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("**2.**", "**4.**"),  # a question that would be skipped
        ("**3.** How many?", "How many?"),
        ("- **b** ✓ Yes.\n", ""),  # a choice without an explanation
        ("- **a** ✗ No, `W3`.", "- **a** ✓ No, `W3`."),  # two are right, and it is not said
        ("- **2** ✓", "- **2** ✗"),  # none is right
        ("- **b** ✓ First.\n- **a** ✓ Second.", "- **a** ✓ Second.\n- **b** ✓ First."),  # in order as it is offered
        ("- **b** ✓ First.", "- **b** ✗ First."),  # one has no place
    ],
)
def test_a_question_that_cannot_be_read_is_never_left_out(old, new):
    assert old in MARKDOWN
    with pytest.raises(InvalidInput):
        read_questions(MARKDOWN.replace(old, new))


def test_an_answer_must_be_what_the_chapter_has_measured(tmp_path):
    path = chapter(tmp_path)
    assert len(Quiz.of_chapter(path, measured={1: 2, 3: 2}).questions) == 4
    for wrong in ({1: 3}, {3: 1.5}, {5: 2}):
        with pytest.raises(InvalidInput):
            Quiz.of_chapter(path, measured=wrong)


def test_a_chapter_without_questions_says_what_is_missing(tmp_path):
    with pytest.raises(InvalidInput, match=r"no notebook none\.ipynb"):
        Quiz.of_chapter(tmp_path / "none.ipynb")
    with pytest.raises(InvalidInput, match="begins with '## Check yourself'"):
        Quiz.of_chapter(chapter(tmp_path, "# Something else"))
    with pytest.raises(InvalidInput, match="without questions"):
        Quiz()


def test_as_text_all_questions_stand_before_all_answers():
    text = Quiz(ONE, MANY, NUMBER, ORDER).to_text()
    asked, answered = text.split("Answers")
    for each in (ONE, MANY, NUMBER, ORDER):
        assert each.text in asked
        assert all(why in answered and why not in asked for why in each.choices.values())
    assert "- W3" in asked and "✗ W3: It was." in answered and "✓ 2: One for each." in answered
    assert asked.index("- commit") < asked.index("- intent") and answered.index("✓ intent:") < answered.index(
        "✓ commit:"
    )


def test_a_notebook_shows_the_widget_or_a_page_or_text():
    data, _ = Quiz(ONE)._repr_mimebundle_()
    assert set(data) >= {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"}
    assert data["text/plain"] == Quiz(ONE).to_text()


def test_a_page_asks_nobody_and_runs_nothing_that_a_question_holds(tmp_path):
    evil = Question("</script><img src=x onerror=alert(1)>", {"<b>a</b>": "</style>x", "b": "no"}, "b")
    page = Quiz(evil).to_html(tmp_path / "quiz.html")
    assert (tmp_path / "quiz.html").read_text("utf-8") == page
    assert "<img" not in page and "<b>a</b>" not in page and page.count("</script>") == 1
    assert "http://" not in page and "https://" not in page and "default-src 'none'" in page
