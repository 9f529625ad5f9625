"""The cursor that replays recorded events into running code, and notices when the code tells another story."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from labkit.asked import Fields, differences, shown, split
from labkit.codec import has_secret
from labkit.errors import ActivityFailed, Drift, EffectRejected, EffectUnknown, InvalidState, LabError, ProviderAway
from labkit.model import Event

FAILURES: tuple[type[LabError], ...] = (ActivityFailed, EffectUnknown, EffectRejected, ProviderAway, InvalidState)


class Failure(msgspec.Struct, kw_only=True):
    """How a call failed, as it is recorded: the name of the error, what happened, a refusal's reason."""

    error: str
    what: str
    reason: str = ""

    @classmethod
    def of(cls, error: LabError) -> Failure:
        """What is recorded of `error`."""
        return cls(error=type(error).__name__, what=error.what, reason=getattr(error, "reason", ""))

    def raised(self) -> LabError:
        """The same error again, for the code that replays."""
        if self.error == EffectRejected.__name__:
            return EffectRejected(self.reason, self.what)
        return next((kind for kind in FAILURES if kind.__name__ == self.error), ActivityFailed)(self.what)


def activity_failed(name: str, error: Exception) -> ActivityFailed:
    """What a step sees of an `error` that the activity `name` raised."""
    text = str(error)[:1000]
    if has_secret(text.encode(errors="replace")):
        text = "(withheld, it looks like a secret)"
    return ActivityFailed(
        f"activity {name} failed: {type(error).__name__}: {text}",
        safe="the run stands at its last durable point",
        next="resume the run to call it again, or catch ActivityFailed in the step",
    )


def request_drift(where: str, recorded: Fields, asked: Fields, call: str, differing: list[str]) -> Drift:
    """The error that names both requests: `where` says what is recorded, `call` what is asked for now.

    `differing` are the fields that are not the same; none when it is another target or operation.
    """
    fields = f" (not the same: {', '.join(differing)})" if differing else ""
    harmless = "; when a difference is harmless, name the field in may_change" if differing else ""
    return Drift(
        f"{where} with {shown(recorded)}; the code now asks for {call} with {shown(asked)}{fields}",
        safe="nothing was executed or written; the recorded call stands",
        next="run the version that recorded it; keep what was decided in the state before the call, or compensate the "
        f"old effect first{harmless}",
    )


class EndOfJournal(BaseException):
    """Replay reached the last recorded event, or the one that closed the run, while nothing may be executed."""


class Journal:
    """The events that a new process still has to replay, in order. With `live=False` replay ends where they end."""

    def __init__(self, run_id: str, tail: list[Event], *, live: bool = True) -> None:
        self._run_id, self._tail, self._next, self._live = run_id, tail, 0, live

    @property
    def more(self) -> bool:
        """True while there is something to replay, or calls may be made live."""
        return self._live if self.used_up else not self._closes_here

    @property
    def used_up(self) -> bool:
        """True when every recorded event has been replayed."""
        return self._next == len(self._tail)

    @property
    def _closes_here(self) -> bool:
        return self._tail[self._next].kind == "closed"

    def take(
        self, kind: str, step: str, name: str, asked: Fields | None = None, may_change: Collection[str] = ()
    ) -> Event | None:
        """The recorded event for this call (perhaps that it failed), or None when the journal is used up.

        Raises Drift when the journal holds another call at this place, or this one with other fields than are `asked`
        now, but for those that `may_change`.
        """
        if self.used_up and self._live:
            return None
        if self.used_up or self._closes_here:
            raise EndOfJournal
        event = self._tail[self._next]
        if event.kind not in (kind, "failed") or event.step != step or event.name != name:
            raise Drift(
                f"run {self._run_id}, event {event.seq}: the journal holds {event.kind} {event.step}/{event.name}, "
                f"the code now asks for {kind} {step}/{name}",
                safe="nothing was executed or written",
                next="run the version that wrote the journal, or keep the old order of calls for old runs",
            )
        payload, recorded = split(event.payload, f"event {event.seq} of run {self._run_id}")
        if recorded is not None and asked is not None and recorded != asked:
            self._compare(event, recorded, asked, may_change)
        self._next += 1
        return event._replace(payload=payload)

    def _compare(self, event: Event, recorded: Fields, asked: Fields, may_change: Collection[str]) -> None:
        differing = differences(recorded, asked, may_change)
        if differing:
            raise request_drift(
                f"run {self._run_id}, event {event.seq}: the journal holds {event.kind} {event.step}/{event.name}",
                *(recorded, asked, f"{event.step}/{event.name}", differing),
            )
