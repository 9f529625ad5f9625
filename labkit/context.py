"""The context that a step is given: each call is answered from the journal, or made and recorded."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import msgspec

from labkit.asked import arguments_of, asked_of, places_of
from labkit.authoring import check_names, check_question
from labkit.clock import parse_time
from labkit.codec import encode, return_decoder
from labkit.coordination import approvals
from labkit.effects.identity import check_effect, identity_of
from labkit.effects.key import effect_key, effect_of
from labkit.effects.policies import Effect
from labkit.errors import EffectRejected, InvalidInput
from labkit.journal import activity_failed
from labkit.model import ApprovalRef, Decision, Order, Receipt, Target
from labkit.recording import MAX_RESULT, Recording
from labkit.store import artifacts
from labkit.suspend import Suspend, for_timer

_receipts = msgspec.json.Decoder(Receipt)
_decisions = msgspec.json.Decoder(Decision)
_plain = msgspec.json.Decoder()


class LiveContext(Recording):
    """One process's context for one run; a step is given it as `bound.StepContext`."""

    def enter(self, step: str) -> None:
        """Begin a step: forget what the last one staged, and count its calls anew."""
        super().enter(step)
        self._effects = self._activities = self._approvals = self._draws = 0

    def activity(
        self, function: Callable[..., Any], *args: Any, cost: float = 0.0, may_change: tuple[str, ...] = ()
    ) -> Any:
        """Call `function(call, *args)` unless the journal holds its result; see `model.Context`."""
        name = self._name_of(function)
        places = self._places(function, may_change) if may_change else ()
        self._spend(name, cost)
        self._activities += 1
        subject = self._subject(self._activities, name)

        def perform() -> Any:
            call = self.parts.world.note_activity(subject, name)
            self.inside = name
            try:
                return function(call, *deepcopy(args))  # what it changes would be unknown to a replay
            except EffectRejected:
                raise
            except Exception as error:
                raise activity_failed(f"{self.step}/{name}", error) from error
            finally:
                self.inside = ""

        asked = arguments_of(args) if self.parts.engine.journals else None
        return self.call("activity", name, perform, return_decoder(function), asked, places)

    def effect(
        self,
        target: str,
        operation: str,
        request: dict[str, Any],
        *,
        once_per: tuple[str, ...] = (),
        may_change: tuple[str, ...] = (),
    ) -> Receipt:
        """Change the outside world under the policy unless the journal holds the receipt; see `model.Context`."""
        declared = self._target(target)
        check_effect(self.step, target, operation, request)
        may_change = may_change or declared.may_change
        if may_change:
            check_names(f"step {self.step}: may_change of {target}.{operation}", may_change)
        self._effects += 1
        order = self._order(target, operation, request, once_per or declared.once_per)
        name, asked = f"{target}.{operation}", asked_of(request) if self.parts.engine.journals else None
        event = self.recorded("effect", name, asked, may_change)
        if event:
            receipt = self.read_back(_receipts, event)
        else:
            self.keep_staged()
            with self.keeping_failure(name, asked):
                fx = self._fx(self.step, order, self.recorder(name, asked))
                receipt = self.parts.policy.perform(fx._replace(may_change=may_change))
        if receipt.status == "planned":
            self.planned.append(order.key or "")
        if receipt.status == "rejected":
            raise EffectRejected(receipt.id, f"effect {order.key} was refused by {target}: {receipt.id}")
        return receipt

    def approval(self, role: str, question: str, about: dict[str, Any] | None = None) -> Decision:
        """Wait durably for a person's decision; see `model.Context`."""
        self._approvals += 1
        request_id = f"{self.run.run_id}.{self._logical(self._approvals)}"
        check_question(self.step, role, question, about)
        encode(question, f"question of approval {request_id}")
        if about is not None:
            encode(about, f"what approval {request_id} is about")
        self.run.approval = ApprovalRef(request_id=request_id, required_role=role)

        def perform() -> Decision:
            self.keep_staged()
            found = approvals.find(self.parts.store, request_id)
            answer = found.answer_to(role, question, about) if found else None
            if answer is None:
                reason = f"{role} decides: {question}" + (f" about {approvals.content(about)}" if about else "")
                ask = (self.run, request_id, self.step, role, question, about)
                self.parts.log.ask(request_id, self.run.position, self._effects)
                raise Suspend("waiting_for_approval", reason, lambda tx: approvals.request(tx, *ask))
            self.staged.append(lambda tx: approvals.use(tx, request_id))
            return answer

        asked = asked_of({"question": question, "about": about}) if self.parts.engine.journals else None
        return self.call("approval", role, perform, _decisions, asked)

    def sleep_until(self, when: str) -> None:
        """Wait durably until `when`; see `model.Context`."""
        until = parse_time(when)

        def perform() -> None:
            if self.parts.clock.now() < until:
                raise for_timer(when)

        self.call("timer", when, perform, _plain)

    def now(self) -> str:
        """The time, recorded where the engine records calls."""
        return self.call("now", "now", lambda: self.parts.clock.now().isoformat(), _plain)

    def random(self) -> float:
        """A random number, recorded where the engine records calls."""
        self._draws += 1
        subject = self._subject(self._draws, "random")
        return self.call("random", "random", lambda: self.parts.chance(subject), _plain)

    def artifact(self, content: str) -> str:
        """Store `content` once under its SHA-256; return the reference."""
        encode(content, f"artifact of step {self.step} in run {self.run.run_id}", MAX_RESULT)
        ref = artifacts.reference(content)
        self.staged.append(lambda tx: artifacts.keep(tx, content))
        return self.call("artifact", ref, lambda: ref, _plain)

    def fx_of(self, entry: Any) -> Effect:
        """The effect behind a ledger entry, for the outbox to deliver: its result was recorded when it was planned."""
        return self._fx(entry.step, entry.order(), None)

    def _order(self, target: str, operation: str, request: dict[str, Any], once_per: tuple[str, ...]) -> Order:
        """The next effect of this step, under its key."""
        run, logical = self.run, self._logical(self._effects)
        subject = f"{run.origin}/{logical}"
        return Order(
            target=target,
            operation=operation,
            request=request,
            subject=subject,
            label=f"{effect_of(subject)}/call",
            key=effect_key(run.tenant_id, run.workflow_id, run.origin, logical),
            identity=identity_of(self.step, target, operation, request, once_per),
        )

    def _target(self, name: str) -> Target:
        """The target that the workflow declares under this name; raise InvalidInput when there is none."""
        found = self.parts.workflow.targets.get(name) if isinstance(name, str) else None
        if found is None:
            workflow = self.parts.workflow
            declared = ", ".join(workflow.targets) or "none"
            raise InvalidInput(f"workflow {workflow.name} declares no target {name!r}, but {declared}")
        return found

    def _fx(self, step: str, order: Order, record: Any) -> Effect:
        parts = self.parts
        target = parts.workflow.targets[order.target]
        return Effect(parts.store, parts.world, self.run, step, order, target, record, self.staged.append, self.intents)

    def _name_of(self, function: Any) -> str:
        name = getattr(function, "__name__", "")
        if not callable(function) or not name or name == "<lambda>":
            what = f"step {self.step}: activity {repr(function)[:80]} is no function with a name"
            raise InvalidInput(what, safe="nothing was called", next="write a function: def name(call, ...)")
        return name

    def _places(self, function: Callable[..., Any], may_change: tuple[str, ...]) -> tuple[str, ...]:
        check_names(f"step {self.step}: may_change of activity {function.__name__}", may_change)
        return places_of(function, may_change)

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
