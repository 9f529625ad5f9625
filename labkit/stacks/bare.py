"""The control: plain Python without a framework. Nothing is saved, or the facts are saved to a file after each step."""

from __future__ import annotations

import json
import os
from pathlib import Path

from labkit.stacks.base import Desk, Facts, Place, Restored, Stack, Standing


class Script(Stack):
    """A script that runs from top to bottom: a new process knows nothing of the old one."""

    name = "bare"

    def start(self, desk: Desk, place: Place) -> Standing:
        """Run every step; the manager is at hand."""
        facts: Facts = {"approved": True}
        for step in desk.plan:
            facts |= desk.do(step, facts)
        return Standing("completed", facts)

    def resume(self, desk: Desk, place: Place) -> Standing:
        """There is only one way to go on: from the top."""
        return self.start(desk, place)

    def restored(self, desk: Desk, place: Place) -> Restored:
        """Nothing comes back."""
        return Restored({}, "")


class SavedScript(Stack):
    """The same script, which writes the facts and the name of the next step to a file after each step."""

    name = "bare-saved"

    def start(self, desk: Desk, place: Place) -> Standing:
        """Run until the manager is needed."""
        return self._go_on(desk, place, {}, desk.plan[0])

    def approve(self, desk: Desk, place: Place) -> Standing:
        """Put the manager's word into the facts and go on."""
        facts, step = self.restored(desk, place)
        return self._go_on(desk, place, facts | {"approved": True}, step)

    def resume(self, desk: Desk, place: Place) -> Standing:
        """Read the file and go on where it says."""
        return self._go_on(desk, place, *self.restored(desk, place))

    def restored(self, desk: Desk, place: Place) -> Restored:
        """What the file says; without a file the first step comes next."""
        if not _file(place).exists():
            return Restored({}, desk.plan[0])
        saved = json.loads(_file(place).read_text("utf-8"))
        return Restored(saved["facts"], saved["next"])

    def _go_on(self, desk: Desk, place: Place, facts: Facts, step: str) -> Standing:
        if step and step not in desk.plan:
            return Standing("failed", facts, f"the code has no step {step}")
        for name in desk.plan[desk.plan.index(step) :] if step else ():
            if name == "manager_approval" and not facts.get("approved"):
                return Standing("waiting", facts, desk.question(facts))
            facts = facts | desk.do(name, facts)
            _save(place, facts, _after(desk, name))
        return Standing("completed", facts)


STACKS = (Script(), SavedScript())


def _after(desk: Desk, step: str) -> str:
    following = desk.plan[desk.plan.index(step) + 1 :]
    return following[0] if following else ""


def _file(place: Place) -> Path:
    return place.folder / f"{place.run_id}.json"


def _save(place: Place, facts: Facts, step: str) -> None:
    """Write beside the file, then rename: a reader finds the old or the new content, never half of one."""
    beside = _file(place).with_suffix(f".{os.getpid()}")
    with beside.open("w", encoding="utf-8") as file:
        json.dump({"facts": facts, "next": step}, file)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(_file(place))
