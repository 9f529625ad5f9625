"""What the calls of a context returned, so that a judge can ask what a run without a crash makes of the same answers.

Time, chance and models answer differently in each process. A recovered run is right when it equals the run that no
crash disturbed and that was given the same answers; so the last answer to each call is kept, and can be fed again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any, NamedTuple

import msgspec

from labkit.journal import FAILURES, Failure

LOGGED = ("activity", "now", "random")  # kinds of calls whose answer may be another one the next time


class Place(NamedTuple):
    """A call of a run: the nth of its kind in the step that is made after `position` completed ones."""

    position: int
    step: str
    kind: str
    nth: int


class Value(NamedTuple):
    """What a call returned, as it is recorded: `kind` is that of the call, or `failed`."""

    kind: str
    payload: bytes


Returned = dict[Place, Value]
NOTHING: dict[Any, Any] = {}


class Asked(NamedTuple):
    """When a question was asked: after `effects` effects of a step; and what calls had returned by then."""

    position: int
    effects: int
    returned: Returned


class Values(NamedTuple):
    """What is known of the processes of a run: the last value of each call, and when each question was asked."""

    returned: Returned = NOTHING
    asked: dict[str, Asked] = NOTHING

    def then(self, log: ValueLog) -> Values:
        """What is known once the process that keeps `log` has followed. A question is asked once: the first counts."""
        return self.following(Values(log.returned, log.asked))

    def following(self, later: Values) -> Values:
        """What is known once processes of which `later` is known have followed."""
        if not (later.returned or later.asked):
            return self
        new = {key: each._replace(returned={**self.returned, **each.returned}) for key, each in later.asked.items()}
        return Values({**self.returned, **later.returned}, {**new, **self.asked})

    def of(self, questions: Container[str]) -> Values:
        """The same, but of these questions only: what a dead process wanted to ask was never asked."""
        return self._replace(asked={key: asked for key, asked in self.asked.items() if key in questions})


class ValueLog:
    """Kept by one process: what its calls return. A call in `fed` returns that value instead of its own."""

    def __init__(self, fed: Mapping[Place, Value] | None = None) -> None:
        self.fed = fed or {}
        self.returned: Returned = {}
        self.asked: dict[str, Asked] = {}

    def answer(self, place: Place, make: Callable[[], bytes]) -> bytes:
        """What a call returns that is made now. Raises what the call raises, or the failure that is fed instead."""
        fed = self.fed.get(place)
        try:
            made = Value(place.kind, make())
        except FAILURES as error:
            made = Value("failed", msgspec.json.encode(Failure.of(error)))
            if fed is None:
                self.note(place, *made)
                raise
        given = fed or made
        self.note(place, *given)
        if given.kind == "failed":
            raise msgspec.json.decode(given.payload, type=Failure).raised()
        return given.payload

    def note(self, place: Place, kind: str, payload: bytes) -> None:
        """A call returned `payload`, or failed with it."""
        if place.kind in LOGGED:
            self.returned[place] = Value(kind, payload)

    def ask(self, request_id: str, position: int, effects: int) -> None:
        """A question is being asked, after so many effects of the present step."""
        self.asked.setdefault(request_id, Asked(position, effects, dict(self.returned)))
