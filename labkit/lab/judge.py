"""A reader's prediction beside what was then seen: said plainly, and never an error."""

from __future__ import annotations

import re
from typing import Any

ASKED = "?"
GROUPS = re.compile(r"(?<=\d),(?=\d{3}\b)")  # 1,000 is a thousand, 99,80 is not
AMOUNTS = {"never": "0", "once": "1", "twice": "2", "thrice": "3", "true": "yes", "false": "no"}


def judged(prediction: Any, seen: Any) -> str:
    """One line that compares a number or a choice with what was seen; for two dicts, one line for each name in `seen`.

    Capital letters, spaces and quotes make no difference, nor does `twice` for 2. `"?"`, or anything empty, is no
    prediction.
    """
    if not isinstance(seen, dict):
        return _line(prediction, seen)
    given = prediction if isinstance(prediction, dict) else dict.fromkeys(seen, prediction)
    return "\n".join(f"{name}: {_line(given.get(name, ASKED), value)}" for name, value in seen.items())


def _line(prediction: Any, seen: Any) -> str:
    said = str(prediction).strip()
    if prediction is None or said in ("", ASKED):
        return f"It was {seen}. You have not predicted it: next time, write down what you expect."
    if _plain(said) == _plain(seen):
        return f"You said {said}, and so it was."
    return f"You said {said}; it was {seen}."


def _plain(value: Any) -> str:
    """The same text for all that means the same."""
    text = str(value).strip(" \t\n\"'.").casefold()
    text = AMOUNTS.get(text, text)
    try:
        return repr(float(GROUPS.sub("", text).replace(",", ".")))
    except ValueError:
        return text
