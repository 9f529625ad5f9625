"""A provider that kills its caller: before an order is executed, or after, before it is answered.

Only a process that armed a trap for itself is ever killed, and only while it is still that process.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import psutil

from labkit.errors import EffectUnknown, InvalidInput
from labkit.provider.wire import Arm


@dataclass
class _Trap:
    arm: Arm
    process: psutil.Process  # knows its creation time, so that a reused pid is noticed
    seen: int = 0


class Traps:
    """The traps that the callers of one world armed, at most one a process."""

    def __init__(self) -> None:
        self._traps: dict[int, _Trap] = {}

    def arm(self, arm: Arm, caller: int | None) -> None:
        """Arm a trap, replacing an earlier one. Raise InvalidInput unless the live process `caller` asks for itself."""
        if caller != arm.pid or arm.pid == os.getpid():
            raise InvalidInput(
                f"process {caller} asked to kill process {arm.pid}",
                safe="no trap was armed",
                next="a process can arm a trap for itself only",
            )
        try:
            self._traps[arm.pid] = _Trap(arm, psutil.Process(arm.pid))
        except psutil.NoSuchProcess:
            raise InvalidInput(f"there is no process {arm.pid}", safe="no trap was armed") from None

    def passing(self, label: str, phase: str, caller: int | None) -> None:
        """Count a passing of `label` and `phase` by `caller`; SIGKILL it if its trap says so, then EffectUnknown."""
        trap = self._traps.get(caller) if caller is not None else None
        if trap is None or (trap.arm.label, trap.arm.phase) != (label, phase):
            return
        trap.seen += 1
        if trap.seen < trap.arm.occurrence:
            return
        del self._traps[trap.arm.pid]
        if trap.process.is_running():  # compares the creation time
            trap.process.kill()
            raise EffectUnknown(f"process {caller} was killed at {label}:{phase}#{trap.seen}, as it had asked")
