"""Stacks by name: the adapters in this package, those of other packages by entry point, and `module:attribute`."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, entry_points, version

from labkit import stacks
from labkit.authoring import imported
from labkit.errors import InvalidInput
from labkit.stacks.base import Stack

GROUP = "labkit.stacks"
NO_ADAPTER = ("base", "conformance", "find")
ABSENT = "not installed"
"""What stands for the version of a package that is not there."""


def modules() -> list[str]:
    """The adapters in this package; the stacks of `some_framework` are `some-framework` and `some-framework-option`."""
    found = pkgutil.iter_modules(stacks.__path__)
    return [module.name for module in found if not module.ispkg and module.name not in NO_ADAPTER]


def find_stack(name: str) -> Stack:
    """The stack called `name`, or `module:attribute` of anybody's code on the Python path.

    Raises InvalidInput when there is none, or when its framework cannot be imported.
    """
    if ":" in name:
        module, _, attribute = name.partition(":")
        return _loaded(name, module, attribute)
    own = [module for module in modules() if f"{name}-".startswith(f"{module.replace('_', '-')}-")]
    if own:
        found = {stack.name: stack for stack in _adapters(name, max(own, key=len))}
        if name in found:
            return found[name]
    for entry in entry_points(group=GROUP, name=name):
        return _loaded(name, entry.module, entry.attr)
    near = get_close_matches(name.lower(), [each for each, _ in every_stack()], 3)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise InvalidInput(f"there is no stack {name!r}", safe="nothing was run", next=f"{hint}labkit stacks lists them")


def every_stack() -> Iterator[tuple[str, Stack | InvalidInput]]:
    """Each stack that can be found, by name; or, for a module that cannot be imported, why."""
    for module in modules():
        try:
            yield from ((stack.name, stack) for stack in _adapters(module, module))
        except InvalidInput as missing:
            yield module, missing
    for entry in entry_points(group=GROUP):
        try:
            yield entry.name, _loaded(entry.name, entry.module, entry.attr)
        except InvalidInput as missing:
            yield entry.name, missing


def _adapters(name: str, module: str) -> tuple[Stack, ...]:
    found: tuple[Stack, ...] = imported(f"stack {name!r}", f"{stacks.__name__}.{module}").STACKS
    return found


def _loaded(name: str, module: str, attribute: str) -> Stack:
    there = vars(imported(f"stack {name!r}", module))
    found = there.get(attribute)
    if not isinstance(found, Stack):
        what = f"the class {found.__name__}" if isinstance(found, type) else f"a {type(found).__name__}"
        wrong = f"is {what}" if attribute in there else f"is not there: module {module} has no {attribute!r}"
        adapters = [f"{module}:{each}" for each, value in there.items() if isinstance(value, Stack)]
        others = ", ".join(each for each in there if not each.startswith("_")) or "nothing"
        hint = f"it has {', '.join(adapters)}" if adapters else f"name an object, not its class; it has {others}"
        raise InvalidInput(f"{name!r} {wrong}, expected a labkit.stacks.base.Stack", safe="nothing was run", next=hint)
    found.name = found.name or name
    return found


def installed(package: str) -> str:
    """The version of a package, or `ABSENT`."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ABSENT
