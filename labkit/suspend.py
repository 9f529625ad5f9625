"""How a step stops without being done: it waits for a person, an approval or a time."""

from __future__ import annotations

from collections.abc import Callable

from labkit.store.protocol import Tx


class Suspend(BaseException):
    """Leaves a step that has to wait. `write(tx)` runs in the transaction that sets the run's waiting `status`.

    Not an Exception: a workflow's own `except Exception` must not swallow it.
    """

    def __init__(self, status: str, reason: str, write: Callable[[Tx], None]) -> None:
        self.status, self.reason, self.write = status, reason, write
        super().__init__(f"{status}: {reason}")


UNTIL = "until "


def for_timer(when: str) -> Suspend:
    """The wait for the ISO 8601 time `when`."""
    return Suspend("waiting_for_timer", f"{UNTIL}{when}", lambda tx: None)


def timer_of(reason: str) -> str:
    """The ISO 8601 time that a run which waits for its timer gives as its reason."""
    return reason.removeprefix(UNTIL)
