"""The workflows of the Temporal probes: an order, as it was and after changes of its code, and what else is tried."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio import activity, workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from labkit.bench.trace import KILL

PRICE = 49
OPTIONS: dict[str, Any] = {
    "start_to_close_timeout": timedelta(seconds=2),
    "retry_policy": RetryPolicy(initial_interval=timedelta(milliseconds=100), maximum_attempts=5),
}


class World:
    """The activities. What they do outside is a line in the file `outside`, which survives a SIGKILL.

    The process dies when it comes to the place `kill`: `pay entered`, or `pay executed`.
    """

    def __init__(self, outside: Path, kill: str = "") -> None:
        self._outside, self._kill = outside, kill

    @activity.defn
    def pay(self, amount: int) -> str:
        """Take the customer's money."""
        return self._act("pay")

    @activity.defn
    def check(self, amount: int) -> str:
        """Look whether it is fraud."""
        return self._act("check")

    @activity.defn
    def ship(self, count: int) -> str:
        """Send the goods."""
        return self._act("ship")

    @activity.defn
    def fetch(self, size: int) -> str:
        """Return so many characters."""
        self._act("fetch")
        return "x" * size

    @activity.defn
    def wait(self, seconds: float) -> str:
        """Do something, and return when the file `outside` with the ending `.go` is there."""
        receipt, until = self._act("wait"), time.monotonic() + seconds
        while not self._outside.with_suffix(".go").exists() and time.monotonic() < until:
            time.sleep(0.05)
        return receipt

    def _act(self, name: str) -> str:
        self._die_at(f"{name} entered")
        with self._outside.open("a", encoding="utf-8") as file:
            file.write(f"{name}\n")
        self._die_at(f"{name} executed")
        return f"receipt of {name}"

    def _die_at(self, place: str) -> None:
        if self._kill == place:
            os.kill(os.getpid(), KILL)


@workflow.defn(name="Order")
class Order:
    """Pay, then ship."""

    @workflow.run
    async def run(self) -> str:
        """Return the last receipt."""
        await workflow.execute_activity("pay", PRICE, **OPTIONS)
        return str(await workflow.execute_activity("ship", 1, **OPTIONS))


@workflow.defn(name="Order")
class Inserted:
    """The same order after somebody put a check before the shipment."""

    @workflow.run
    async def run(self) -> str:
        """Return the last receipt."""
        await workflow.execute_activity("pay", PRICE, **OPTIONS)
        await workflow.execute_activity("check", PRICE, **OPTIONS)
        return str(await workflow.execute_activity("ship", 1, **OPTIONS))


@workflow.defn(name="Order")
class Patched:
    """The same check, for runs only that have not come past it."""

    @workflow.run
    async def run(self) -> str:
        """Return the last receipt."""
        await workflow.execute_activity("pay", PRICE, **OPTIONS)
        if workflow.patched("check before shipment"):
            await workflow.execute_activity("check", PRICE, **OPTIONS)
        return str(await workflow.execute_activity("ship", 1, **OPTIONS))


@workflow.defn(name="Order")
class Repriced:
    """The same order at ten times the price."""

    @workflow.run
    async def run(self) -> str:
        """Return the last receipt."""
        await workflow.execute_activity("pay", PRICE * 10, **OPTIONS)
        return str(await workflow.execute_activity("ship", 1, **OPTIONS))


@workflow.defn
class LocalOrder:
    """The order as local activities."""

    @workflow.run
    async def run(self) -> str:
        """Return the last receipt."""
        await workflow.execute_local_activity("pay", PRICE, **OPTIONS)
        await workflow.execute_local_activity("check", PRICE, **OPTIONS)
        return str(await workflow.execute_local_activity("ship", 1, **OPTIONS))


@workflow.defn
class Waiting:
    """Pay; wait for a signal; wait `seconds`; ship."""

    def __init__(self) -> None:
        self._told = False

    @workflow.run
    async def run(self, seconds: float) -> str:
        """Return the last receipt."""
        await workflow.execute_activity("pay", PRICE, **OPTIONS)
        await workflow.wait_condition(lambda: self._told)
        await workflow.sleep(seconds)
        return str(await workflow.execute_activity("ship", 1, **OPTIONS))

    @workflow.signal
    def go(self) -> None:
        """The signal."""
        self._told = True


@workflow.defn
class Large:
    """Fetch so many characters, and pay."""

    @workflow.run
    async def run(self, size: int, ballast: str = "") -> str:
        """Return the receipt."""
        await workflow.execute_activity("fetch", size, **OPTIONS)
        return str(await workflow.execute_activity("pay", PRICE, **OPTIONS))


@workflow.defn
class Slow:
    """An activity that takes as long as somebody else wants, at most `seconds`, and then another one."""

    @workflow.run
    async def run(self, seconds: float) -> str:
        """Return the last receipt."""
        await workflow.execute_activity("wait", seconds, start_to_close_timeout=timedelta(seconds=seconds))
        return str(await workflow.execute_activity("ship", 1, **OPTIONS))


WORKFLOWS = (Order, LocalOrder, Waiting, Large, Slow)
