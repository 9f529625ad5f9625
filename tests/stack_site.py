"""Where the tests of stacks run their trials; a stack whose server cannot be had is skipped, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from labkit.bench.launch import DEFAULT_MODE
from labkit.measure.servers import services_for
from labkit.measure.sites import Sites
from labkit.measure.trial import Site


@contextmanager
def sites_of(stack: str, root: Path, count: int = 1) -> Iterator[list[Site]]:
    """Yield `count` sites for `stack`, with the servers that it needs, below `root`."""
    with ExitStack() as held:
        servers = held.enter_context(services_for([stack], root / "servers"))
        if servers.missing:
            pytest.skip(reason=f"{stack} was not run: {servers.missing}")
        sites = held.enter_context(Sites(root / "trials", servers.addresses, lanes=count, keep=True))
        yield [held.enter_context(sites.at(stack, DEFAULT_MODE)) for _ in range(count)]
