"""What a campaign measures: which cells, how often, in which order, and under which name it can be gone on with."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from itertools import product

import msgspec

from labkit.cases.desk import EFFECTS
from labkit.errors import InvalidInput
from labkit.measure.trial import SITUATIONS, WINDOWS, Cell

POLICIES = ("bare", "keyed", "ledger")
"""How effects are performed: as the framework's documentation writes them, and made safe in two ways."""
AT = {"second resumer": "W1"}
"""Where the crash is in a situation that has only one: W5 of the refund unless it stands here."""


class Plan(msgspec.Struct, kw_only=True, frozen=True):
    """A campaign: each stack under each policy, `repeat` trials a cell, in an order that depends on `seed` alone."""

    stacks: tuple[str, ...]
    policies: tuple[str, ...] = POLICIES
    repeat: int = 40
    seed: int = 1

    @property
    def id(self) -> str:
        """The campaign's name: the same plan is the same campaign, which is gone on with."""
        return f"campaign-{hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:12]}"

    def cells(self) -> list[Cell]:
        """Every cell, stack after stack, within a stack in an order of chance."""
        chance = random.Random(self.seed)
        found: list[Cell] = []
        for stack in self.stacks:
            ours = [cell for policy in self.policies for cell in cells_of(stack, policy)]
            chance.shuffle(ours)
            found += ours
        return found


def cells_of(stack: str, policy: str) -> list[Cell]:
    """The cells of one stack under one policy: each window of each effect, and each situation besides the crash."""
    crashes = [
        Cell(stack=stack, policy=policy, window=window, effect=effect) for effect, window in product(EFFECTS, WINDOWS)
    ]
    others = [
        Cell(stack=stack, policy=policy, window=AT.get(situation, "W5"), effect=EFFECTS[0], situation=situation)
        for situation in SITUATIONS[1:]
    ]
    return crashes + others


def plan_of(stacks: Sequence[str], policies: Sequence[str] = (), repeat: int = 40, seed: int = 1) -> Plan:
    """A checked plan; no policies mean all. Raise InvalidInput for no stack, an unknown policy or no repetition."""
    unknown = [policy for policy in policies if policy not in POLICIES]
    if unknown or not stacks or repeat < 1:
        wrong = f"policy {unknown[0]!r}" if unknown else f"{len(stacks)} stacks, repeat={repeat}"
        raise InvalidInput(
            f"a campaign cannot be planned: {wrong}",
            safe="nothing was run",
            next=f"name at least one stack; policies of a framework are {', '.join(POLICIES)}",
        )
    chosen = tuple(dict.fromkeys(policies)) or POLICIES
    return Plan(stacks=tuple(dict.fromkeys(stacks)), policies=chosen, repeat=repeat, seed=seed)
