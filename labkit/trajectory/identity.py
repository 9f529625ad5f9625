"""When two recorded calls are one and the same effect: by equal arguments, or by the fields that a person names.

Equal arguments only raise the question whether twice was meant. Named fields answer it: they are the business identity.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, NamedTuple

from labkit.errors import InvalidInput
from labkit.trajectory.model import ToolCall, Trajectory

NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,99})(?:\.\d{1,100})?")


class SameEffect(NamedTuple):
    """Two calls of `tool` (of any tool, when empty) with equal values in all `fields` are one effect."""

    tool: str
    fields: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.tool}:{','.join(self.fields)}" if self.tool else ",".join(self.fields)

    def key(self, call: ToolCall) -> str:
        """The business identity of a call; empty where the rule does not hold for it, or a field is missing in it."""
        values = {field: _field(call.arguments, field) for field in self.fields}
        if self.tool not in ("", call.name) or None in values.values():
            return ""
        return canonical(values)


def canonical(value: Any) -> str:
    """A text that is equal for equivalent arguments, and different for all others.

    Equivalent are: objects whatever the order of their keys; numbers in any form, also as text (49, 49.0, "49.00");
    text whatever white space stands before and after it; an argument that is null and one that is left out. All else
    counts: upper and lower case, white space inside a text, leading zeros ("007"), the order of a list.
    """
    try:
        return json.dumps(_plain(value), sort_keys=True)
    except RecursionError:
        return "nested too deeply"  # equal to all that are: a question too many hides nothing


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, str):
        value = value.strip()
        return {"number": _number(value)} if NUMBER.fullmatch(value) else {"text": value}
    if isinstance(value, float):
        return {"number": _number(format(Decimal(repr(value)), "f") if math.isfinite(value) else repr(value))}
    return {"number": str(value)} if isinstance(value, int) and not isinstance(value, bool) else value


def _number(text: str) -> str:
    """A number without the zeros that say nothing; digits are never rounded."""
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _field(arguments: Mapping[str, Any], field: str) -> Any:
    """The value of a field; `payment.order` is also looked for inside `payment`. None where there is none."""
    if field in arguments:
        return arguments[field]
    outer, _, inner = field.partition(".")
    within = arguments.get(outer)
    return _field(within, inner) if inner and isinstance(within, Mapping) else None


def same_effects(rules: Iterable[str], trajectories: Iterable[Trajectory], tools: Iterable[str]) -> list[SameEffect]:
    """The rules, read from `TOOL:field,field` or `field,field`; those that name a tool come first.

    `tools` are those whose calls are looked at. Raises InvalidInput for a rule that is no such list, for a tool that
    is not among them, and for fields that no call of theirs has together: a mistyped rule would find nothing.
    """
    calls = [call for each in trajectories for call in each.calls if call.name in set(tools) and call.made]
    found = [_rule(rule) for rule in dict.fromkeys(rules)]
    for rule in found:
        meant = [call for call in calls if rule.tool in ("", call.name)]
        if rule.tool and not meant:
            near = get_close_matches(rule.tool, {call.name for call in calls}, 1)
            hint = f"did you mean {near[0]}? " if near else ""
            what = f"--same-effect {rule}: no call of {rule.tool!r} is looked at"
            raise _refused(what, f"{hint}Name a tool that was called; with --effect, one that is an effect")
        if not any(rule.key(call) for call in meant):
            fields = sorted({name for call in meant for name in call.arguments})
            known = f"fields of these calls: {', '.join(fields) or 'none'}"
            raise _refused(
                f"--same-effect {rule}: no call has {' and '.join(rule.fields)}; {known}", "Name these fields"
            )
    return sorted(found, key=lambda rule: not rule.tool)


def _rule(text: str) -> SameEffect:
    tool, colon, fields = text.rpartition(":")
    names = tuple(field.strip() for field in fields.split(","))
    if not all(names) or (colon and not tool.strip()):
        raise _refused(f"--same-effect {text!r} is no list of fields", "Write TOOL:field,field or field,field")
    return SameEffect(tool.strip(), names)


def _refused(what: str, next: str) -> InvalidInput:
    return InvalidInput(what, safe="nothing was run", next=next)
