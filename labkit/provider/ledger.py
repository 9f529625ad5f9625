"""A provider's ledger: what happened outside, and the rules about repeats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from labkit.errors import EffectRejected, InvalidInput
from labkit.model import Order, Receipt
from labkit.provider.ledger_file import LedgerFile
from labkit.provider.protocol import Entry


def _now() -> str:
    return datetime.now(UTC).isoformat()


class Ledger:
    """The entries of one world, in memory and, when `path` is given, in a file that is synced at every entry.

    `now` tells the time as ISO 8601 text. `torn` holds the cut-off last line that opening the file dropped. Raise
    InvalidState when the file is damaged in any other way.
    """

    def __init__(self, path: str | Path | None = None, *, now: Callable[[], str] = _now) -> None:
        self._now = now
        self._file = LedgerFile(path) if path is not None else None
        self._entries: list[Entry] = self._file.entries if self._file else []
        self._index: _Index | None = None
        self.torn = self._file.torn if self._file else b""

    def entries(self) -> list[Entry]:
        """All entries, oldest first."""
        return list(self._entries)

    def image(self) -> tuple[Entry, ...]:
        """The content, to be given to `restore` later."""
        return tuple(self._entries)

    def restore(self, image: tuple[Entry, ...]) -> None:
        """Go back to an `image`; raise InvalidInput when there is a file, because a file only grows."""
        if self._file is not None:
            raise InvalidInput(f"ledger {self._file.path} is a file: it cannot go back", next="use one without a path")
        self._entries, self._index = list(image), None

    def close(self) -> None:
        """Close the file, if there is one. Nothing can be written after that."""
        if self._file is not None:
            self._file.close()

    def effect(self, order: Order, *, dedup: bool) -> Receipt:
        """Execute `order`; with `dedup`, a key executed before is answered with the first receipt.

        The request is plain data that nobody changes later. Raise EffectRejected `invalid_request` when that key came
        with another operation or request.
        """
        first = self._indexed.first.get((order.target, order.key)) if dedup and order.key is not None else None
        if first is None:
            receipt_id = f"{order.target}-{self._indexed.counts['effect', order.target] + 1}"
            self._append_order("effect", order, receipt_id)
            return Receipt(id=receipt_id)
        if (first.operation, first.request) != (order.operation, order.request):
            raise self.refuse(order, "invalid_request", f"key {order.key!r} was used for another request")
        return Receipt(id=first.receipt_id)

    def refuse(self, order: Order, reason: str, why: str) -> EffectRejected:
        """Write that `order` is turned down for good; return the error to raise, with `reason` and `why`."""
        self._append_order("refused", order, "")
        return EffectRejected(
            reason,
            f"{order.target} refused {order.operation} for {order.subject}: {reason}, {why}",
            safe="nothing was done for this order",
            next="do not send it again: correct what asks for it, or let a person decide",
        )

    def activity(self, subject: str, name: str) -> int:
        """Write that the activity `name` is called for `subject`; return how often that subject was called so far."""
        self._append("activity", name, subject)
        return self._indexed.counts["activity", subject]

    def find(self, target: str, key: str) -> Receipt | None:
        """The receipt of the first effect that `target` executed under `key`, or None."""
        effect = self._indexed.first.get((target, key))
        return Receipt(id=effect.receipt_id) if effect else None

    def compensate(self, target: str, receipt_id: str) -> Receipt:
        """Undo an effect once; a repeat returns the first receipt. Raise EffectRejected `gone` if there is none."""
        undone = self._indexed.undone.get((target, receipt_id))
        if undone is not None:
            return Receipt(id=undone.receipt_id)
        effect = self._indexed.effects.get((target, receipt_id))
        if effect is None:
            raise EffectRejected(
                "gone",
                f"{target} has no receipt {receipt_id!r} to compensate",
                safe="nothing was done",
                next="look the receipt up among the provider's entries",
            )
        new_id = f"{receipt_id}-compensated"
        request = {"receipt_id": receipt_id}
        self._append("compensation", "compensate", effect.subject, target=target, request=request, receipt_id=new_id)
        return Receipt(id=new_id)

    @property
    def _indexed(self) -> _Index:
        if self._index is None:  # on demand, because many restored images are only read
            self._index = _Index(self._entries)
        return self._index

    def _append_order(self, kind: Literal["effect", "refused"], order: Order, receipt_id: str) -> None:
        self._append(
            kind,
            order.operation,
            order.subject,
            target=order.target,
            key=order.key,
            request=order.request,
            receipt_id=receipt_id,
            identity=order.identity,
        )

    def _append(
        self,
        kind: Literal["effect", "activity", "compensation", "refused"],
        operation: str,
        subject: str,
        *,
        target: str = "",
        key: str | None = None,
        request: dict[str, Any] | None = None,
        receipt_id: str = "",
        identity: str = "",
    ) -> None:
        entry = Entry(
            seq=len(self._entries) + 1,
            kind=kind,
            target=target,
            operation=operation,
            key=key,
            subject=subject,
            request=request or {},
            receipt_id=receipt_id,
            at=self._now(),
            identity=identity,
        )
        if self._file is not None:
            self._file.append(entry)  # first the disk: memory never knows more than a restart would
        self._entries.append(entry)
        if self._index is not None:
            self._index.add(entry)


class _Index:
    """Where the rules find what they ask for, without reading every entry."""

    def __init__(self, entries: list[Entry]) -> None:
        self.first: dict[tuple[str, str], Entry] = {}  # (target, key) -> its first effect
        self.effects: dict[tuple[str, str], Entry] = {}  # (target, receipt id) -> effect
        self.undone: dict[tuple[str, str], Entry] = {}  # (target, receipt id of the effect) -> compensation
        self.counts: Counter[tuple[str, str]] = Counter()  # ("effect", target) and ("activity", subject)
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        if entry.kind == "effect":
            self.counts["effect", entry.target] += 1
            self.effects[entry.target, entry.receipt_id] = entry
            if entry.key is not None:
                self.first.setdefault((entry.target, entry.key), entry)
        elif entry.kind == "activity":
            self.counts["activity", entry.subject] += 1
        elif entry.kind == "compensation":
            self.undone[entry.target, entry.request["receipt_id"]] = entry
