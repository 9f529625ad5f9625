"""A campaign from its plan to its report, in this process alone or with workers on a shared Postgres."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from pathlib import Path

from labkit.errors import InvalidInput
from labkit.measure import durable
from labkit.measure.plan import Plan
from labkit.measure.report import StackReport, report_of
from labkit.measure.servers import Services, services_for
from labkit.measure.sites import Sites
from labkit.measure.worker import Watchman, executor_name, sqlalchemy_url
from labkit.stacks.find import find_stack

LANES = 2
ALONE = "campaign"
"""The executor's name on SQLite: the next process is the same executor, and goes on with what it left."""
DATABASE, LOCK = "campaign.db", "lock.db"
OURS = {DATABASE, LOCK, "trials", "servers", "checks", "probes"}
"""What a campaign's folder may hold, beside SQLite's own files."""
Progress = Callable[[int, int], None]


def run(
    plan: Plan,
    folder: str | Path,
    *,
    dsn: str = "",
    keep: bool = False,
    lanes: int = LANES,
    progress: Progress | None = None,
) -> StackReport:
    """Measure what `plan` says and is not measured yet; return the report on all of it.

    `folder` holds the campaign's database unless a Postgres `dsn` does, and the trials while they run (for good with
    `keep`). `progress(done, of)` counts cells. A stack whose server is missing, or that cannot get ready, is reported
    as not run. Interrupted or killed, the same call goes on where it stopped. Raises InvalidInput, before anything is
    written, for an unknown stack, a folder that holds something else, and an address where no Postgres answers.
    """
    place = require_folder(Path(folder))
    needs = {name: find_stack(name).services for name in plan.stacks}
    begun = time.perf_counter()
    with ExitStack() as stack:
        name = executor_name() if dsn else ALONE
        watchman = stack.enter_context(Watchman(dsn, name)) if dsn else None
        place.mkdir(parents=True, exist_ok=True)
        stack.enter_context(_alone_in(place))
        servers = stack.enter_context(services_for(plan.stacks, place / "servers"))
        unable = {name: why for name, services in needs.items() if (why := _lacking(services, servers))}
        sites = stack.enter_context(Sites(place / "trials", servers.addresses, lanes=lanes, keep=keep))
        unable |= sites.unfit([each for each in plan.stacks if each not in unable], plan.mode)
        parts = [part for part in plan.parts() if part.stacks[0] not in unable]
        database = sqlalchemy_url(dsn) if dsn else f"sqlite:///{place.resolve() / DATABASE}"
        queues = [durable.queue_of(part.stacks[0]) for part in parts]
        stack.enter_context(durable.executor(database, name, sites, queues))
        stack.enter_context(watchman.on_duty() if watchman else nullcontext())
        before = durable.count_finished(parts)
        _wait(parts, progress or (lambda done, of: None))
        done = durable.finished(parts)
    found = {cell: done[durable.cell_id(part, number)] for part in parts for number, cell in enumerate(part.cells())}
    return report_of(plan, found, unable, servers.sources, before=before, seconds=time.perf_counter() - begun)


def require_folder(folder: Path) -> Path:
    """`folder`, if a campaign can live there; raise InvalidInput when something else does."""
    what = ""
    if folder.exists() and not folder.is_dir():
        what = "is not a folder"
    elif folder.exists():
        foreign = sorted(path.name for path in folder.iterdir() if path.name.removesuffix(_tail(path)) not in OURS)
        what = f"holds something else: {foreign[0]}" if foreign else ""
    if what:
        raise InvalidInput(f"{folder} {what}", safe="it is untouched", next="name another folder")
    return folder


def _tail(path: Path) -> str:
    """What SQLite appends to a database's name for the files beside it."""
    return next((tail for tail in ("-wal", "-shm", "-journal") if path.name.endswith(tail)), "")


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Let nobody else measure in `folder` meanwhile; the lock ends with this process, however that ends."""
    with closing(sqlite3.connect(folder / LOCK, timeout=0)) as lock:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            raise InvalidInput(
                f"another process measures in {folder}", safe="it goes on", next="wait for it, or name another folder"
            ) from None
        yield


def _lacking(services: Sequence[str], servers: Services) -> str:
    """Why these services cannot be had; empty when they can."""
    return "; ".join(servers.missing[service] for service in services if service in servers.missing)


def _wait(parts: Sequence[Plan], tell: Progress) -> None:
    """Begin the campaigns, or go on with them, and wait until every cell is finished."""
    total = sum(len(part.cells()) for part in parts)
    for part in parts:
        durable.begin(part)
    while (done := durable.count_finished(parts)) < total:
        tell(done, total)
        time.sleep(durable.POLL)
    tell(total, total)
