"""A provider's world that outlives its provider: a call that was never sent is sent to the next one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from httptools import HttpParserError

from labkit.bench.job import Outside
from labkit.errors import EffectUnknown, ProviderAway
from labkit.taps import Tap

PROVIDERS = 9  # one request outlives so many of them
BROKEN = (ConnectionError, HttpParserError)  # the connection went away; a late answer is none of these


class Reached(Outside):
    """The world called `world` at `url`. `reach()` finds or starts the provider of today, opens the world there, and
    returns its address.

    A refused connection means that nothing was sent: the request is repeated. When the connection breaks later, an
    order may have been executed and stays EffectUnknown; any other request is safe to repeat. A trap that was armed
    at the old provider is armed again.
    """

    def __init__(self, url: str, world: str, reach: Callable[[], str]) -> None:
        super().__init__(url, world)
        self._reach = reach
        self._trap: Tap | None = None
        self._answered: Counter[str] = Counter()

    def arm(self, tap: Tap) -> None:
        """Have the provider SIGKILL this process at `tap`; see `Client.arm`."""
        super().arm(tap)
        self._trap = tap
        self._answered.clear()

    def _exchange(self, method: str, path: str, body: bytes, patience: float, label: str = "") -> bytes:
        for _ in range(PROVIDERS):
            try:
                answer = super()._exchange(method, path, body, patience, label)
                self._answered[label] += 1
                return answer
            except ProviderAway as away:
                if not never_sent(away):
                    raise
            except EffectUnknown as unknown:
                if label or not isinstance(unknown.__cause__, BROKEN):
                    raise
            self.move(self._reach())
            self._arm_again()
        return super()._exchange(method, path, body, patience, label)

    def _arm_again(self) -> None:
        left = self._trap.occurrence - self._answered[self._trap.label] if self._trap else 0
        if self._trap and left > 0:
            super().arm(self._trap._replace(occurrence=left))


def never_sent(away: ProviderAway) -> bool:
    """True when the provider process itself is gone; a provider that is told to be away answers so."""
    return isinstance(away.__cause__, ConnectionRefusedError)
