"""Workflows whose next process would do something else: what it forgot, and what only an import tells."""

from __future__ import annotations

import enum
import os
import random
import time
import uuid
from typing import Any

from processes import TARGETS, Seen

from labkit.model import Context, Workflow

forgotten: dict[str, int] = {}
done: set[str] = set()
HOST = uuid.uuid4().hex
BEGUN, DAY = time.time(), 7
PLACE: str = os.environ.get("HOME", "")
CHANCE = random.Random()
SEEDED = random.Random(3)


def begin() -> Seen:
    """Nothing seen yet."""
    return Seen()


def flow(name: str) -> Workflow[Seen]:
    """A workflow without steps."""
    return Workflow(name, version="1", state=Seen, begin=begin, targets=TARGETS)


class Colour(enum.Enum):
    """A class that holds its own instances."""

    RED = "red"

    def shown(self) -> str:
        """Its name."""
        return self.value


forgetting = flow("forgetting")


@forgetting.step
def settle(ctx: Context, state: Seen) -> Any:
    """What is to be paid stays in memory, and a default would do as well."""
    forgotten["amount"] = 100
    done.add("greeting")
    return pay


@forgetting.step
def pay(ctx: Context, state: Seen) -> Any:
    """Pays it, and greets unless it was done."""
    if "greeting" not in done:
        ctx.effect("post", "greet", {})
    ctx.effect("bank", "pay", {"amount": forgotten.get("amount", 0)})


imported = flow("imported")


@imported.step
def use(ctx: Context, state: Seen) -> Any:
    """Sends what its module read when it was imported."""
    ctx.effect("bank", "pay", {"all": [HOST, BEGUN, PLACE, CHANCE.random(), SEEDED.random()]})


hashing = flow("hashing")


@hashing.step
def hash_it(ctx: Context, state: Seen) -> Any:
    """Sends what Python makes of a text, which is another number in another process, and of a number."""
    ctx.effect("bank", "pay", {"text": hash("a text"), "number": hash(7)})


coloured = flow("coloured")


@coloured.step
def colour(ctx: Context, state: Seen) -> Any:
    """Sends a member of an enumeration."""
    ctx.effect("bank", "pay", {"colour": Colour.RED.shown()})
