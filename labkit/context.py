"""The context that a step is given: each call is answered from the journal, or made and recorded."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import msgspec

from labkit.clock import parse_time
from labkit.codec import encode, read_back, return_decoder
from labkit.coordination import approvals
from labkit.effects.key import effect_key, effect_of
from labkit.effects.policies import Effect
from labkit.errors import EffectRejected, InvalidInput
from labkit.journal import FAILURES, Failure, Journal, activity_failed
from labkit.model import ApprovalRef, Decision, Event, Order, Receipt, Run
from labkit.parts import Parts
from labkit.store import artifacts
from labkit.store.protocol import Tx
from labkit.suspend import Suspend, for_timer
from labkit.values import Place

MAX_RESULT = 1_000_000  # bytes
Write = Callable[[Tx], None]
_receipts = msgspec.json.Decoder(Receipt)
_decisions = msgspec.json.Decoder(Decision)
_plain = msgspec.json.Decoder()
_failures = msgspec.json.Decoder(Failure)


class LiveContext:
    """One process's context for one run. `enter(step)` is called before each step."""

    def __init__(self, parts: Parts, run: Run[Any], journal: Journal) -> None:
        self.parts, self.run, self.journal = parts, run, journal
        self.step = ""
        self.staged: list[Write] = []
        self.planned: list[str] = []
        self.waits_for = ""  # set when a wait was raised: the step has to let it pass
        self._effects = self._activities = self._approvals = self._draws = 0
        self._calls: Counter[str] = Counter()  # of this step, by kind
        self._inside = ""  # the activity that is being called

    def enter(self, step: str) -> None:
        """Begin a step: forget what the last one staged."""
        self.step = step
        self.staged, self.planned, self.waits_for = [], [], ""
        self._effects = self._activities = self._approvals = self._draws = 0
        self._calls.clear()

    def activity(self, function: Callable[..., Any], *args: Any, cost: float = 0.0) -> Any:
        """Call `function(call, *args)` unless the journal holds its result; see `model.Context`."""
        name = function.__name__
        if name == "<lambda>":
            what = f"step {self.step}: an activity needs a name"
            raise InvalidInput(what, next="write a function instead of a lambda")
        self._spend(name, cost)
        self._activities += 1
        subject = self._subject(self._activities, name)

        def perform() -> Any:
            call = self.parts.world.note_activity(subject, name)
            self._inside = name
            try:
                return function(call, *deepcopy(args))  # what it changes would be unknown to a replay
            except EffectRejected:
                raise
            except Exception as error:
                raise activity_failed(f"{self.step}/{name}", error) from error
            finally:
                self._inside = ""

        return self._call("activity", name, perform, return_decoder(function))

    def effect(self, target: str, operation: str, request: dict[str, Any]) -> Receipt:
        """Change the outside world under the policy unless the journal holds the receipt; see `model.Context`."""
        run, workflow = self.run, self.parts.workflow
        if target not in workflow.targets:
            declared = ", ".join(workflow.targets) or "none"
            raise InvalidInput(f"workflow {workflow.name} declares no target {target!r}, but {declared}")
        self._effects += 1
        logical = self._logical(self._effects)
        key = effect_key(run.tenant_id, run.workflow_id, run.origin, logical)
        name, subject = f"{target}.{operation}", f"{run.origin}/{logical}"
        event = self._recorded("effect", name)
        if event:
            receipt = self._read_back(_receipts, event)
        else:
            order = Order(
                target=target,
                operation=operation,
                request=request,
                subject=subject,
                label=f"{effect_of(subject)}/call",
                key=key,
            )
            self._keep_staged()
            with self._keeping_failure(name):
                receipt = self.parts.policy.perform(self._fx(self.step, order, self._recorder(name)))
        if receipt.status == "planned":
            self.planned.append(key)
        if receipt.status == "rejected":
            raise EffectRejected(receipt.id, f"effect {key} was refused by {target}: {receipt.id}")
        return receipt

    def approval(self, role: str, question: str) -> Decision:
        """Wait durably for a person's decision; see `model.Context`."""
        self._approvals += 1
        request_id = f"{self.run.run_id}.{self._logical(self._approvals)}"
        encode(question, f"question of approval {request_id}")
        self.run.approval = ApprovalRef(request_id=request_id, required_role=role)

        def perform() -> Decision:
            self._keep_staged()
            found = approvals.find(self.parts.store, request_id)
            answer = found.answer_to(role, question) if found else None
            if answer is None:
                reason = f"{role} decides: {question}"
                ask = (self.run, request_id, self.step, role, question)
                self.parts.log.ask(request_id, self.run.position, self._effects)
                raise Suspend("waiting_for_approval", reason, lambda tx: approvals.request(tx, *ask))
            self.staged.append(lambda tx: approvals.use(tx, request_id))
            return answer

        return self._call("approval", role, perform, _decisions)

    def sleep_until(self, when: str) -> None:
        """Wait durably until `when`; see `model.Context`."""
        until = parse_time(when)

        def perform() -> None:
            if self.parts.clock.now() < until:
                raise for_timer(when)

        self._call("timer", when, perform, _plain)

    def now(self) -> str:
        """The time, recorded where the engine records calls."""
        return self._call("now", "now", lambda: self.parts.clock.now().isoformat(), _plain)

    def random(self) -> float:
        """A random number, recorded where the engine records calls."""
        self._draws += 1
        subject = self._subject(self._draws, "random")
        return self._call("random", "random", lambda: self.parts.chance(subject), _plain)

    def artifact(self, content: str) -> str:
        """Store `content` once under its SHA-256; return the reference."""
        encode(content, f"artifact of step {self.step} in run {self.run.run_id}", MAX_RESULT)
        ref = artifacts.reference(content)
        self.staged.append(lambda tx: artifacts.keep(tx, content))
        return self._call("artifact", ref, lambda: ref, _plain)

    def flush(self, tx: Tx) -> None:
        """Make the staged writes part of `tx`."""
        for write in self.staged:
            write(tx)
        self.staged = []

    def fx_of(self, entry: Any) -> Effect:
        """The effect behind a ledger entry, for the outbox to deliver: its result was recorded when it was planned."""
        return self._fx(entry.step, entry.order(), None)

    def _fx(self, step: str, order: Order, record: Any) -> Effect:
        parts = self.parts
        target = parts.workflow.targets[order.target]
        return Effect(parts.store, parts.world, self.run, step, order, target, record, self.staged.append)

    def _call(self, kind: str, name: str, perform: Callable[[], Any], decoder: msgspec.json.Decoder[Any]) -> Any:
        """Answer from the journal, or perform and record. Both ways the result has been through bytes once."""
        event = self._recorded(kind, name)
        self._calls[kind] += 1
        place, log = Place(self.run.position, self.step, kind, self._calls[kind]), self.parts.log
        if event:
            self.staged = []
            log.note(place, event.kind, event.payload)
            return self._read_back(decoder, event)
        what = f"result of {kind} {self.step}/{name} in run {self.run.run_id}"
        with self._keeping_failure(name):
            payload = log.answer(place, lambda: encode(perform(), what, MAX_RESULT))
            result = read_back(decoder, payload, what)
        if self.parts.engine.journals:
            with self.parts.store.transaction(f"{self.step}/record") as tx:
                self._record(tx, kind, name, payload)
        return result

    def _recorded(self, kind: str, name: str) -> Event | None:
        if self._inside:
            what = f"step {self.step}: activity {self._inside} makes a call of its own, {kind} {name}"
            raise InvalidInput(what, next="make the call in the step, before or after the activity")
        return self.journal.take(kind, self.step, name)

    def _read_back(self, decoder: msgspec.json.Decoder[Any], event: Event) -> Any:
        what = f"event {event.seq} of run {self.run.run_id}"
        if event.kind == "failed":
            raise read_back(_failures, event.payload, what).raised()
        return read_back(decoder, event.payload, what)

    def _keep_staged(self) -> None:
        """Make a failure that led here durable, before anything is done or asked because of it."""
        if self.staged and self.parts.engine.journals:
            with self.parts.store.transaction(f"{self.step}/record") as tx:
                self.flush(tx)

    @contextmanager
    def _keeping_failure(self, name: str) -> Iterator[None]:
        """Stage a failure: it becomes durable with the step's next write, or is forgotten if the step fails as well."""
        try:
            yield
        except Suspend as wait:
            self.waits_for = str(wait)
            raise
        except FAILURES as error:
            if self.parts.engine.journals:
                event = Event(0, "failed", self.step, name, msgspec.json.encode(Failure.of(error)))
                self.staged.append(lambda tx: self.parts.engine.record(tx, self.run, event))
            raise

    def _recorder(self, name: str) -> Callable[[Tx, Receipt], None] | None:
        if not self.parts.engine.journals:
            return None
        return lambda tx, receipt: self._record(tx, "effect", name, msgspec.json.encode(receipt))

    def _record(self, tx: Tx, kind: str, name: str, payload: bytes) -> None:
        self.flush(tx)
        self.parts.engine.record(tx, self.run, Event(0, kind, self.step, name, payload))

    def _logical(self, nth: int) -> str:
        return f"{self.run.position}.{self.step}" + (f".{nth}" if nth > 1 else "")

    def _subject(self, nth: int, name: str) -> str:
        return f"{self.run.origin}/{self.run.position}.{self.step}.{name}.{nth}"

    def _spend(self, name: str, cost: float) -> None:
        left = self.run.budgets.cost_remaining
        if not 0 <= cost < math.inf:
            what = f"activity {self.step}/{name} costs {cost}: expected 0 or more"
            raise InvalidInput(what, safe="nothing was called")
        if cost > left:
            raise EffectRejected("budget_spent", f"activity {self.step}/{name} costs {cost}, {left} is left")
        self.run.budgets.cost_remaining = round(left - cost, 6)
