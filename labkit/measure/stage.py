"""Runs the conformance checks of a stack: each on a new run, each step of it in a real process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from labkit.bench.job import Outside
from labkit.check.evidence import activities_repeated, executed_steps
from labkit.errors import LabError, Unsupported
from labkit.measure.job import Answer
from labkit.measure.trial import STATUSES, Cell, Site, answer_of
from labkit.stacks.conformance import CHECKS, Finding, Seen, Verb


def conformance(site: Site, stack: str) -> Iterator[tuple[str, Finding]]:
    """Every check by name, and how it came out for `stack`, one after another."""
    for number, (name, check) in enumerate(CHECKS.items(), 1):
        with site.world(f"conformance-{number}") as world:
            try:
                yield name, check(RealStage(site, stack, world))
            except Unsupported as lacking:
                yield name, Finding("unsupported", lacking.what)
            except Exception as error:  # of an adapter that does something else than it should
                yield name, Finding.not_run(error)


class RealStage:
    """A `Stage` whose calls are real processes, in the world of one check. One that raises has `failed`."""

    def __init__(self, site: Site, stack: str, world: Outside) -> None:
        self._site, self._world, self._count = site, world, 0
        self._stack = stack

    def __call__(self, verb: Verb, *, tap: str = "", argument: str = "", change: str = "") -> Seen:
        """Let a process do `verb`; see `Stage`."""
        self._count += 1
        cell = Cell(stack=self._stack, policy="bare", window="W1", effect="execute_refund")
        more: dict[str, Any] = {"tap": tap, "argument": argument, "change": change}
        job = self._site.job(cell, self._world, self._count, verb, **more)
        told = answer_of(job, self._site.launchers[0].run(job))
        if tap and told.status != "killed":
            raise LabError(f"{verb} did not come to {tap}: {told.status} {told.detail}".strip())
        if told.status == "unsupported":
            raise Unsupported(told.detail)
        if told.status not in (*STATUSES, "killed", "seen"):
            raise LabError(f"{verb}: {told.status}, {told.detail}")
        return self._seen(told)

    def _seen(self, told: Answer) -> Seen:
        entries = self._world.entries()
        return Seen(
            status=told.status,
            facts=told.facts,
            next_step=told.next_step,
            points=told.points,
            executed=executed_steps(entries),
            paid=activities_repeated(entries),
            session=told.session,
            detail=told.detail,
        )
