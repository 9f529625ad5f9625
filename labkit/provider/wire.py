"""What goes over the wire between client and provider process: JSON bodies, errors included."""

from __future__ import annotations

import re
from typing import Annotated, TypeVar

import msgspec

from labkit.errors import EffectRejected, EffectUnknown, InvalidInput, LabError
from labkit.model import Order, Target
from labkit.provider.faults import Fault
from labkit.taps import Tap

PID_HEADER = "x-labkit-pid"
"""Names the calling process. A web page cannot send it to another origin, so no page can arm a kill."""
EXECUTED_HEADER = "x-labkit-executed"
"""In the head of an answer: the order was executed. The head comes at once, also when the body is late."""
MAX_BODY = 4_000_000
"""Bytes of the largest request that a provider reads."""

T = TypeVar("T")
_NAME = re.compile(r"[a-z0-9_-]{1,64}")
_ERRORS = {kind.__name__: kind for kind in LabError.__subclasses__()}
_STATUS = {"InvalidInput": 400, "EffectRejected": 422, "EffectUnknown": 503, "ProviderAway": 503}
_OTHER_STATUS = 409


class _Strict(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    pass


class NewTarget(Target, forbid_unknown_fields=True):
    """A target of a new world."""


class NewOrder(Order, forbid_unknown_fields=True):
    """An order as it arrives."""


class NewWorld(_Strict):
    """A world to create. `folder` holds its ledger file, taken from the provider's root folder and inside it."""

    targets: dict[str, NewTarget]
    capability: str | None = None
    drift: bool = False
    faults: list[Fault] = []
    folder: str = "."


class WorldInfo(_Strict):
    """An open world: capability of each target, path of its ledger file, bytes dropped from a torn last line, and
    whether it is told to misbehave."""

    capabilities: dict[str, str]
    drift: bool
    ledger: str
    torn_bytes: int
    faulty: bool = False


class NewActivity(_Strict):
    """An activity call to note."""

    subject: str
    name: str


class NewCompensation(_Strict):
    """An effect to undo."""

    target: str
    receipt_id: str
    label: str


class Arm(_Strict):
    """Kill process `pid`, which asks for it itself, at a tap that counts from now on."""

    label: str
    phase: str
    occurrence: Annotated[int, msgspec.Meta(ge=1)]
    pid: Annotated[int, msgspec.Meta(gt=1)]

    def __post_init__(self) -> None:
        Tap.parse(f"{self.label}:{self.phase}#{self.occurrence}")
        if self.phase == "after":
            raise InvalidInput("a provider cannot kill at phase 'after'", next="use before or executed")


class Problem(_Strict):
    """An error on the wire: the name of its class in `labkit.errors`, and what it says."""

    error: str
    what: str
    safe: str = ""
    next: str = ""
    reason: str = ""


def decode(body: bytes, kind: type[T]) -> T:
    """Read a body as `kind`; raise InvalidInput, naming the place, when it is anything else."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"the request was refused: {error}",
            safe="nothing was written",
            next=f"send a JSON object with {', '.join(getattr(kind, '__struct_fields__', ()))}",
        ) from None


def require_name(world: str) -> str:
    """`world`; raise InvalidInput when it is not a name: it becomes a part of addresses and file names."""
    if not _NAME.fullmatch(world):
        raise InvalidInput(f"{world!r} is not a world's name", next="use 1 to 64 of a-z, 0-9, _ and -")
    return world


def problem_of(error: LabError) -> tuple[int, bytes]:
    """The HTTP status and the body that carry `error`."""
    name = type(error).__name__
    problem = Problem(
        error=name, what=error.what, safe=error.safe, next=error.next, reason=getattr(error, "reason", "")
    )
    return _STATUS.get(name, _OTHER_STATUS), msgspec.json.encode(problem)


def error_of(status: int, body: bytes) -> LabError:
    """The error that an answer carries; EffectUnknown or InvalidInput when something else than a provider answered."""
    try:
        problem = msgspec.json.decode(body, type=Problem)
        kind = _ERRORS[problem.error]
    except (ValueError, KeyError):
        unclear = EffectUnknown if status >= 500 else InvalidInput
        return unclear(f"the provider answered HTTP {status}: {body[:200]!r}", next="look at the provider's log")
    said = {"safe": problem.safe, "next": problem.next}
    if kind is EffectRejected:
        return EffectRejected(problem.reason, problem.what, **said)
    return kind(problem.what, **said)
