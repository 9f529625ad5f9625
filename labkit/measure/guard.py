"""The lab's effect policies around a framework's effects: bare, keyed, or with an effect ledger beside its store."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from labkit.cases.desk import TARGETS
from labkit.effects import ledger
from labkit.effects.key import effect_key
from labkit.effects.policies import POLICIES, Effect
from labkit.errors import EffectRejected
from labkit.model import Order, Run, State
from labkit.provider.protocol import World
from labkit.stacks.base import NeedsPerson
from labkit.store import runs
from labkit.store.sqlite import SqliteStore
from labkit.suspend import Suspend

TENANT = "acme"
DATABASE = "effects.db"


class Guard:
    """Performs the effects of run `run_id` under `policy`; the ledger, if the policy has one, is a file in `folder`.

    A process takes the run over with its first effect: an older one can then write nothing into the ledger any more.
    Raises NeedsPerson for an effect that only a person can settle, EffectRejected for one that was refused.
    """

    def __init__(self, policy: str, folder: Path, run_id: str, world: World) -> None:
        self._policy, self._world = POLICIES[policy](), world
        self._path = folder / DATABASE if self._policy.tracks else ":memory:"
        self._run: Run[Any] = Run(
            tenant_id=TENANT,
            workflow_id="refund",
            workflow_version="1",
            run_id=run_id,
            origin=run_id,
            policy=policy,
            next_transition=None,
            data=State(),
        )
        self._claiming = threading.Lock()

    def __call__(self, step: str, order: Order) -> str:
        """Perform `order` of `step`; return the receipt's id."""
        keyed = msgspec.structs.replace(order, key=effect_key(TENANT, "refund", self._run.run_id, step))
        with closing(self._open()) as store:  # frameworks call from threads of their own
            self._claim(store)
            effect = Effect(
                store, self._world, self._run, step, keyed, TARGETS[order.target], None, lambda write: None, []
            )
            try:
                receipt = self._policy.perform(effect)
            except Suspend as stopped:
                with store.transaction(f"{step}/ask") as tx:
                    stopped.write(tx)
                raise NeedsPerson(stopped.reason, safe="nothing was repeated", next="reconcile it") from None
        if receipt.status == "rejected":
            raise EffectRejected(receipt.id, f"effect {keyed.key} was refused: {receipt.id}")
        return receipt.id

    def _claim(self, store: SqliteStore) -> None:
        with self._claiming:
            if self._run.fence or not self._policy.tracks:
                return
            with store.transaction("run/claim") as tx:
                if runs.status_of(tx, TENANT, self._run.run_id) == "none":
                    runs.insert(tx, self._run, "framework")
                self._run.fence = runs.claim(tx, TENANT, self._run.run_id, "worker").fence

    def _open(self) -> SqliteStore:
        store = SqliteStore(self._path)
        for schema in (runs.SCHEMA, ledger.SCHEMA):
            store.install(schema)
        return store


def open_effects(folder: Path, run_id: str) -> list[str]:
    """The keys of the run's effects that nobody knows the outcome of, as the ledger in `folder` says."""
    if not (folder / DATABASE).exists():
        return []
    with closing(SqliteStore(folder / DATABASE)) as store:
        return [entry.effect_key for entry in ledger.entries(store, run_id) if entry.status not in ledger.SETTLED]
