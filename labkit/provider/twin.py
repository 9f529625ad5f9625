"""The in-process twin of the provider: the rules of the outside world, without a process or a wire.

The simulator runs on it, and the provider process serves one twin a world, so there is one set of rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from labkit.errors import EffectUnknown, InvalidInput, ProviderAway
from labkit.model import CAPABILITIES, ActivityCall, Order, Receipt, Target
from labkit.provider.caller import answering, capability_of, plain, require_lookup
from labkit.provider.faults import Fault, Faults
from labkit.provider.ledger import Ledger
from labkit.provider.protocol import PATIENCE, Entry, FaultsImage
from labkit.taps import tap


class Image(NamedTuple):
    """All that a twin remembers: its entries, and what its faults do."""

    entries: tuple[Entry, ...]
    faults: FaultsImage


class Reply(NamedTuple):
    """What the provider answers, after so many `seconds` (infinite: never); no `receipt`: the connection just ends."""

    receipt: Receipt | None
    seconds: float


class Twin:
    """A World in this process.

    `capability` replaces that of every target, `faults` says when to misbehave, `patience` is how many seconds the
    caller waits before a late answer counts as none. Raise InvalidInput for an unknown capability or fault.
    """

    def __init__(
        self,
        targets: Mapping[str, Target],
        *,
        capability: str | None = None,
        drift: bool = False,
        ledger: Ledger | None = None,
        faults: Iterable[Fault] = (),
        patience: float = PATIENCE,
    ) -> None:
        self.capabilities = {name: capability or target.capability for name, target in targets.items()}
        for found in {*self.capabilities.values(), capability or CAPABILITIES[0]}:
            if found not in CAPABILITIES:
                raise InvalidInput(f"{found!r} is not a capability", next=f"use one of {', '.join(CAPABILITIES)}")
        self.drift = drift
        self.ledger = ledger or Ledger()
        self._faults = Faults(faults, targets)
        self._patience = patience

    def capability(self, target: str) -> str:
        """What `target` can do about repeats: `dedup`, `lookup` or `neither`."""
        return capability_of(self.capabilities, target)

    def note_activity(self, subject: str, name: str) -> ActivityCall:
        """Write down the activity call; return its number and whether to drift."""
        return ActivityCall(self.ledger.activity(subject, name), self.drift)

    def call(self, order: Order) -> Receipt:
        """Have an effect done, tapping before, executed, after; see `World.call`."""
        self.capability(order.target)
        # a copy as the wire would make it: what the caller changes later does not reach the ledger
        order = replace(order, request=msgspec.json.decode(plain(order.request)))
        with answering(order.label):
            answer = self.execute(order, lambda: tap(order.label, "executed"))
            if answer.seconds > self._patience:
                raise EffectUnknown(
                    f"{order.target} did not answer {order.operation} for {order.subject} in {self._patience} s",
                    safe="it may or may not have been done",
                    next="reconcile before trying again",
                )
            if answer.receipt is None:
                raise _unclear(order)
            return answer.receipt

    def execute(self, order: Order, executed: Callable[[], None]) -> Reply:
        """The provider's side of a call: what it answers, and when.

        `executed` is called once the order is done and before anything is answered. Raise EffectRejected, EffectUnknown
        or ProviderAway as the rules and the faults say, and InvalidInput for a target that is not there.
        """
        dedup = self.capability(order.target) == "dedup"
        fault = self._faults.next(order)
        what = fault.what if fault else ""
        if fault and what == "refuse":
            raise self.ledger.refuse(order, fault.reason, f"as its fault at call {fault.nth} says")
        if what == "away":
            raise _nobody(order.target)
        if what == "fail_before":
            raise _unclear(order)
        if what == "timeout_before":
            return Reply(None, math.inf)
        receipt = self.ledger.effect(order, dedup=dedup)
        if what == "reply_twice":
            self.ledger.effect(order, dedup=dedup)
        executed()
        if what == "fail_after":
            raise _unclear(order)
        if what == "reply_lost":
            return Reply(None, 0.0)
        if what == "timeout_after":
            return Reply(receipt, math.inf)
        return Reply(receipt, fault.seconds if fault and what == "late" else 0.0)

    def lookup(self, target: str, key: str, label: str) -> Receipt | None:
        """Ask a `lookup` target what it did first under `key`; taps before, after."""
        require_lookup(self.capability(target), target)
        with answering(label):
            self.require_present(target)
            return self.ledger.find(target, key)

    def compensate(self, target: str, receipt_id: str, label: str) -> Receipt:
        """Undo the effect with this receipt, once; taps before, executed, after."""
        self.capability(target)
        with answering(label):
            self.require_present(target)
            receipt = self.ledger.compensate(target, receipt_id)
            tap(label, "executed")
            return receipt

    def require_present(self, target: str) -> None:
        """Raise ProviderAway when `target` is away at this question, as its fault says."""
        if self._faults.absent(target):
            raise _nobody(target)

    def remembered(self) -> FaultsImage:
        """What it knows of calls because it is told to misbehave."""
        return self._faults.image()

    @property
    def calls(self) -> int:
        """How many calls and questions a world that is told to misbehave has had; 0 for any other."""
        return self._faults.count

    @property
    def faulty(self) -> bool:
        """Whether it is told to misbehave at all."""
        return bool(self._faults)

    def entries(self) -> list[Entry]:
        """Everything that happened, oldest first."""
        return self.ledger.entries()

    def image(self) -> Image:
        """All that the twin remembers, to be given to `restore` later."""
        return Image(self.ledger.image(), self.remembered())

    def restore(self, image: Image) -> None:
        """Go back to an `image`; raise InvalidInput when the ledger is a file."""
        self.ledger.restore(image.entries)
        self._faults.restore(image.faults)


def _unclear(order: Order) -> EffectUnknown:
    return EffectUnknown(
        f"{order.target} gave no clear answer to {order.operation} for {order.subject}",
        safe="it may or may not have been done",
        next="reconcile before trying again",
    )


def _nobody(target: str) -> ProviderAway:
    return ProviderAway(
        f"nobody was there to take a call at {target}: the connection was refused",
        safe="nothing was sent, so nothing was done",
        next="try again when the provider is back",
    )
