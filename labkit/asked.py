"""What a call asked for: recorded beside its result, and compared when the code asks again.

A call's payload in the journal is one line of JSON, the result, and a second line with what was asked, field by field.
A payload that an older version wrote has no second line: it is read as it is, and nothing is compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from functools import cache
from inspect import signature
from typing import Any

import msgspec

from labkit.canonical import canonical
from labkit.codec import has_secret, read_back
from labkit.errors import InvalidInput

Fields = dict[str, bytes]  # field -> its canonical JSON; the beginning and the digest of a long one
LONG = 60  # bytes; a digest alone takes more, so that a short value and a digest are never the same
BEGINNING, SHOWN = 24, 200  # characters of a long value that are kept, of all fields that are shown
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])


def asked_of(fields: dict[str, Any]) -> Fields:
    """The fields of a request as they are recorded. Of what looks like a secret only the digest is kept."""
    bodies = {name: canonical(value) for name, value in fields.items()}
    secret = _any_secret(bodies)
    if not secret and all(len(body) <= LONG for body in bodies.values()):
        return bodies
    return {name: _short(body, secret and _any_secret({name: body})) for name, body in bodies.items()}


def _any_secret(bodies: Fields) -> bool:
    """True when one of the fields looks as if it held a credential."""
    return has_secret(b",".join(b'"%s":%s' % (name.encode(errors="replace"), body) for name, body in bodies.items()))


def arguments_of(args: Sequence[Any]) -> Fields:
    """The arguments of an activity as they are recorded, by their place: a parameter may get another name."""
    return asked_of({_place(number): value for number, value in enumerate(args)})


def places_of(function: Callable[..., Any], names: Collection[str]) -> tuple[str, ...]:
    """Where the arguments of these parameters stand; raise InvalidInput for a name that is no parameter."""
    parameters = _parameters(function)
    for name in names:
        if name not in parameters:
            what = f"may_change names {name!r}, activity {function.__name__} takes {', '.join(parameters) or 'nothing'}"
            raise InvalidInput(what, safe="nothing was called")
    return tuple(_place(parameters.index(name)) for name in names)


def differences(recorded: Fields, now: Fields, may_change: Collection[str] = ()) -> list[str]:
    """The names of the fields that are not what was recorded, but for those that may change."""
    names = dict.fromkeys([*recorded, *now])
    return [name for name in names if recorded.get(name) != now.get(name) and name not in may_change]


def shown(asked: Fields) -> str:
    """What was asked, for an error."""
    text = ", ".join(f"{name} {body.decode(errors='replace')}" for name, body in asked.items()) or "no field"
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def join(result: bytes, asked: Fields | None) -> bytes:
    """The payload of an event: what came back and, where it is known, what was asked."""
    if asked is None:
        return result
    return result + b"\n" + msgspec.json.encode({name: msgspec.Raw(body) for name, body in asked.items()})


def split(payload: bytes, what: str) -> tuple[bytes, Fields | None]:
    """The two parts of a payload; raise InvalidState, naming `what`, when the second cannot be read."""
    if not isinstance(payload, bytes) or b"\n" not in payload:  # what is damaged is left to whoever reads it
        return payload, None
    result, _, second = payload.partition(b"\n")
    return result, {name: bytes(body) for name, body in read_back(_fields, second, what).items()}


def _short(body: bytes, secret: bool) -> bytes:
    if len(body) <= LONG and not secret:
        return body
    digest = {"sha256": hashlib.sha256(body).hexdigest()}
    begins = {} if secret else {"begins": body.decode()[:BEGINNING]}
    return msgspec.json.encode({**begins, **digest})


def _place(number: int) -> str:
    return f"argument {number + 1}"


@cache
def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(signature(function).parameters)[1:]
