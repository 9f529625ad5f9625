"""What the lab hands back: a run with what to do next, and what is known of a process that was killed."""

from __future__ import annotations

from html import escape
from typing import Any

import msgspec

from labkit.check.verdict import unreached
from labkit.check.windows import MEANING
from labkit.effects.ledger import Entry
from labkit.errors import InvalidInput
from labkit.model import Run, State, Workflow
from labkit.provider.protocol import Entry as Outside
from labkit.timeline.operations import describe

ADVICE = {
    "waiting_for_approval": "lab.approve({id!r}), then lab.resume({id!r})",
    "waiting_for_person": "lab.effects({id!r}), then lab.resolve(effect_key, verdict, receipt) and lab.resume({id!r})",
    "waiting_for_timer": "lab.resume({id!r}) once the time has come",
    "running": "lab.resume({id!r})",
    "quarantined": "lab.history({id!r})",
}


class Shown:
    """Shows `lines()`, pairs of a name and a text, as aligned text or as an HTML table."""

    def lines(self) -> list[tuple[str, str]]:
        """What is shown, in order."""
        raise NotImplementedError

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.lines())
        return "\n".join(f"{name:<{width}}  {text}" for name, text in self.lines())

    __repr__ = __str__

    def __rich__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        cell = '<th style="text-align:left;vertical-align:top">{}</th><td style="text-align:left">{}</td>'
        rows = "".join(f"<tr>{cell.format(escape(name), escape(text))}</tr>" for name, text in self.lines())
        return f"<table>{rows}</table>"


class RunView(Shown):
    """A run as it stands. `run` is the whole record; the properties are what one looks at most."""

    def __init__(self, run: Run[Any], engine: str) -> None:
        self.run, self.engine = run, engine

    @property
    def id(self) -> str:
        """The run id."""
        return self.run.run_id

    @property
    def status(self) -> str:
        """The run's status."""
        return self.run.status

    @property
    def state(self) -> State:
        """The workflow's own state."""
        state: State = self.run.data
        return state

    @property
    def next(self) -> str:
        """What to type next."""
        return ADVICE.get(self.status, "lab.timeline({id!r}) shows what happened").format(id=self.id)

    @property
    def missing(self) -> list[str]:
        """Where the run stopped short of its end; empty for one that ended."""
        return unreached(self.run)

    @property
    def inputs(self) -> dict[str, Any]:
        """What the run was begun with, as far as it is recorded: 200 characters of each input, read as JSON or text."""
        pairs = (ref.partition(":") for ref in self.run.input_refs)
        return {name: _value(text) for name, _, text in pairs}

    def require(self, workflow: Workflow[Any], inputs: dict[str, Any]) -> None:
        """Raise InvalidInput unless the run was begun with this workflow and, where they are given, these inputs."""
        asked = [f"{name}:{value}"[:200] for name, value in inputs.items()]  # as a run records them
        for kind, wish, own in (
            ("workflow", [workflow.name], [self.run.workflow_id]),
            ("inputs", asked or self.run.input_refs, self.run.input_refs),
        ):
            if sorted(wish) != sorted(own):
                raise InvalidInput(
                    f"run {self.id} was begun with {kind} {', '.join(own)}, not {', '.join(wish)}",
                    safe="the run is untouched",
                    next=f"leave the {kind} out, or use another run id",
                )

    def data(self) -> dict[str, Any]:
        """The whole record as plain JSON data, with the engine."""
        return {**msgspec.to_builtins(self.run), "engine": self.engine}

    def lines(self) -> list[tuple[str, str]]:
        """Run, status, reason, steps, what is next."""
        run = self.run
        shown = [
            ("run", f"{run.run_id}: {run.workflow_id} {run.workflow_version} on {self.engine}, policy {run.policy}"),
            ("status", run.status),
            ("reason", run.reason),
            ("completed", ", ".join(run.completed_steps) or "no step yet"),
            ("next", self.next),
        ]
        return [(name, text) for name, text in shown if text]


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


class Killed(Shown):
    """A process that died, and what is known now: `run` is None when nothing of the run was written.

    `exit_status` is None when the crash was only simulated. `outside` is what the provider has of the run.
    """

    def __init__(
        self,
        *,
        run_id: str,
        tap: str,
        window: str,
        pid: int,
        exit_status: int | None,
        died_at: str,
        run: RunView | None,
        effects: list[Entry],
        outside: list[Outside],
    ) -> None:
        self.run_id, self.tap, self.window = run_id, tap, window
        self.pid, self.exit_status, self.died_at = pid, exit_status, died_at
        self.run, self.effects, self.outside = run, effects, outside

    @property
    def next(self) -> str:
        """What to type next."""
        return f"lab.resume({self.run_id!r})" if self.run else "start it again: nothing of the run was written"

    def data(self) -> dict[str, Any]:
        """What is known of the death, as plain JSON data."""
        names = ("run_id", "tap", "window", "pid", "exit_status", "died_at")
        return {name: getattr(self, name) for name in names} | {"status": self.run.status if self.run else None}

    def lines(self) -> list[tuple[str, str]]:
        """Who died where, what our database knows, what the provider knows, what is next."""
        how = f"process {self.pid} ended with status {self.exit_status}"
        if self.exit_status is None:
            how = "simulated crash"
        known = "no such run"
        if self.run:
            known = f"{self.run.status}, completed: {', '.join(self.run.run.completed_steps) or 'no step'}"
        ours = [f"{entry.step}: {entry.target} {entry.status}" for entry in self.effects]
        theirs = [describe(entry) for entry in self.outside if entry.kind != "activity"]
        return [
            ("killed", f"{how} at {self.died_at}"),
            ("at", self.tap),
            ("window", f"{self.window}: {MEANING[self.window]}"),
            ("database", known),
            ("effect ledger", "; ".join(ours) or "knows of no effect"),
            ("provider", "; ".join(theirs) or "has executed no effect"),
            ("next", self.next),
        ]
