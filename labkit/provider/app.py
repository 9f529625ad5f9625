"""The provider as an ASGI app: many worlds in one process, each with a ledger file of its own.

A world is a `Twin`: the app adds HTTP, traps that kill the caller, and answers that are late. One event loop runs
all of it, and an order is executed without giving way, so that each ledger has one writer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from labkit.errors import InvalidInput, LabError
from labkit.provider import wire
from labkit.provider.answer import Answer
from labkit.provider.ledger import Ledger
from labkit.provider.traps import Traps
from labkit.provider.twin import Reply, Twin

T = TypeVar("T")


@dataclass
class _World:
    twin: Twin
    info: wire.WorldInfo
    traps: Traps = field(default_factory=Traps)


class Worlds:
    """The open worlds of one provider process; their ledger files lie below `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._worlds: dict[str, _World] = {}

    def create(self, name: str, new: wire.NewWorld) -> wire.WorldInfo:
        """Open a world, going on with its ledger file if there is one.

        Raise InvalidInput for a bad name, folder, capability or fault, or a name that is open, InvalidState for a
        damaged ledger. Nothing is written then.
        """
        if wire.require_name(name) in self._worlds:
            raise InvalidInput(f"world {name!r} is open already", safe="it goes on", next="close it, or use another")
        twin = Twin(new.targets, capability=new.capability, drift=new.drift, faults=new.faults)
        path = self._folder(new.folder) / f"provider-{name}.jsonl"
        twin.ledger = Ledger(path)
        torn_bytes = len(twin.ledger.torn)
        info = wire.WorldInfo(
            capabilities=twin.capabilities,
            drift=new.drift,
            ledger=str(path),
            torn_bytes=torn_bytes,
            faulty=twin.faulty,
        )
        self._worlds[name] = _World(twin, info)
        return info

    def _folder(self, wanted: str) -> Path:
        try:
            folder = (self._root / wanted).resolve()
            if folder.is_relative_to(self._root):
                folder.mkdir(parents=True, exist_ok=True)
                return folder
        except (OSError, ValueError) as error:
            raise InvalidInput(f"folder {wanted!r} cannot be used: {error}", next="use another") from None
        raise InvalidInput(f"folder {wanted!r} is outside the provider's root", next=f"use one in {self._root}")

    def find(self, name: str) -> _World:
        """The open world called `name`; raise InvalidInput when there is none."""
        if name not in self._worlds:
            raise InvalidInput(f"no world {name!r} is open", safe="nothing was done", next="create it first")
        return self._worlds[name]

    def close(self, name: str) -> None:
        """Close a world; its ledger file stays. Raise InvalidInput when there is none."""
        self.find(name).twin.ledger.close()
        del self._worlds[name]


class Endpoints:
    """One method a route. Each reads the request, asks the world, and answers."""

    def __init__(self, worlds: Worlds) -> None:
        self._worlds = worlds

    def _world(self, request: Request) -> _World:
        return self._worlds.find(request.path_params["world"])

    async def create(self, request: Request) -> Response:
        """Open a world."""
        new = await _read(request, wire.NewWorld)
        return Answer(msgspec.json.encode(self._worlds.create(request.path_params["world"], new)))

    async def info(self, request: Request) -> Response:
        """Describe a world."""
        return Answer(msgspec.json.encode(self._world(request).info))

    async def close(self, request: Request) -> Response:
        """Close a world."""
        self._worlds.close(request.path_params["world"])
        return Answer(b"null")

    async def call(self, request: Request) -> Response:
        """Execute an order."""
        order = await _read(request, wire.NewOrder)
        world = self._world(request)
        return _effect(world, request, order.target, order.label, lambda done: world.twin.execute(order, done))

    async def compensate(self, request: Request) -> Response:
        """Undo an effect."""
        undo = await _read(request, wire.NewCompensation)
        world = self._world(request)

        def execute(done: Callable[[], None]) -> Reply:
            world.twin.require_present(undo.target)
            receipt = world.twin.ledger.compensate(undo.target, undo.receipt_id)
            done()
            return Reply(receipt, 0.0)

        return _effect(world, request, undo.target, undo.label, execute)

    async def lookup(self, request: Request) -> Response:
        """Say what was done under a key."""
        query = request.query_params
        if set(query) != {"target", "key"}:
            raise InvalidInput("a lookup needs target and key", safe="nothing was done", next="?target=...&key=...")
        return Answer(msgspec.json.encode(self._world(request).twin.lookup(query["target"], query["key"], "lookup")))

    async def activity(self, request: Request) -> Response:
        """Note an activity call."""
        new = await _read(request, wire.NewActivity)
        return Answer(msgspec.json.encode(self._world(request).twin.note_activity(new.subject, new.name)))

    async def entries(self, request: Request) -> Response:
        """List the ledger."""
        return Answer(msgspec.json.encode(self._world(request).twin.entries()))

    async def faults(self, request: Request) -> Response:
        """Say what is remembered of calls."""
        return Answer(msgspec.json.encode(self._world(request).twin.remembered()))

    async def arm(self, request: Request) -> Response:
        """Set a trap for the caller."""
        arm = await _read(request, wire.Arm)
        self._world(request).traps.arm(arm, _caller(request))
        return Answer(b"null")


def build_app(root: Path) -> Starlette:
    """The app of one provider process whose ledger files lie below `root`."""
    do = Endpoints(Worlds(root))
    routes = [
        Route("/w/{world}/calls", do.call, methods=["POST"]),
        Route("/w/{world}/activities", do.activity, methods=["POST"]),
        Route("/w/{world}/lookup", do.lookup, methods=["GET"]),
        Route("/w/{world}/compensations", do.compensate, methods=["POST"]),
        Route("/w/{world}/entries", do.entries, methods=["GET"]),
        Route("/w/{world}/faults", do.faults, methods=["GET"]),
        Route("/w/{world}/arm", do.arm, methods=["POST"]),
        Route("/w/{world}", do.create, methods=["PUT"]),
        Route("/w/{world}", do.info, methods=["GET"]),
        Route("/w/{world}", do.close, methods=["DELETE"]),
    ]
    # a foreign host name in the request means that a web page was rebound to this address
    local = Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
    return Starlette(routes=routes, middleware=[local], exception_handlers={LabError: _refusal})


def _effect(
    world: _World,
    request: Request,
    target: str,
    label: str,
    execute: Callable[[Callable[[], None]], Reply],
) -> Response:
    """Let the traps see the order before and after `execute`, and answer."""
    world.twin.capability(target)
    caller = _caller(request)
    executed = False

    def done() -> None:
        nonlocal executed
        executed = True
        world.traps.passing(label, "executed", caller)

    world.traps.passing(label, "before", caller)
    try:
        reply = execute(done)
    except LabError as error:
        return _problem(error, executed=executed)
    content = msgspec.json.encode(reply.receipt)
    return Answer(content, executed=executed, seconds=reply.seconds, cut=reply.receipt is None)


async def _read(request: Request, kind: type[T]) -> T:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > wire.MAX_BODY:
            raise InvalidInput(f"the request has more than {wire.MAX_BODY} bytes", safe="nothing was written")
    return wire.decode(bytes(body), kind)


def _caller(request: Request) -> int | None:
    pid = request.headers.get(wire.PID_HEADER, "")
    return int(pid) if re.fullmatch(r"[1-9][0-9]{0,9}", pid) else None


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, LabError)
    return _problem(error, executed=False)


def _problem(error: LabError, *, executed: bool) -> Response:
    status, body = wire.problem_of(error)
    return Answer(body, status, executed=executed)
