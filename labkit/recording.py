"""How a call of a step is answered: from the journal where it is recorded, else by making it and recording it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from labkit.asked import Fields, join
from labkit.codec import encode, read_back
from labkit.effects.ledger import Entry
from labkit.errors import InvalidInput, LabError
from labkit.journal import FAILURES, Failure, Journal
from labkit.model import Event, Receipt, Run
from labkit.parts import Parts
from labkit.store.protocol import Tx
from labkit.suspend import Suspend
from labkit.values import Place

MAX_RESULT = 1_000_000  # bytes
Write = Callable[[Tx], None]
_failures = msgspec.json.Decoder(Failure)


class Recording:
    """The calls of one process for one run. `enter(step)` is called before each step."""

    def __init__(self, parts: Parts, run: Run[Any], journal: Journal) -> None:
        self.parts, self.run, self.journal = parts, run, journal
        self.inside = ""  # the activity that is being called
        self._calls: Counter[str] = Counter()  # of this step, by kind
        self.enter("")

    def enter(self, step: str) -> None:
        """Begin a step: forget what the last one staged."""
        self.step = step
        self.staged: list[Write] = []
        self.planned: list[str] = []
        self.intents: list[Entry] = []
        self.waits_for = ""  # set when a wait was raised: the step has to let it pass
        self.misused: LabError | None = None  # set when the context was used from elsewhere
        self._calls.clear()

    def flush(self, tx: Tx) -> None:
        """Make the staged writes part of `tx`."""
        for write in self.staged:
            write(tx)
        self.staged = []

    def call(
        self,
        kind: str,
        name: str,
        perform: Callable[[], Any],
        decoder: msgspec.json.Decoder[Any],
        asked: Fields | None = None,
        may_change: Collection[str] = (),
    ) -> Any:
        """Answer from the journal, or perform and record. Both ways the result has been through bytes once."""
        event = self.recorded(kind, name, asked, may_change)
        self._calls[kind] += 1
        place, log = Place(self.run.position, self.step, kind, self._calls[kind]), self.parts.log
        if event:
            self.staged = []
            log.note(place, event.kind, event.payload)
            return self.read_back(decoder, event)
        what = f"result of {kind} {self.step}/{name} in run {self.run.run_id}"
        with self.keeping_failure(name, asked):
            payload = log.answer(place, lambda: encode(perform(), what, MAX_RESULT))
            result = read_back(decoder, payload, what, fresh=True)
        if self.parts.engine.journals:
            with self.parts.store.transaction(f"{self.step}/record") as tx:
                self._record(tx, kind, name, join(payload, asked))
        return result

    def recorded(self, kind: str, name: str, asked: Fields | None, may_change: Collection[str] = ()) -> Event | None:
        """The event of this call, or None when it has to be made; raise Drift when another call is recorded."""
        if self.inside:
            what = f"step {self.step}: activity {self.inside} makes a call of its own, {kind} {name}"
            raise InvalidInput(what, next="make the call in the step, before or after the activity")
        return self.journal.take(kind, self.step, name, asked, may_change)

    def read_back(self, decoder: msgspec.json.Decoder[Any], event: Event) -> Any:
        """What the event says: the result, or the failure again."""
        what = f"event {event.seq} of run {self.run.run_id}"
        if event.kind == "failed":
            raise read_back(_failures, event.payload, what).raised()
        return read_back(decoder, event.payload, what)

    def keep_staged(self) -> None:
        """Make a failure that led here durable, before anything is done or asked because of it."""
        if self.staged and self.parts.engine.journals:
            with self.parts.store.transaction(f"{self.step}/record") as tx:
                self.flush(tx)

    @contextmanager
    def keeping_failure(self, name: str, asked: Fields | None) -> Iterator[None]:
        """Stage a failure: it becomes durable with the step's next write, or is forgotten if the step fails as well."""
        try:
            yield
        except Suspend as wait:
            self.waits_for = str(wait)
            raise
        except FAILURES as error:
            if self.parts.engine.journals:
                payload = join(msgspec.json.encode(Failure.of(error)), asked)
                event = Event(0, "failed", self.step, name, payload)
                self.staged.append(lambda tx: self.parts.engine.record(tx, self.run, event))
            raise

    def recorder(self, name: str, asked: Fields | None) -> Callable[[Tx, Receipt], None] | None:
        """What makes the receipt of an effect durable; None where the engine keeps no journal."""
        if not self.parts.engine.journals:
            return None
        return lambda tx, receipt: self._record(tx, "effect", name, join(msgspec.json.encode(receipt), asked))

    def _record(self, tx: Tx, kind: str, name: str, payload: bytes) -> None:
        self.flush(tx)
        self.parts.engine.record(tx, self.run, Event(0, kind, self.step, name, payload))
