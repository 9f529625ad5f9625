"""The effect ledger: our own record of every effect, written before and after it is tried.

planned -> executing -> confirmed | rejected | ambiguous; ambiguous -> confirmed | planned | rejected;
planned -> ambiguous when its attempts are used up; confirmed or ambiguous -> compensated. Any other move is refused by
the UPDATE itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from labkit.asked import asked_of, differences
from labkit.canonical import canonical, request_hash
from labkit.codec import encode, read_back
from labkit.effects.key import bounds_of_run, effect_of
from labkit.errors import EffectRejected, InvalidState, StaleWrite
from labkit.journal import request_drift
from labkit.model import Order, Receipt, Run, Target
from labkit.store.protocol import Store, Tx

SCHEMA = """
CREATE TABLE IF NOT EXISTS effects (
  effect_key TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, run_id TEXT NOT NULL, step TEXT NOT NULL, target TEXT NOT NULL,
  operation TEXT NOT NULL, subject TEXT NOT NULL, request BLOB NOT NULL, request_hash TEXT NOT NULL,
  status TEXT NOT NULL, attempts INTEGER NOT NULL, max_attempts INTEGER NOT NULL, receipt_id TEXT NOT NULL,
  rejection TEXT NOT NULL, last_error TEXT NOT NULL, reconcile TEXT NOT NULL, compensate TEXT NOT NULL,
  identity TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS effects_of_run ON effects (run_id);
"""
ADDED = ("effects", "identity", "TEXT NOT NULL DEFAULT ''")  # databases of older versions lack this column
MOVES = {
    "executing": ("planned", "executing", "ambiguous"),
    "confirmed": ("executing", "ambiguous"),
    "rejected": ("executing", "ambiguous"),
    "ambiguous": ("planned", "executing", "ambiguous"),
    "planned": ("executing", "ambiguous"),
    "compensated": ("confirmed", "ambiguous"),
}
UNDONE = ("rejected", "compensated")  # such an effect stands in nobody's way
SETTLED = ("confirmed", "rejected", "compensated")
_requests = msgspec.json.Decoder(dict[str, Any])
MAX_ATTEMPTS = 8


class Entry(msgspec.Struct, kw_only=True):
    """One row of the ledger. `identity` is the business identity, empty when none was declared."""

    effect_key: str
    tenant_id: str
    run_id: str
    step: str
    target: str
    operation: str
    subject: str
    request: bytes
    request_hash: str
    status: str = "planned"
    attempts: int = 0
    max_attempts: int = MAX_ATTEMPTS
    receipt_id: str = ""
    rejection: str = ""
    last_error: str = ""
    reconcile: str = ""
    compensate: str = ""
    identity: str = ""

    @property
    def effect(self) -> str:
        """The effect's name in taps: its step, or `step/n` for the nth effect of one visit to it."""
        return effect_of(self.subject)

    def is_about(self, identity: str) -> bool:
        """True for this business identity; an effect that was planned without one is told by its request."""
        if self.identity:
            return self.identity == identity
        target, operation, fields = msgspec.json.decode(identity)
        request = read_back(_requests, self.request, f"request of effect {self.effect_key}")
        named = {name: request.get(name) for name in fields}
        return (self.target, self.operation, canonical(named)) == (target, operation, canonical(fields))

    def order(self) -> Order:
        """The effect as it is sent to the provider, always with its key; raise InvalidState if it was tampered with."""
        what = f"request of effect {self.effect_key}"
        request = read_back(_requests, self.request, what)
        if request_hash(request) != self.request_hash:
            raise InvalidState(
                f"{what} is not what was planned: its hash differs",
                safe="nothing was sent",
                next="let a person look at the ledger",
            )
        return Order(
            target=self.target,
            operation=self.operation,
            request=request,
            subject=self.subject,
            label=f"{self.effect}/call",
            key=self.effect_key,
            identity=self.identity,
        )


FIELDS = Entry.__struct_fields__
_INSERT = f"INSERT INTO effects VALUES ({','.join('?' * len(FIELDS))})"
_SELECT = f"SELECT {', '.join(FIELDS)} FROM effects"


def new_entry(run: Run[Any], step: str, order: Order, target: Target) -> Entry:
    """A planned entry for `order`, not yet written; raise InvalidState for a request that cannot be stored."""
    return Entry(
        effect_key=order.key or "",
        tenant_id=run.tenant_id,
        run_id=run.run_id,
        step=step,
        target=order.target,
        operation=order.operation,
        subject=order.subject,
        request=encode(order.request, f"request of effect {order.key}"),
        request_hash=request_hash(order.request),
        reconcile=target.reconcile,
        compensate=target.compensate,
        identity=order.identity,
    )


def plan(tx: Tx, entry: Entry) -> None:
    """Write the intent; raise EffectRejected when it would repeat another effect of the run."""
    check_identity(tx, entry.identity, entry.effect_key)
    tx.execute(_INSERT, *(getattr(entry, name) for name in FIELDS))


def find(source: Store | Tx, effect_key: str) -> Entry | None:
    """The entry with this key, or None."""
    rows = source.rows(f"{_SELECT} WHERE effect_key=?", effect_key)
    return Entry(**dict(zip(FIELDS, rows[0], strict=True))) if rows else None


def entries(source: Store | Tx, run_id: str) -> list[Entry]:
    """Every entry of a run, in the order of its keys."""
    rows = source.rows(f"{_SELECT} WHERE run_id=? ORDER BY effect_key", run_id)
    return [Entry(**dict(zip(FIELDS, row, strict=True))) for row in rows]


def get(source: Store | Tx, effect_key: str) -> Entry:
    """The entry with this key, which a run says that it planned; raise InvalidState when it is gone."""
    entry = find(source, effect_key)
    if entry is None:
        raise InvalidState(f"effect {effect_key} was planned and is not in the ledger", safe="nothing was sent")
    return entry


def check_identity(source: Store | Tx, identity: str, effect_key: str, staged: Iterable[Entry] = ()) -> None:
    """Raise EffectRejected, naming the other, when an effect of the same run has this business identity.

    `staged` are effects that the step has planned and not committed yet. One that was rejected or compensated does not
    count: nothing of it stands.
    """
    if not identity:
        return
    low, high = bounds_of_run(effect_key)
    where = f"{_SELECT} WHERE effect_key>? AND effect_key<? ORDER BY effect_key"
    rows = source.rows(where, low, high)
    for other in (*(Entry(**dict(zip(FIELDS, row, strict=True))) for row in rows), *staged):
        if other.effect_key != effect_key and other.status not in UNDONE and other.is_about(identity):
            receipt = f", receipt {other.receipt_id}" if other.receipt_id else ""
            raise EffectRejected(
                "repeats_effect",
                f"effect {effect_key} would repeat effect {other.effect_key} ({other.status}{receipt}): "
                f"both are {identity}, which happens once in a run",
                safe="nothing was sent",
                next="go on with what the first effect did, or compensate it before asking again",
            )


def executing(tx: Tx, entry: Entry) -> Entry:
    """About to be tried: one attempt more."""
    return _move(tx, entry, "executing", attempts=entry.attempts + 1)


def confirmed(tx: Tx, entry: Entry, receipt: Receipt) -> Entry:
    """The provider did it, and this is its receipt."""
    return _move(tx, entry, "confirmed", receipt_id=receipt.id)


def rejected(tx: Tx, entry: Entry, reason: str, error: str) -> Entry:
    """The provider refused for good."""
    return _move(tx, entry, "rejected", rejection=reason, last_error=error)


def ambiguous(tx: Tx, entry: Entry, error: str) -> Entry:
    """Nobody knows whether the provider did it."""
    return _move(tx, entry, "ambiguous", last_error=error)


def cleared(tx: Tx, entry: Entry, **changes: Any) -> Entry:
    """It is known that the provider did not do it: it may be tried again."""
    return _move(tx, entry, "planned", **changes)


def compensated(tx: Tx, entry: Entry, receipt: Receipt) -> Entry:
    """The effect was undone by another effect."""
    return _move(tx, entry, "compensated", receipt_id=receipt.id)


def check_request(entry: Entry, order: Order, may_change: Collection[str] = ()) -> None:
    """Raise Drift when the same key now comes with another target, operation or request.

    The code or a model answer has changed. Fields that `may_change` do not count: the recorded request stands.
    """
    known = (entry.target, entry.operation, entry.request_hash)
    if (order.target, order.operation, request_hash(order.request)) == known:
        return
    recorded = _requests.decode(entry.request)
    differing = differences(asked_of(recorded), asked_of(order.request))
    intact = (order.target, order.operation, request_hash(recorded)) == known
    if not intact or not set(differing) <= {*may_change}:
        raise request_drift(
            f"effect {entry.effect_key} is {entry.status} as {entry.target}.{entry.operation}",
            *(asked_of(recorded), asked_of(order.request), f"{order.target}.{order.operation}", differing),
        )


def _move(tx: Tx, entry: Entry, status: str, **changes: Any) -> Entry:
    moved = msgspec.structs.replace(entry, status=status, **changes)
    allowed = ",".join(f"'{name}'" for name in MOVES[status])
    changed = tx.execute(
        "UPDATE effects SET status=?, attempts=?, receipt_id=?, rejection=?, last_error=?"
        f" WHERE effect_key=? AND status IN ({allowed})",
        *(moved.status, moved.attempts, moved.receipt_id, moved.rejection, moved.last_error, moved.effect_key),
    )
    if not changed:
        raise StaleWrite(
            f"effect {entry.effect_key}: expected one of {MOVES[status]} in order to become {status}",
            safe="the ledger is untouched",
            next="read the effect again before doing anything",
        )
    return moved
