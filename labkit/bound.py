"""The context that a step is given: it works on the step's own thread, until the step returns, and nowhere else.

A call from elsewhere could come at any moment of the run, so that no two runs of the step would be the same: neither a
replay nor a simulated crash could tell what happens.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NoReturn

from labkit.context import LiveContext
from labkit.errors import InvalidInput
from labkit.model import Decision, Receipt


class StepContext:
    """What one visit to a step gets as `ctx`; see `model.Context` for what each call does.

    A call from another thread, or after the step has returned, raises InvalidInput; the step that is being executed
    then fails, whoever caught the error.
    """

    def __init__(self, live: LiveContext) -> None:
        self.run = live.run
        self._live, self._step, self._thread, self._over = live, live.step, threading.get_ident(), False

    def over(self) -> None:
        """The step has returned."""
        self._over = True

    def activity(
        self, function: Callable[..., Any], *args: Any, cost: float = 0.0, may_change: tuple[str, ...] = ()
    ) -> Any:
        """Call an activity."""
        return self._here("activity").activity(function, *args, cost=cost, may_change=may_change)

    def effect(
        self,
        target: str,
        operation: str,
        request: dict[str, Any],
        *,
        once_per: tuple[str, ...] = (),
        may_change: tuple[str, ...] = (),
    ) -> Receipt:
        """Change the outside world."""
        return self._here("effect").effect(target, operation, request, once_per=once_per, may_change=may_change)

    def approval(self, role: str, question: str, about: dict[str, Any] | None = None) -> Decision:
        """Wait for a person's decision."""
        return self._here("approval").approval(role, question, about)

    def sleep_until(self, when: str) -> None:
        """Wait until a time."""
        self._here("sleep_until").sleep_until(when)

    def now(self) -> str:
        """The time."""
        return self._here("now").now()

    def random(self) -> float:
        """A random number."""
        return self._here("random").random()

    def artifact(self, content: str) -> str:
        """Store a large text."""
        return self._here("artifact").artifact(content)

    def _here(self, call: str) -> LiveContext:
        if self._over or threading.get_ident() != self._thread:
            self._refuse(call)
        return self._live

    def _refuse(self, call: str) -> NoReturn:
        where = "after the step had returned" if self._over else f"from thread {threading.current_thread().name}"
        error = InvalidInput(
            f"step {self._step} of run {self.run.run_id}: ctx.{call} was called {where}; "
            f"a ctx belongs to one visit to its step, and to the thread that the step runs on",
            safe="nothing was sent or recorded by this call",
            next="let threads and tasks return what they found; call ctx in the step itself, before it returns",
        )
        self._live.misused = self._live.misused or error
        raise error
