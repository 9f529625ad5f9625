"""Questions for self-check: plain data, and the Markdown in which a chapter holds them.

In a chapter a question is a number, a text, choices, and an answer that says of each choice why:

    **1.** How often is the customer paid?

    - **a** once
    - **b** twice

    <details><summary>Answer</summary>

    - **a** ✗ The next process calls again.
    - **b** ✓ The snapshot does not know of the first call.

    </details>

More than one may be right when the text ends in *Choose all that hold.* Without choices a number is asked for, and
the answer's items are numbers: the right one, and wrong ones that people often give. When the text ends in *Put them
in order.* all choices are to be ordered: the answer has them in the right order, each with ✓ and why it stands there.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

import msgspec

from labkit.errors import InvalidInput

ALL = "*Choose all that hold.*"
ORDER = "*Put them in order.*"
ANSWER = r"<details><summary>Answer</summary>\n\n(.+?)\n\n</details>"
BLOCK = re.compile(rf"(?s)\*\*(\d+)\.\*\* (.+?)\n\n(- \*\*.+?\n\n)?{ANSWER}")
ITEM = re.compile(r"(?ms)^- \*\*(\S+)\*\* (?:([✓✗]) )?(.+?)(?=\n- \*\*|\Z)")
SPAN = re.compile(r"`(?P<code>[^`]+)`|\*\*(?P<strong>[^*]+)\*\*|\*(?P<em>[^*]+)\*")
Number = int | float


class Question(msgspec.Struct, frozen=True):
    """A question; `choices` maps each answer that one may give to what is then said: why it is right, or not.

    `right` decides what is asked for. A text: that one choice. A list: all of these choices. A tuple: all choices, put
    in this order; they are offered in that of `choices`. A number: one types it, and `choices` maps numbers. Texts may
    hold `code`, *emphasis* and **strong**. Raises InvalidInput when a choice has no explanation, or no choice is right,
    or none is wrong.
    """

    text: str
    choices: dict[Any, str]
    right: str | list[str] | tuple[str, ...] | Number

    def __post_init__(self) -> None:
        where = f"question {self.text[:60]!r}"
        if lacking := [name for name, why in self.choices.items() if not why.strip()]:
            raise InvalidInput(
                f"{where} does not explain {lacking}", next="say of each choice why it is right or wrong"
            )
        if not self.answers or (lacking := [name for name in self.answers if name not in self.choices]):
            raise InvalidInput(f"{where}: right is {self.right!r}, the choices are {list(self.choices)}")
        if self.kind != "number" and len(self.choices) < 2:
            raise InvalidInput(f"{where} has {len(self.choices)} choice, expected two or more")
        if self.kind == "order" and sorted(self.answers) != sorted(self.choices):
            raise InvalidInput(f"{where} orders {self.answers}, the choices are {list(self.choices)}")
        if self.kind == "order" and self.answers == list(self.choices):
            raise InvalidInput(f"{where} offers its choices in the right order", next="offer them in another one")

    @property
    def kind(self) -> str:
        """What is asked for: `one` choice, `many` choices, all choices in `order`, or a `number`."""
        if isinstance(self.right, list | tuple):
            return "many" if isinstance(self.right, list) else "order"
        return "one" if isinstance(self.right, str) else "number"

    @property
    def answers(self) -> list[Any]:
        """The choices that are right, in their order."""
        return list(self.right) if isinstance(self.right, list | tuple) else [self.right]

    @property
    def explained(self) -> dict[Any, str]:
        """The choices as they are explained: in the right order where there is one."""
        return {name: self.choices[name] for name in self.answers} if self.kind == "order" else self.choices


def read_questions(markdown: str) -> list[Question]:
    """The questions that a Markdown text holds, in its order.

    Raises InvalidInput for a text that holds none, for numbers that are not 1, 2, 3 ..., and for a question whose
    choices and answer do not fit.
    """
    found = BLOCK.findall(markdown)
    numbers = [int(number) for number, *_ in found]
    if not found or numbers != list(range(1, markdown.count("<summary>Answer</summary>") + 1)):
        raise InvalidInput(f"the questions that can be read are {numbers}", next="see labkit/widgets/questions.py")
    return [question(" ".join(text.split()), choices, answer) for _, text, choices, answer in found]


def question(text: str, choices: str, answer: str) -> Question:
    """One question, from its text, its list of choices (may be empty) and the list of what is said of each."""
    offered = {key: " ".join(words.split()) for key, _, words in ITEM.findall(choices)}
    said = {key: (mark, " ".join(why.split())) for key, mark, why in ITEM.findall(answer)}
    if offered and (sorted(offered) != sorted(said) or (list(offered) != list(said) and not text.endswith(ORDER))):
        raise InvalidInput(f"{text!r} offers {list(offered)}, its answer speaks of {list(said)}")
    names: dict[str, Any] = offered or {key: msgspec.json.decode(key) for key in said}
    right = [names[key] for key, (mark, _) in said.items() if mark == "✓"]
    if text.endswith(ALL):
        return Question(text, {names[key]: why for key, (_, why) in said.items()}, right)
    if text.endswith(ORDER):
        return Question(text, {words: said[key][1] for key, words in offered.items()}, tuple(right))
    if len(right) != 1:
        raise InvalidInput(f"{text!r} has {len(right)} right answers, and does not end in {ALL} or {ORDER}")
    return Question(text, {names[key]: why for key, (_, why) in said.items()}, right[0])


def confirm(question: Question, measured: Any) -> None:
    """Raise InvalidInput unless the right answer is, or names, what a chapter has measured."""
    told = question.answers[0]
    same = told == measured if question.kind == "number" else re.search(rf"\b{re.escape(str(measured))}\b", told)
    if not same:
        raise InvalidInput(f"{question.text!r} is answered with {told!r}, and {measured!r} was measured")


def spans(text: str) -> list[list[str]]:
    """A text as pairs of what it is (`code`, `strong`, `em` or nothing) and its words."""
    pairs, end = [], 0
    for found in SPAN.finditer(text):
        pairs += [["", text[end : found.start()]], [found.lastgroup or "", found[found.lastgroup or 0]]]
        end = found.end()
    return [pair for pair in [*pairs, ["", text[end:]]] if pair[1]]


def markup(text: str) -> str:
    """The same as HTML."""
    return "".join(f"<{kind}>{escape(words)}</{kind}>" if kind else escape(words) for kind, words in spans(text))


def label(name: Any) -> str:
    """A choice as what is said of it begins: with a colon, and no full stop before it."""
    return f"{str(name).rstrip('.')}:"


def as_data(question: Question) -> dict[str, Any]:
    """The question for the page: plain data only."""
    choices = [
        {
            "name": str(name),
            "text": spans(str(name)),
            "said": spans(f"{label(name)} {why}"),
            "right": name in question.answers,
            "place": question.answers.index(name) if question.kind == "order" else 0,
        }
        for name, why in question.choices.items()
    ]
    return {"kind": question.kind, "text": spans(question.text), "choices": choices}


def as_text(questions: list[Question]) -> str:
    """All questions with their choices, and below them all answers with their explanations."""
    asked, answered = [], ["Answers"]
    for number, each in enumerate(questions, 1):
        shown = [] if each.kind == "number" else [f"   - {name}" for name in each.choices]
        asked.append("\n".join([f"{number}. {each.text}", *shown]))
        marks = {name: "✓" if name in each.answers else "✗" for name in each.choices}
        answered.append(
            "\n".join([f"{number}.", *(f"   {marks[n]} {label(n)} {why}" for n, why in each.explained.items())])
        )
    return "\n\n".join([*asked, *answered])


def as_html(questions: list[Question]) -> str:
    """The same as HTML without any code: each answer opens."""
    parts = []
    for each in questions:
        shown = "" if each.kind == "number" else "".join(f"<li>{markup(name)}</li>" for name in each.choices)
        said = "".join(
            f"<li>{'✓' if name in each.answers else '✗'} {markup(f'{label(name)} {why}')}</li>"
            for name, why in each.explained.items()
        )
        listed = f"<ul>{shown}</ul>" if shown else ""
        answer = f"<details><summary>Answer</summary><ul>{said}</ul></details>"
        parts.append(f"<li>{markup(each.text)}{listed}{answer}</li>")
    return f"<ol>{''.join(parts)}</ol>"
