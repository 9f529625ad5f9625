"""The business identity: what makes two effects one for the customer, whatever their keys.

A key protects a call, a business identity protects a customer: an agent that plans again after a time-out asks under a
new key. `once_per=("order",)` says that one run does this operation at this target once for each value of `order`.
"""

from __future__ import annotations

from typing import Any

from labkit.authoring import check_names
from labkit.canonical import canonical
from labkit.errors import InvalidInput


def check_effect(where: str, target: str, operation: str, request: dict[str, Any]) -> None:
    """Raise InvalidInput, naming the argument, unless an effect's operation is a name and its request a dict."""
    wrong = ""
    if not isinstance(operation, str) or not operation:
        wrong = f"operation {operation!r}: expected a name such as 'refund'"
    elif not isinstance(request, dict) or not all(isinstance(name, str) for name in request):
        wrong = f"request {repr(request)[:80]}: expected a dict of field names and plain values"
    if wrong:
        raise InvalidInput(f"step {where}: ctx.effect at target {target} got {wrong}", safe="nothing was sent")


def identity_of(where: str, target: str, operation: str, request: dict[str, Any], once_per: tuple[str, ...]) -> str:
    """Canonical JSON of target, operation and the fields `once_per` of a request; empty when none are named.

    Raises InvalidInput for names that are none, and for a named field that the request lacks.
    """
    if not once_per:
        return ""
    check_names(f"step {where}: once_per", once_per)
    lacking = [name for name in once_per if name not in request]
    if lacking:
        raise InvalidInput(
            f"step {where}: {target}.{operation} is declared once per {', '.join(once_per)}, "
            f"and the request has no {', '.join(lacking)}: it has {', '.join(request) or 'no field at all'}",
            safe="nothing was sent",
            next="put the field into the request, or name other fields in once_per",
        )
    return canonical([target, operation, {name: request[name] for name in once_per}]).decode()
