"""What one process of a framework is to do, and what it says of itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from labkit.bench.errand import Errand
from labkit.bench.job import Outside
from labkit.provider.wire import WorldInfo
from labkit.stacks.base import Place
from labkit.stacks.conformance import Verb

DRIVEN = ("start", "resume")
"""Verbs that take the run to its end, the manager approving."""


class Job(Errand, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One process: a stack (a name, or `module:attribute`), what it is to do, and on which run.

    `policy` is how effects are performed, as in `labkit.effects.policies`; `change` is that of `Place`; `shift` moves
    the process's clock by so many seconds; `argument` is what the verb needs.
    """

    stack: str
    verb: Verb
    policy: str
    run_id: str
    case: int
    url: str
    world: str
    info: WorldInfo | None = None
    services: dict[str, str] = msgspec.field(default_factory=dict)
    change: str = ""
    shift: float = 0.0
    argument: str = ""

    def place(self) -> Place:
        """Where the run lives."""
        return Place(folder=self.store, run_id=self.run_id, services=self.services, change=self.change)

    def client(self) -> Outside:
        """The provider's world, not yet connected."""
        return Outside(self.url, self.world, info=self.info)

    @property
    def store(self) -> Path:
        """The folder that belongs to the framework."""
        return Path(self.folder) / "store"

    @property
    def answer(self) -> Path:
        """The file that holds what the process says when it has come to its end."""
        return Path(self.folder) / f"answer-{self.number}.json"


class Answer(msgspec.Struct, kw_only=True, frozen=True):
    """What a process that came to its end says of its run.

    `status` is that of `Standing`, `seen` for what was only looked at, or `unsupported` or `no answer`. `session` says
    whether something was left of what an earlier process had in memory. `seconds` are those from its start to the first
    tap that it passed, or to its end when it passed none.
    """

    status: str
    facts: dict[str, Any] = {}
    detail: str = ""
    next_step: str = ""
    points: list[str] = []
    session: bool = False
    seconds: float = 0.0
