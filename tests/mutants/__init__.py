"""Deliberately broken parts of the lab. A checker counts only if it flags every one of them.

A mutant is a function that puts one broken part in the place of the sound one, under its name. Its docstring says
which real bug it imitates; its mark says where to look for it and which invariant has to be named.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from pytest import MonkeyPatch

from labkit.cases.refund import refund
from labkit.model import Workflow
from labkit.provider.faults import Fault
from labkit.scenario import Scenario

FILES = (
    "approvals",
    "effects",
    "engines",
    "identity",
    "outbox",
    "owners",
    "promises",
    "recovery",
    "runners",
    "workflows",
)
MUTANTS: list[Mutant] = []


class Mutant(NamedTuple):
    """One broken part. `install(patch)` puts it in; the scenario is sound without it and breaks `breaks` with it."""

    name: str
    breaks: str
    install: Callable[[MonkeyPatch], None]
    scenario: Scenario
    crashes: int
    workers: int

    def __str__(self) -> str:
        return self.name


def mutant(
    breaks: str,
    *,
    workflow: Workflow[Any] = refund,
    engine: str = "hybrid",
    policy: str = "ledger",
    provider: str = "dedup",
    faults: tuple[Fault, ...] = (),
    drift: bool = False,
    crashes: int = 1,
    workers: int = 1,
) -> Callable[[Callable[[MonkeyPatch], None]], Callable[[MonkeyPatch], None]]:
    """Mark a function that installs a mutant: looked for with one worker and crashes, or by two workers without any."""

    def register(install: Callable[[MonkeyPatch], None]) -> Callable[[MonkeyPatch], None]:
        scenario = Scenario(
            workflow=workflow,
            inputs=workflow.example,
            engine=engine,
            policy=policy,
            provider=provider,
            faults=faults,
            drift=drift,
        )
        MUTANTS.append(Mutant(install.__name__, breaks, install, scenario, crashes, workers))
        return install

    return register


for file in FILES:
    import_module(f"{__name__}.{file}")
