"""What is special to LangGraph. Each probe is named by what it would be good to rely on; `fail` means do not."""

from __future__ import annotations

from collections.abc import Callable

from labkit.stacks.conformance import Finding
from labkit.stacks.probes.langgraph_holes import HOLES
from labkit.stacks.probes.langgraph_kills import KILLS
from labkit.stacks.probes.langgraph_state import STATE

PROBES: dict[str, Callable[..., Finding]] = {**KILLS, **STATE, **HOLES}
"""Every probe by its name: a function of (a folder that is not there yet, the addresses of servers) to a finding."""
