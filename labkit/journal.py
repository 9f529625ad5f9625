"""The cursor that replays recorded events into running code, and notices when the code tells another story."""

from __future__ import annotations

from labkit.errors import Drift
from labkit.model import Event


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

    def take(self, kind: str, step: str, name: str) -> Event | None:
        """The recorded event for this call, or None when the journal is used up and the call is live.

        Raises Drift when the journal holds another call at this place.
        """
        if self.used_up and self._live:
            return None
        if self.used_up or self._closes_here:
            raise EndOfJournal
        event = self._tail[self._next]
        if event.kind != kind or event.step != step or event.name != name:
            raise Drift(
                f"run {self._run_id}, event {event.seq}: the journal holds {event.kind} {event.step}/{event.name}, "
                f"the code now asks for {kind} {step}/{name}",
                safe="nothing was executed or written",
                next="run the version that wrote the journal, or keep the old order of calls for old runs",
            )
        self._next += 1
        return event
