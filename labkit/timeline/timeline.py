"""What happened to one run, side by side: what its processes did, what our effect ledger says, what the provider did.

`Timeline.data()` is the whole of it as plain data; `text` and `svg` only draw that.
"""

from __future__ import annotations

from typing import Any

import msgspec

from labkit.check.repeats import same_identity, same_request
from labkit.check.windows import MEANING
from labkit.effects.ledger import Entry
from labkit.effects.policies import POLICIES
from labkit.model import Run
from labkit.provider.protocol import Entry as Outside
from labkit.timeline.operations import Operation, describe, follow_ledger, operations, place, settle
from labkit.timeline.trace import ProcessTrace


class Lane(msgspec.Struct, kw_only=True):
    """One process on the timeline. `killed_at` and `window` are empty unless it was killed."""

    number: int
    pid: int
    status: str
    killed_at: str = ""
    window: str = ""
    operations: list[Operation]

    @property
    def ending(self) -> str:
        """How the process ended, in one sentence."""
        if not self.killed_at:
            return f"process {self.number} ended: {self.status}"
        window = f"{self.window}: " if self.window != "between" else ""
        return f"process {self.number} was killed at {self.killed_at}, {window}{MEANING[self.window]}"


class Finding(msgspec.Struct, kw_only=True):
    """Something that stands out: `mark` is duplicate, question, again, lost, ambiguous, waiting or fine."""

    mark: str
    text: str


class Timeline(msgspec.Struct, kw_only=True):
    """One run, drawn: `str()` for a terminal, `_repr_html_` for a notebook, `data()` for a program."""

    run_id: str
    workflow: str
    engine: str
    policy: str
    status: str
    reason: str
    lanes: list[Lane]
    effects: list[Entry]
    outside: list[Outside]

    @classmethod
    def of(
        cls,
        run: Run[Any],
        processes: list[ProcessTrace],
        effects: list[Entry],
        outside: list[Outside],
        *,
        engine: str,
        policy: str,
    ) -> Timeline:
        """The timeline of `run` from the traces of its processes, its effect ledger and the provider's ledger."""
        made = [operations(process, processes[at + 1 :]) for at, process in enumerate(processes)]
        follow_ledger(made, {entry.effect for entry in effects})
        place(outside, processes, made)
        settle(made, effects)
        return cls(
            run_id=run.run_id,
            workflow=f"{run.workflow_id} {run.workflow_version}",
            engine=engine,
            policy=policy,
            status=run.status,
            reason=run.reason,
            lanes=[_lane(process, ops) for process, ops in zip(processes, made, strict=True)],
            effects=effects,
            outside=outside,
        )

    @property
    def title(self) -> str:
        """The run in one line."""
        return f"{self.run_id}: {self.workflow} on {self.engine}, policy {self.policy}: {self.status}"

    @property
    def keeps_ledger(self) -> bool:
        """Whether its policy writes effects into our ledger."""
        return bool(self.effects) or (self.policy in POLICIES and POLICIES[self.policy].tracks)

    @property
    def findings(self) -> list[Finding]:
        """What stands out, in words; a single `fine` when nothing does."""
        times: dict[tuple[str, str], list[Outside]] = {}
        for entry in self.outside:
            times.setdefault((entry.kind, entry.subject), []).append(entry)
        found = []
        for (kind, _), entries in times.items():
            if len(entries) > 1 and kind in ("effect", "activity"):
                mark, verb = ("duplicate", "executed") if kind == "effect" else ("again", "called")
                what = " and ".join(describe(entry) for entry in entries) if kind == "effect" else describe(entries[0])
                found.append(Finding(mark=mark, text=f"{verb} {len(entries)} times: {what}"))
        found += [Finding(mark="duplicate", text=text) for text in same_identity(self.outside)]
        found += [Finding(mark="question", text=text) for text in same_request(self.outside)]
        for effect in self.effects:
            if effect.status == "ambiguous":
                text = f"{effect.effect_key}: {effect.last_error}; {effect.reconcile}"
                found.append(Finding(mark="ambiguous", text=text))
            elif effect.status == "confirmed" and ("effect", effect.subject) not in times:
                found.append(Finding(mark="lost", text=f"{effect.effect_key} is confirmed, the provider has none"))
        told = any(effect.status == "ambiguous" and effect.effect_key in self.reason for effect in self.effects)
        if self.status.startswith("waiting") and self.reason and not told:
            found.append(Finding(mark="waiting", text=self.reason))
        return found or [Finding(mark="fine", text=self._fine())]

    def _fine(self) -> str:
        """What is said when nothing stands out: calls that were recognised as repeats are named."""
        said = "each effect happened at most once, and no activity was called again"
        calls = [each for lane in self.lanes for each in lane.operations if each.name == "call" and each.repeated]
        steps = ", ".join(dict.fromkeys(each.step for each in calls))
        return f"{said}; the repeated call of {steps} was recognised by its key" if steps else said

    def data(self) -> dict[str, Any]:
        """All of it as plain JSON data."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        effects = [{name: row[name] for name in _EFFECT_FIELDS} for row in map(msgspec.to_builtins, self.effects)]
        return {**plain, "effects": effects, "findings": msgspec.to_builtins(self.findings)}

    def svg(self) -> str:
        """The picture as one self-contained SVG text."""
        from labkit.timeline.svg import draw

        return draw(self)

    def _repr_html_(self) -> str:
        from labkit.timeline.page import page

        return page(self)

    def __rich__(self) -> Any:
        from labkit.timeline.text import table

        return table(self)

    def __str__(self) -> str:
        from labkit.timeline.text import plain

        return plain(self)

    __repr__ = __str__


_EFFECT_FIELDS = ("effect_key", "step", "target", "operation", "status", "attempts", "receipt_id", "last_error")


def _lane(process: ProcessTrace, ops: list[Operation]) -> Lane:
    return Lane(
        number=process.number,
        pid=process.pid,
        status=process.status,
        killed_at=process.killed_at,
        window=process.window,
        operations=ops,
    )
