"""What a campaign measures: which cells, how often, in which versions, and the name under which it is gone on with."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from importlib import import_module
from itertools import product
from pathlib import Path

import msgspec

from labkit.bench.launch import DEFAULT_MODE, require_mode
from labkit.cases.desk import EFFECTS
from labkit.errors import InvalidInput
from labkit.measure.trial import BESIDES, NO_KILL, WINDOWS, Cell
from labkit.stacks.find import find_stack, installed

POLICIES = ("bare", "keyed", "ledger")
"""How effects are performed: as the framework's documentation writes them, and made safe in two ways."""
AT = {"second resumer": "W1"}
"""Where the crash is in a situation that has only one: W5 of the refund unless it stands here."""


class Plan(msgspec.Struct, kw_only=True, frozen=True):
    """A campaign: each stack under each policy, `repeat` trials a cell, in an order that depends on `seed` alone.

    `versions` has those of each stack's packages; `mode` is how processes are started.
    """

    stacks: tuple[str, ...]
    versions: dict[str, dict[str, str]]
    policies: tuple[str, ...] = POLICIES
    repeat: int = 40
    seed: int = 1
    mode: str = DEFAULT_MODE

    @property
    def id(self) -> str:
        """The campaign's name: the same plan is the same campaign, which is gone on with."""
        told = msgspec.json.encode([self, self.cells()], order="deterministic")  # results are filed by a cell's number
        return f"campaign-{hashlib.sha256(told).hexdigest()[:12]}"

    def parts(self) -> list[Plan]:
        """A plan for each stack: what was measured of one does not depend on which others were asked for."""
        return [
            msgspec.structs.replace(self, stacks=(stack,), versions={stack: self.versions[stack]})
            for stack in self.stacks
        ]

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
    """The cells of one stack under one policy: without a kill, each window of each effect, each situation besides."""
    unharmed = Cell(stack=stack, policy=policy, window="", effect="", situation=NO_KILL)
    crashes = [
        Cell(stack=stack, policy=policy, window=window, effect=effect) for effect, window in product(EFFECTS, WINDOWS)
    ]
    others = [
        Cell(stack=stack, policy=policy, window=AT.get(situation, "W5"), effect=EFFECTS[0], situation=situation)
        for situation in BESIDES
    ]
    return [unharmed, *crashes, *others]


def plan_of(
    stacks: Sequence[str],
    policies: Sequence[str] = (),
    repeat: int = 40,
    seed: int = 1,
    mode: str = DEFAULT_MODE,
) -> Plan:
    """A checked plan; no policies mean all.

    Raise InvalidInput for no stack or an unknown one, an unknown policy or mode, or no repetition.
    """
    unknown = [policy for policy in policies if policy not in POLICIES]
    if unknown or not stacks or repeat < 1:
        wrong = f"policy {unknown[0]!r}" if unknown else f"{len(stacks)} stacks, repeat={repeat}"
        raise InvalidInput(
            f"a campaign cannot be planned: {wrong}",
            safe="nothing was run",
            next=f"name at least one stack; policies of a framework are {', '.join(POLICIES)}",
        )
    asked = tuple(dict.fromkeys(stacks))
    return Plan(
        stacks=asked,
        versions={stack: versions([stack]) for stack in asked},
        policies=tuple(dict.fromkeys(policies)) or POLICIES,
        repeat=repeat,
        seed=seed,
        mode=require_mode(mode),
    )


def versions(stacks: Sequence[str]) -> dict[str, str]:
    """The versions of the distributions that these stacks are made of; of somebody's own module its content's hash.

    Raises InvalidInput for an unknown stack.
    """
    names = {package for stack in stacks for package in find_stack(stack).packages}
    own = {stack.partition(":")[0] for stack in stacks if ":" in stack}
    found = {name: installed(name) for name in {"labkit", *names}} | {name: _content(name) for name in own}
    return dict(sorted(found.items()))


def _content(module: str) -> str:
    file = import_module(module).__file__
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:12] if file else "unknown"
