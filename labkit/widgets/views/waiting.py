"""The board of what waits for a person: runs that ask, effects in doubt, and buttons that decide in the lab."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import escape
from typing import Any, ClassVar

import traitlets as t

from labkit.errors import InvalidInput, LabError
from labkit.lab.facade import Lab
from labkit.lab.view import RunView
from labkit.widgets.views.standing import waiting
from labkit.widgets.views.view import SYNC, View, esm

NOBODY = "Nothing waits for a person."
Asked = dict[str, str]
DOES: dict[str, Callable[[Lab, Asked], RunView]] = {
    "approve": lambda lab, asked: lab.approve(asked["run"]),
    "edit": lambda lab, asked: lab.approve(asked["run"], verdict="edited", changes=_changes(asked["given"])),
    "reject": lambda lab, asked: lab.approve(asked["run"], verdict="rejected"),
    "resume": lambda lab, asked: lab.resume(asked["run"]),
    "cancel": lambda lab, asked: lab.cancel(asked["run"]),
    "happened": lambda lab, asked: lab.resolve(asked["key"], "confirmed", asked["given"]),
    "not-done": lambda lab, asked: lab.resolve(asked["key"], "not-done"),
    "refused": lambda lab, asked: lab.resolve(asked["key"], "rejected"),
    "compensate": lambda lab, asked: lab.compensate(asked["key"]),
}


class WaitingBoard(View):
    """What waits for a person in `lab`, with the evidence of both sides, and buttons that call the lab.

    Each button asks once more before anything is done; afterwards the board reads the lab again, and `said` tells what
    came of it. The run that was decided stays in sight until the next refresh. Without a kernel the board only shows,
    and says what to type.
    """

    _esm = esm("waiting.js")
    KEPT: ClassVar[tuple[str, ...]] = ("title", "data", "said")
    said = t.Unicode("").tag(**SYNC)
    answered = t.Int(0).tag(**SYNC)

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        super().__init__(title="What waits for a person", data={"runs": waiting(lab)})
        self.on_msg(self._asked)

    def refresh(self) -> None:
        """Read the lab again."""
        self.data = {"runs": waiting(self.lab)}

    def to_table(self) -> str:
        """The board as a static HTML table."""
        rows = [
            "".join(f'<td style="text-align:left;vertical-align:top">{escape(text)}</td>' for text in row)
            for row in self._rows()
        ]
        head = "".join(f"<th>{name}</th>" for name in ("run", "status", "effect", "our ledger", "provider", "safe"))
        body = "".join(f"<tr>{row}</tr>" for row in rows) or f'<tr><td colspan="6">{NOBODY}</td></tr>'
        return (
            f"<table><caption>{escape(self.title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def to_text(self) -> str:
        """The board as text, a paragraph a run or effect."""
        names = ("run", "status", "effect", "ledger", "provider", "safe")
        told = [[f"{name:<9} {text}" for name, text in zip(names, row, strict=True) if text] for row in self._rows()]
        return "\n\n".join("\n".join(lines) for lines in told) or NOBODY

    def still(self) -> dict[str, str]:
        """The board as HTML."""
        return {"text/html": self.to_table()}

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = []
        for run in self.data["runs"]:
            rows.append((run["run"], run["status"], "", "", "", run.get("problem") or run["stands"]))
            rows += [
                (run["run"], "", each["what"], each["status"], "; ".join(each["outside"]) or "nothing", _safe(each))
                for each in run["effects"]
            ]
        return rows

    def _asked(self, _: Any, message: Any, buffers: Any) -> None:
        """A button was pressed, and confirmed."""
        try:
            asked = self._known(message)
            if asked:
                view = DOES[asked["do"]](self.lab, asked)
                became = "can go on" if view.status == "running" else f"is {view.status.replace('_', ' ')}"
                self.said = f"{view.id} {became} now"
            self.data = {"runs": waiting(self.lab, also=asked["run"] if asked else "")}
        except LabError as failure:
            self.said = f"not done: {failure}"
            self.refresh()
        finally:
            self.answered += 1

    def _known(self, message: Any) -> Asked | None:
        """The message, if it is an action that the board offers; None asks only to read again."""
        asked: Asked = {"given": "", **{name: str(value) for name, value in dict(message).items()}}
        if asked.get("do") == "refresh":
            self.said = ""
            return None
        for run in self.data["runs"]:
            for key, actions in [("", run["actions"]), *((each["key"], each["actions"]) for each in run["effects"])]:
                wanted = (asked.get("run"), asked.get("key", ""), asked.get("do"))
                if any((run["run"], key, action["do"]) == wanted for action in actions):
                    return asked
        raise InvalidInput(f"the board offers no {asked.get('do')!r}", safe="nothing was written", next="refresh it")


def _safe(effect: dict[str, Any]) -> str:
    return f"NOT SAFE: {effect['safe']}" if effect["at_risk"] else str(effect["safe"])


def _changes(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidInput(
            f"changes {text[:200]!r} are no JSON object", safe="nothing was written", next='{"amount": "20.00"}'
        )
    return found
