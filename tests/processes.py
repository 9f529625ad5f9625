"""Workflows whose steps depend on what a process is: its clock, its chance, its memory. Real children import them."""

from __future__ import annotations

import datetime
import itertools
import os
import random
import time
import uuid
from collections.abc import Callable
from datetime import datetime as moment
from functools import lru_cache
from time import time as now_is
from typing import Any, ClassVar

import msgspec

from labkit.model import ActivityCall, Context, State, Target, Workflow

TARGETS = {
    "bank": Target(capability="dedup"),
    "desk": Target(capability="lookup"),
    "post": Target(capability="neither"),
}


class Seen(State):
    """What the steps saw."""

    seen: list[Any] = msgspec.field(default_factory=list)


def flow(name: str) -> Workflow[Seen]:
    """A workflow without steps."""
    return Workflow(name, version="1", state=Seen, begin=Seen, targets=TARGETS)


stamped = flow("stamped")


@stamped.step
def stamp(ctx: Context, state: Seen) -> Any:
    """Time and chance go into the state, and into the request of an effect."""
    state.seen = [ctx.now(), ctx.random()]
    state.seen.append(ctx.effect("bank", "pay", {"at": ctx.now(), "nonce": ctx.random()}).id)
    return None


dated = flow("dated")


@dated.step
def date(ctx: Context, state: Seen) -> Any:
    """Time and chance go into the state only."""
    state.seen = [ctx.now(), ctx.random()]
    state.seen.append(ctx.effect("bank", "pay", {}).id)
    return None


promised = flow("promised")


@promised.step
def promise(ctx: Context, state: Seen) -> Any:
    """A model proposes an amount, a person who is not told agrees, and it is paid."""
    state.seen = [ctx.activity(amount)]
    ctx.approval("boss", "shall I pay?")
    state.seen.append(ctx.effect("bank", "pay", {"amount": state.seen[0]}).id)
    return None


def amount(call: ActivityCall) -> int:
    """What a model proposes; a drifting one changes its mind."""
    return 900 if call.drift and call.number > 1 else 100


prices: dict[str, int] = {}
paid: set[str] = set()


@lru_cache
def once() -> list[int]:
    """A cache with something in it that can change."""
    return []


remembering = flow("remembering")


@remembering.step
def learn(ctx: Context, state: Seen) -> Any:
    """Put into memory what the next step needs."""
    prices["it"] = ctx.activity(amount)
    return spend


@remembering.step
def spend(ctx: Context, state: Seen) -> Any:
    """Read it from memory: a process that has not learnt it fails."""
    state.seen.append(ctx.effect("bank", "pay", {"amount": prices["it"]}).id)
    return None


believing = flow("believing")


@believing.step
def pay_once(ctx: Context, state: Seen) -> Any:
    """A set in memory is to keep a payment from being made twice."""
    if "it" not in paid:
        paid.add("it")
        state.seen.append(ctx.effect("post", "send", {"what": "it"}).id)
    return None


class Desk:
    """State where people put it: in a class, an instance, a default argument, a closure, a function, a counter."""

    count = 0
    seen: ClassVar[list[int]] = []

    def __init__(self) -> None:
        self.calls = 0


desk = Desk()
numbers = itertools.count(1)
total = 0


def counter() -> Callable[[], int]:
    """A function with a variable of its own."""
    calls = 0

    def count() -> int:
        nonlocal calls
        calls += 1
        return calls

    return count


count = counter()


def defaulted(seen: list[int] = []) -> int:  # noqa: B006
    """A mutable default argument."""
    seen.append(1)
    return len(seen)


def look() -> list[int]:
    """What all of these say: ones in a new process."""
    global total
    total += 1
    Desk.count += 1
    Desk.seen.append(1)
    desk.calls += 1
    once().append(1)
    look.calls = getattr(look, "calls", 0) + 1  # type: ignore[attr-defined]
    found = [total, Desk.count, len(Desk.seen), desk.calls, len(once()), look.calls]  # type: ignore[attr-defined]
    return [*found, next(numbers), count(), defaulted()]


looking = flow("looking")


@looking.step
def look_once(ctx: Context, state: Seen) -> Any:
    """Look at the memory of this process."""
    state.seen = look()
    ctx.effect("bank", "pay", {"seen": state.seen})
    return look_twice


@looking.step
def look_twice(ctx: Context, state: Seen) -> Any:
    """And once more."""
    state.seen = [*state.seen, *look()]
    ctx.effect("bank", "pay", {"seen": state.seen})
    return None


leaking = flow("leaking")


@leaking.step
def leak(ctx: Context, state: Seen) -> Any:
    """Read past the context whatever can be read, in as many ways as there are."""
    state.seen = [
        time.time(),
        now_is(),
        datetime.datetime.now(datetime.UTC).isoformat(),
        moment.now().isoformat(),
        random.random(),
        uuid.uuid4().hex,
        os.urandom(4).hex(),
        ctx.activity(inside),
    ]
    ctx.effect("bank", "pay", {})
    return None


def inside(call: ActivityCall) -> float:
    """An activity may read the time."""
    return time.time()


configured = flow("configured")


@configured.step
def configure(ctx: Context, state: Seen) -> Any:
    """Read the environment, and go through a set."""
    state.seen = [os.environ.get("HOME", "") != "", os.getenv("NO_SUCH_NAME")]
    for name in {"b", "a"}:
        state.seen.append(len(name))
    ctx.effect("bank", "pay", {"sorted": sorted({"b", "a"})})
    return None


unordered = flow("unordered")


@unordered.step
def order_of_a_set(ctx: Context, state: Seen) -> Any:
    """The order of a set of names goes into a request."""
    ctx.effect("post", "send", {"names": list({"Anna", "Ben", "Carla", "Dora", "Emil", "Fritz", "Gerd", "Hanna"})})
    return None
