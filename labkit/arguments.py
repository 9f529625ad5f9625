"""Checks what a person passes to a public function against its annotations, before anything is run."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Mapping
from functools import cache, wraps
from inspect import Parameter, signature
from types import UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from labkit.errors import InvalidInput

P = ParamSpec("P")
R = TypeVar("R")
NAMES = (str, str | type[Any])  # of an engine, for instance
NUMBERS: dict[Any, type] = {int: numbers.Integral, float: numbers.Real}


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """`function`, which raises InvalidInput naming the argument where one is not of the type that is annotated.

    A list passes for a tuple, and one name for several. Left to those who know better: workflows, what `**inputs`
    hold, and names, where `errors.known` says which there are.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        names, hints = _annotated(function)
        asked = function.__qualname__.removesuffix(".__init__")
        for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
            if name in hints and not fits(value, hints[name]):
                raise InvalidInput(
                    f"{asked}: {name} is {value!r:.80}: expected {_told(hints[name])}, found {type(value).__name__}",
                    safe="nothing was run or written",
                    next=f"help({asked}) says what it takes",
                )
        return function(*args, **kwargs)

    return call


@cache
def _annotated(function: Callable[..., Any]) -> tuple[list[str], dict[str, Any]]:
    """The names of the positional parameters, and the annotations of those that are checked."""
    parameters = signature(function).parameters.values()
    various = {each.name for each in parameters if each.kind in (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL)}
    hints = get_type_hints(function)
    return [each.name for each in parameters], {
        name: hint
        for name, hint in hints.items()
        if hint not in NAMES and name not in {*various, "return", "workflow", "workflows"}
    }


def fits(value: Any, hint: Any) -> bool:
    """Whether `value` is what the annotation `hint` says; an annotation that nobody can check fits everything."""
    kind: Any = get_origin(hint) or hint
    inside = get_args(hint)
    if kind in (Union, UnionType):
        return any(fits(value, each) for each in inside)
    if kind is Literal:
        return value in inside
    if kind in NUMBERS:
        return isinstance(value, NUMBERS[kind]) and not isinstance(value, bool)
    if kind is type(None):
        return value is None
    if not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        return True
    if issubclass(kind, Mapping):
        return isinstance(value, Mapping)
    if issubclass(kind, Iterable) and inside:
        return _several(value, inside[0])
    return callable(value) if kind is Callable else isinstance(value, kind)


def _several(value: Any, each: Any) -> bool:
    """Whether `value` holds only what fits `each`; one text is one name."""
    if isinstance(value, str | bytes):
        return fits(value, each)
    again = isinstance(value, list | tuple | set | frozenset | Mapping)  # what can be read only once is left alone
    return isinstance(value, Iterable) and (not again or all(fits(item, each) for item in value))


def _told(hint: Any) -> str:
    """An annotation as a person reads it."""
    kind, inside = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return " or ".join(_told(each) for each in inside)
    if kind is Literal:
        return f"one of {', '.join(map(str, inside))}"
    if kind is type(None):
        return "None"
    if kind is Callable:
        return "a function"
    name = getattr(kind, "__name__", str(kind))
    return f"{name} of {_told(inside[0])}" if inside and inside[0] is not Any else name
