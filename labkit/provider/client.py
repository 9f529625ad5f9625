"""A World over HTTP: the caller's side of a provider process on this machine."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec
from httptools import HttpParserError

from labkit.errors import EffectUnknown, InvalidInput, ProviderAway
from labkit.model import ActivityCall, Order, Receipt, Target
from labkit.provider import wire
from labkit.provider.caller import answering, capability_of, plain, require_lookup
from labkit.provider.connection import Connections
from labkit.provider.faults import Fault
from labkit.provider.protocol import PATIENCE, Entry, FaultsImage
from labkit.taps import Tap, tap

T = TypeVar("T")
_HOUSEKEEPING = 20.0  # seconds: opening, arming and reading a world are not part of any experiment


class Client:
    """The world called `world` of the provider process at `url`, as a World; both can be read back.

    `patience` is how many seconds a call waits for an answer before it raises EffectUnknown; without a connection it
    raises ProviderAway. `info` is what the provider said about the world to whoever opened it; `connections` those that
    it shares with other worlds, made on first use, and anew in a forked process. Raise InvalidInput for a `url` that is
    not on this machine, or for a bad name.
    """

    def __init__(
        self,
        url: str,
        world: str,
        *,
        patience: float = PATIENCE,
        info: wire.WorldInfo | None = None,
        connections: Connections | None = None,
    ) -> None:
        _require_loopback(url)
        self.url, self.world = url.rstrip("/"), wire.require_name(world)
        self._patience = patience
        self._info = info
        self._connections = connections or Connections(self.url)

    def create(
        self,
        targets: Mapping[str, Target],
        *,
        capability: str | None = None,
        drift: bool = False,
        faults: Iterable[Fault] = (),
        folder: str = ".",
    ) -> wire.WorldInfo:
        """Open the world; arguments as for `Twin`, `folder` for its ledger file below the provider's root.

        A ledger file that is there already is gone on with. Raise InvalidInput or InvalidState as the provider says.
        """
        new = {"targets": targets, "capability": capability, "drift": drift, "faults": list(faults), "folder": folder}
        self._info = self._ask("PUT", "", new, wire.WorldInfo)
        return self._info

    @property
    def info(self) -> wire.WorldInfo:
        """What the provider says about the world; asked for when nobody has told."""
        if self._info is None:
            self._info = self._ask("GET", "", None, wire.WorldInfo)
        return self._info

    @property
    def drift(self) -> bool:
        """Whether model stand-ins should answer differently on a second call."""
        return self.info.drift

    def capability(self, target: str) -> str:
        """What `target` can do about repeats: `dedup`, `lookup` or `neither`."""
        return capability_of(self.info.capabilities, target)

    def note_activity(self, subject: str, name: str) -> ActivityCall:
        """Write down the activity call; return its number and whether to drift."""
        return self._ask("POST", "/activities", {"subject": subject, "name": name}, ActivityCall)

    def call(self, order: Order) -> Receipt:
        """Have an effect done, tapping before, executed, after; see `World.call`."""
        self.capability(order.target)
        body = plain(order)
        with answering(order.label):
            return _read(self._exchange("POST", "/calls", body, self._patience, order.label), Receipt)

    def lookup(self, target: str, key: str, label: str) -> Receipt | None:
        """Ask a `lookup` target what it did first under `key`; taps before, after."""
        require_lookup(self.capability(target), target)
        query = urlencode({"target": target, "key": key})
        with answering(label):
            answer = self._exchange("GET", f"/lookup?{query}", b"", self._patience)
            return msgspec.json.decode(answer, type=Receipt | None)

    def compensate(self, target: str, receipt_id: str, label: str) -> Receipt:
        """Undo the effect with this receipt, once; taps before, executed, after."""
        self.capability(target)
        body = plain({"target": target, "receipt_id": receipt_id, "label": label})
        with answering(label):
            return _read(self._exchange("POST", "/compensations", body, self._patience, label), Receipt)

    def remembered(self) -> FaultsImage:
        """What it knows of calls because it is told to misbehave."""
        return self._ask("GET", "/faults", None, FaultsImage) if self.info.faulty else FaultsImage()

    def entries(self) -> list[Entry]:
        """Everything that happened, oldest first."""
        return self._ask("GET", "/entries", None, list[Entry])

    def arm(self, tap: Tap) -> None:
        """Have the provider SIGKILL this process at `tap` (phase before or executed), counted from now on.

        Raise InvalidInput for phase `after`: an answered caller is out of the provider's hands.
        """
        trap = {"label": tap.label, "phase": tap.phase, "occurrence": tap.occurrence, "pid": os.getpid()}
        self._ask("POST", "/arm", trap, type(None))

    def close_world(self) -> None:
        """Close the world at the provider; its ledger file stays."""
        self._ask("DELETE", "", None, type(None))
        self._info = None

    def move(self, url: str) -> None:
        """Go on at the provider at `url`, where the world is open as well."""
        self.close()
        self.url = url.rstrip("/")
        self._connections = Connections(self.url)

    def close(self) -> None:
        """Close what is connected; the next use connects anew."""
        self._connections.close()

    def _ask(self, method: str, path: str, body: Any, kind: type[T]) -> T:
        content = b"" if body is None else plain(body)
        return _read(self._exchange(method, path, content, _HOUSEKEEPING), kind)

    def _exchange(self, method: str, path: str, body: bytes, patience: float, label: str = "") -> bytes:
        """Send a request and return the body of its answer; an order's `executed` tap comes with the answer's head."""
        try:
            connection = self._connections.take(patience)
        except OSError as error:
            raise ProviderAway(
                f"no connection for {method} {self.url}/w/{self.world}{path}: {type(error).__name__} {error}",
                safe="nothing was sent, so nothing was done",
                next="try again; see whether the provider is still running",
            ) from error
        try:
            answer = connection.request(method, f"/w/{self.world}{path}", {wire.PID_HEADER: str(os.getpid())}, body)
            if label and wire.EXECUTED_HEADER in answer.headers:
                tap(label, "executed")
            content = connection.finish(answer)
        except BaseException as error:
            connection.close()
            if not isinstance(error, (OSError, HttpParserError)):
                raise
            raise EffectUnknown(
                f"no clear answer to {method} {self.url}/w/{self.world}{path}: {type(error).__name__} {error}",
                safe="it may or may not have been done",
                next="reconcile before trying again; see whether the provider is still running",
            ) from error
        self._connections.give_back(connection)
        if answer.status != 200:
            raise wire.error_of(answer.status, content)
        return content


def _read(answer: bytes, kind: type[T]) -> T:
    return msgspec.json.decode(answer, type=kind)


def _require_loopback(url: str) -> None:
    try:
        parts = urlsplit(url)
        local = parts.hostname == "localhost" or ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        local = False
    if not local or parts.scheme != "http":
        raise InvalidInput(f"{url!r} is not a provider on this machine", next="use http://127.0.0.1:PORT")
