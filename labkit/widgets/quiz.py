"""Questions that answer at once: in a notebook, in an exported page without a kernel, and as text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any, Self

import anywidget
import traitlets as t

from labkit.errors import InvalidInput
from labkit.widgets.page import COMMON, script
from labkit.widgets.questions import Question, as_data, as_html, as_text, confirm, read_questions

HERE = Path(__file__).parent
NOTEBOOKS = HERE.parents[1] / "notebooks"
HEADING = "## Check yourself"
ESM = COMMON + (HERE / "quiz.js").read_text("utf-8")
CSS = (HERE / "quiz.css").read_text("utf-8")
# The code of the widget, and in place of a notebook's model one that only keeps what it is given.
ALONE = """<div class="qz-alone">{static}</div>
<style>{css}</style>
<script type="module">
{esm}
const kept = {state};
const heard = [];
const model = {{
  get: (name) => kept[name],
  set(name, value) {{
    kept[name] = value;
    heard.forEach((each) => each());
  }},
  on: (_, each) => heard.push(each),
  off() {{}},
  save_changes() {{}},
}};
const here = document.querySelector(".qz-alone:not([data-alive])");
here.dataset.alive = "yes";
here.replaceChildren();
render({{ model, el: here }});
</script>"""
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 0 auto; padding: 16px; max-width: 900px; background: Canvas; color: CanvasText; }}
</style>
</head>
<body><main><h1>{title}</h1>{inner}</main></body>
</html>
"""


class Quiz(anywidget.AnyWidget):
    """Questions to check yourself. Each try is answered at once, and says why.

    `given` holds what was last tried: the number of a question, as text, and the names of its choices. `to_html()` is
    the same as a page of its own, `to_text()` holds questions first and answers below. Raises InvalidInput for no
    question at all.
    """

    _esm = ESM
    _css = CSS
    questions: t.List[Any] = t.List().tag(sync=True)
    given = t.Dict().tag(sync=True)

    def __init__(self, *questions: Question) -> None:
        if not questions:
            raise InvalidInput("a quiz without questions", next="give one or more Question(text, choices, right)")
        self.asked = list(questions)
        super().__init__(questions=[as_data(each) for each in questions])

    @classmethod
    def of_chapter(cls, chapter: str | Path, measured: Mapping[int, Any] | None = None) -> Self:
        """The questions under "Check yourself" in a notebook: `00_start`, or the path of an .ipynb file.

        `measured` holds, by the number of a question, what the chapter has measured: its right answer must say so.
        Raises InvalidInput when it does not, and when there is no such notebook, heading or question.
        """
        questions = read_questions(text_of(Path(chapter)))
        for number, value in (measured or {}).items():
            if number not in range(1, len(questions) + 1):
                raise InvalidInput(f"{chapter} has no question {number}, it has {len(questions)}")
            confirm(questions[number - 1], value)
        return cls(*questions)

    def to_text(self) -> str:
        """All questions and choices, then all answers with their explanations."""
        return as_text(self.asked)

    def to_html(self, path: str | Path | None = None, *, title: str = "Check yourself") -> str:
        """One page that needs neither kernel nor network; written to `path` if one is given."""
        text = PAGE.format(title=escape(title), inner=self.fragment())
        if path is not None:
            Path(path).write_text(text, "utf-8")
        return text

    def fragment(self) -> str:
        """HTML for a page of somebody else's: it works where scripts run, and can be read where they do not."""
        state = json.dumps({"questions": self.questions, "given": {}}).replace("<", "\\u003c")
        return ALONE.format(static=as_html(self.asked), css=CSS, esm=script(ESM), state=state)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        return {**data, "text/html": self.fragment(), "text/plain": self.to_text()}, metadata


def text_of(chapter: Path) -> str:
    """The Markdown cell of a notebook that checks the reader; raise InvalidInput when it is not there."""
    path = chapter if chapter.suffix else NOTEBOOKS / f"{chapter}.ipynb"
    try:
        cells: Iterable[dict[str, Any]] = json.loads(path.read_text("utf-8"))["cells"]
    except (OSError, ValueError, KeyError) as error:
        raise InvalidInput(
            f"there is no notebook {path.name} to take questions from: {error}", next="give the path of an .ipynb file"
        ) from error
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    found = [text for text in texts if text.startswith(HEADING)]
    if not found:
        raise InvalidInput(f"no cell of {path.name} begins with {HEADING!r}", next="make notebooks brings it back")
    return found[0]
