"""Where a process can die around one effect, and what the next process finds, decides and does: lived, not foretold."""

from __future__ import annotations

from typing import Any

from labkit.check.windows import PROVIDER_CALLS, windows
from labkit.effects import ledger
from labkit.effects.decision import decide
from labkit.effects.ledger import Entry
from labkit.effects.policies import evidence
from labkit.errors import InvalidInput
from labkit.scenario import Scenario
from labkit.sim.lives import Image
from labkit.store.sqlite import SqliteStore
from labkit.widgets.rehearsal import Death, Rehearsal
from labkit.widgets.views.machine import TRANSITIONS


class Deaths:
    """One scenario around the effect of a step, the first one by default; raise InvalidInput when there is none."""

    def __init__(self, scenario: Scenario, effect: str | None = None) -> None:
        self.rehearsal = Rehearsal(scenario)
        life = self.rehearsal.first.life
        steps = list(dict.fromkeys(tap.step for tap in life.taps if tap.operation in PROVIDER_CALLS))
        self.effect = effect or next(iter(steps), "")
        if self.effect not in steps:
            raise InvalidInput(
                f"no effect in step {effect or 'any'!r}: steps with an effect are {', '.join(steps) or 'none'}",
                safe="nothing was run",
            )
        self._windows = windows(life.taps)

    def all(self) -> list[dict[str, Any]]:
        """One record for each tap of the effect's step, in the order in which the first process passes them."""
        taps = self.rehearsal.first.life.taps
        return [self._record(at) for at, tap in enumerate(taps) if tap.step == self.effect]

    def _record(self, at: int) -> dict[str, Any]:
        death: Death = (self.rehearsal.first, at)
        life = self.rehearsal.first.life
        image = life.images[life.image_of[at]]
        told = self.rehearsal.after([death])
        entry = self._entry(image)
        made = [op for op in told.timeline.lanes[-1].operations if op.step == self.effect]
        path = self._path(entry, [op.ledger for op in made if op.ledger])
        calls = any(op.name == "call" for op in made)
        return {
            "tap": str(life.taps[at]),
            "window": self._windows[at],
            "found": path[0],
            "tracked": self.rehearsal.simulation.runner.parts.policy.tracks,
            "decided": self._decided(entry),
            "action": self._decided(entry) or ("execute" if calls else "advance"),
            "path": path,
            "did": [op.text for op in made],
            "then": self._executed(list(image.world.entries)),
            "end": self._executed(told.timeline.outside),
            "status": told.timeline.status,
            "verdict": told.verdict,
            "broken": list(dict.fromkeys(each.invariant for each in told.violations)),
        }

    def _decided(self, entry: Entry | None) -> str:
        """What `decide` says about the entry; empty where there is none to ask about."""
        run = self.rehearsal.first.life.evidence.run
        assert run is not None
        return decide(evidence(run, entry)) if entry else ""

    def _path(self, entry: Entry | None, later: list[str]) -> list[str]:
        """The states that the effect goes through, from the one in which it is found to its last."""
        path = [entry.status if entry else "none"]
        for state in later:
            if (path[-1], state) in TRANSITIONS:  # a commit only repeats what was planned before
                path.append(state)
        return path

    def _entry(self, image: Image) -> Entry | None:
        """The effect as our ledger has it in what survived."""
        if not image.database:
            return None
        store = SqliteStore()
        store.restore(image.database)
        try:
            known = ledger.entries(store, self.rehearsal.scenario.run_id)
        finally:
            store.close()
        return next((entry for entry in known if entry.step == self.effect), None)

    def _executed(self, entries: list[Any]) -> int:
        """How often the provider has done the effect."""
        end = f".{self.effect}"
        return sum(entry.kind == "effect" and entry.subject.endswith(end) for entry in entries)
