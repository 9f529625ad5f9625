"""A crash lab for durable agents: kill a workflow for real, and see what the next process may do."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labkit.cases.refund import refund as refund
    from labkit.lab.compare import compare as compare
    from labkit.lab.facade import Lab as Lab
    from labkit.sim import explore as explore
    from labkit.sim.engine_check import check_engine as check_engine

__version__ = "0.1.0"
__all__ = ["Lab", "check_engine", "compare", "explore", "refund"]

_HOMES = {
    "Lab": "labkit.lab.facade",
    "check_engine": "labkit.sim.engine_check",
    "compare": "labkit.lab.compare",
    "explore": "labkit.sim",
    "refund": "labkit.cases.refund",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import labkit` itself costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module labkit has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
