"""The conformance of one stack, from its name to its findings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from labkit.bench.launch import DEFAULT_MODE
from labkit.measure.servers import services_for
from labkit.measure.sites import Sites
from labkit.measure.stage import conformance
from labkit.stacks.conformance import CHECKS, Finding


def findings_of(
    name: str, folder: Path, tell: Callable[[int, int], None] = lambda done, of: None
) -> dict[str, Finding]:
    """Every check by name, and how it came out for the stack called `name`; works in `folder`.

    Without a server that the stack needs, or when it cannot get ready, every check is `not run`, and says why. Raises
    InvalidInput for an unknown stack.
    """
    found: dict[str, Finding] = {}
    with services_for([name], folder / "servers") as servers:
        if servers.missing:
            return dict.fromkeys(CHECKS, Finding("not run", "; ".join(servers.missing.values())))
        with Sites(folder / "trials", servers.addresses, lanes=1) as sites:
            if unfit := sites.unfit([name], DEFAULT_MODE):
                return dict.fromkeys(CHECKS, Finding("not run", unfit[name]))
            with sites.at(name, DEFAULT_MODE) as site:
                for check, finding in conformance(site, name):
                    found[check] = finding
                    tell(len(found), len(CHECKS))
    return found
