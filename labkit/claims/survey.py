"""Measure everything about some stacks: the cells of a campaign, the checks of the conformance, and the probes."""

from __future__ import annotations

import pkgutil
import shutil
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from labkit.claims.measured import Row, row_of_cell, rows_of_findings
from labkit.measure.campaign import run
from labkit.measure.conforming import findings_of
from labkit.measure.plan import Plan, versions
from labkit.measure.servers import services_for
from labkit.stacks import probes
from labkit.stacks.conformance import Finding

Progress = Callable[[str, int, int], None]
Probe = Callable[[Path, dict[str, str]], Finding]


class Survey(NamedTuple):
    """Every row about some stacks, and for each of the others why it could not be measured."""

    rows: list[Row]
    unable: dict[str, str]


def survey(plan: Plan, folder: Path, *, lanes: int = 2, tell: Progress = lambda what, done, of: None) -> Survey:
    """Measure all about the stacks of `plan`. Interrupted, the same call goes on with the cells where it was.

    `tell(what, done, of)` is told how far it is. Raises InvalidInput for an unknown stack.
    """
    report = run(plan, folder, lanes=lanes, progress=partial(tell, "cells"))
    rows = [row_of_cell(cell, of_stack(cell.stack)) for cell in report.cells]
    able = tuple(stack for stack in plan.stacks if stack not in report.not_run)
    for stack in able:
        checks = findings_of(stack, folder / "checks" / stack, partial(tell, stack))
        rows += rows_of_findings(stack, "check", checks, of_stack(stack))
    for framework in frameworks(able):
        found = probed(framework, folder / "probes" / framework, partial(tell, framework))
        rows += rows_of_findings(framework, "probe", found, of_stack(framework))
    return Survey(rows, report.not_run)


def frameworks(stacks: tuple[str, ...]) -> list[str]:
    """The frameworks that have probes and of which some of `stacks` are made."""
    known = {name.partition("_")[0] for name in probe_modules()}
    return sorted(known & {stack.partition("-")[0] for stack in stacks})


def probe_modules() -> list[str]:
    """The modules that hold probes."""
    return [module.name for module in pkgutil.iter_modules(probes.__path__)]


def probes_of(framework: str) -> dict[str, Probe]:
    """The probes of a framework, by name."""
    found: dict[str, Probe] = {}
    for name in probe_modules():
        if name.partition("_")[0] == framework:
            found |= getattr(import_module(f"{probes.__name__}.{name}"), "PROBES", {})
    return found


def probed(framework: str, folder: Path, tell: Callable[[int, int], None]) -> dict[str, Finding]:
    """What each probe of `framework` saw, each in a folder that it makes below `folder`; one that raises was not run,
    with its error as the reason."""
    wanted, found = probes_of(framework), dict[str, Finding]()
    shutil.rmtree(folder, ignore_errors=True)  # of a survey that was interrupted
    folder.mkdir(parents=True)
    with services_for([framework, "postgres"], folder / "servers") as servers:
        for number, (name, probe) in enumerate(wanted.items(), 1):
            try:
                found[name] = probe(folder / str(number), servers.addresses)
            except Exception as error:
                found[name] = Finding.not_run(error)
            tell(number, len(wanted))
    return found


def of_stack(stack: str) -> str:
    """The versions of a stack's packages, in one line."""
    return ", ".join(f"{name} {version}" for name, version in versions([stack]).items() if name != "labkit")
