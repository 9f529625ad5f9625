"""What a runner is made of, and how it is put together by name."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from typing import Any

import msgspec

from labkit.clock import Clock, ManualClock, SystemClock
from labkit.codec import Codec
from labkit.coordination import approvals
from labkit.effects import ledger
from labkit.effects.policies import POLICIES, Policy
from labkit.engines import Engine
from labkit.errors import known
from labkit.model import Workflow
from labkit.own_engines import engine_class
from labkit.provider.protocol import World
from labkit.store import artifacts, runs
from labkit.store.columns import add_missing
from labkit.store.protocol import Store
from labkit.values import ValueLog

SCHEMAS = (runs.SCHEMA, ledger.SCHEMA, approvals.SCHEMA, artifacts.SCHEMA)
ADDED = (ledger.ADDED, approvals.ADDED)


class Parts(msgspec.Struct, kw_only=True):
    """What a runner is made of; `log` keeps what calls return, for whoever judges the run."""

    store: Store
    workflow: Workflow[Any]
    codec: Codec[Any]
    engine: Engine
    policy: Policy
    world: World
    clock: Clock
    chance: Callable[[str], float]
    log: ValueLog = msgspec.field(default_factory=ValueLog)


def make_tables(store: Store, *more: str) -> None:
    """Make the tables of a lab's database, and those of `more` schemas; add columns that an older version lacks."""
    for schema in (*SCHEMAS, *more):
        store.install(schema)
    add_missing(store, ADDED)


def chance_of(process: int) -> Callable[[str], float]:
    """The draws of process number `process`: a number in [0, 1) that depends on that number and the subject alone."""

    def draw(subject: str) -> float:
        return int.from_bytes(hashlib.sha256(f"{process} {subject}".encode()).digest()[:6]) / 2**48

    return draw


def assemble(
    workflow: Workflow[Any],
    store: Store,
    world: World,
    *,
    engine: str = "hybrid",
    policy: str = "ledger",
    clock: Clock | None = None,
    process: int = 1,
) -> Parts:
    """The parts of a runner by name, with their tables made; raise InvalidInput for a name that does not exist.

    Under a clock that stands still a random number depends on the call and on `process`, the number of the process.
    """
    made, _ = engine_class(engine), known("policy", policy, POLICIES)
    codec = Codec(workflow)
    built = made(store, codec)
    make_tables(store, built.schema)
    return Parts(
        store=store,
        workflow=workflow,
        codec=codec,
        engine=built,
        policy=POLICIES[policy](),
        world=world,
        clock=clock or SystemClock(),
        chance=chance_of(process) if isinstance(clock, ManualClock) else lambda subject: random.random(),
    )
