"""Workflows, one a file, and how they are found by name. `refund` is the reference."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from typing import Any

from labkit.authoring import imported
from labkit.errors import InvalidInput
from labkit.model import Workflow

CASES = {"refund": "labkit.cases.refund:refund"}


def find_workflow(name: str) -> Workflow[Any]:
    """The workflow called `name`: one of `CASES`, or `module:attribute` of anybody's code on the Python path.

    Raises InvalidInput when there is no such workflow.
    """
    module, _, attribute = CASES.get(name, name).partition(":")
    if not attribute:
        near = get_close_matches(name, CASES, 1) or list(CASES)
        raise InvalidInput(f"there is no workflow {name!r}", next=f"try {near[0]}, or module:attribute of your own")
    loaded = imported(f"workflow {name!r}", module)
    if not hasattr(loaded, attribute):
        raise InvalidInput(f"workflow {name!r} cannot be imported: {module} has no {attribute}", next="check the name")
    found = getattr(loaded, attribute)
    if not isinstance(found, Workflow):
        there = ", ".join(key for key, value in vars(loaded).items() if isinstance(value, Workflow)) or "none"
        raise InvalidInput(
            f"{name!r} is a {type(found).__name__}, expected a labkit Workflow",
            safe="nothing was run",
            next=f"name a workflow; {module} has {there}",
        )
    return found


def known_case(name: str) -> Workflow[Any]:
    """The case of the lab called `name`; raise InvalidInput for any other name, which is never imported."""
    if name not in CASES:
        raise InvalidInput(
            f"workflow {name!r} is none of the lab's own: {', '.join(CASES)}",
            safe="nothing was imported or run",
            next="say which workflow it is: labkit replay FILE --workflow module:attribute",
        )
    return find_workflow(name)


def name_of(workflow: Workflow[Any]) -> str | None:
    """The `module:attribute` under which another process can import this workflow, or None when it is in no module."""
    module = sys.modules.get(workflow.begin.__module__)
    if module is None or module.__name__ == "__main__":
        return None
    return next((f"{module.__name__}:{key}" for key, value in vars(module).items() if value is workflow), None)
