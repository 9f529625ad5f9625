"""The crash that was chosen: where each engine that is shown dies for it, and what follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from labkit.lab.crash_points import CrashPoint
from labkit.widgets.rehearsal import Death, Told
from labkit.widgets.scene import Scene


class Chosen(NamedTuple):
    """A point of the first processes, and perhaps one (`second`) of those that follow, on some engines of a scene.

    `crashed` says whether it was let happen.
    """

    scene: Scene
    engines: Sequence[str]
    crashed: bool
    at: CrashPoint
    second: CrashPoint | None = None

    def first_deaths(self) -> dict[str, Death]:
        """Where the first process of each engine dies; one that has no such point is left out."""
        found = self.scene.deaths(self.at)
        return {engine: found[engine] for engine in self.engines if engine in found}

    def deaths(self) -> dict[str, list[Death]]:
        """The same, each with the death of its successor if a second crash is asked for, and it has that point."""
        first = self.first_deaths()
        if self.second is None:
            return {engine: [death] for engine, death in first.items()}
        return self.scene.second_deaths(first, self.second)

    def told(self) -> dict[str, Told]:
        """What follows, by engine; the undisturbed runs while nothing was let happen."""
        rehearsals = self.scene.rehearsals
        if not self.crashed:
            return {engine: rehearsals[engine].undisturbed() for engine in self.engines}
        return {engine: rehearsals[engine].after(deaths) for engine, deaths in self.deaths().items()}

    def lacking(self) -> list[str]:
        """A sentence for each engine on which nothing was crashed, or no second time: it has no such point."""
        if not self.crashed:
            return []
        found = self.deaths()
        lacks = {engine: self.at.lacks for engine in self.engines if engine not in found}
        if self.second:
            again = f"{self.second.lacks} after its first crash"
            lacks |= {engine: again for engine, deaths in found.items() if len(deaths) == 1}
        return [f"{engine} {text}: nothing was crashed" for engine, text in lacks.items()]
