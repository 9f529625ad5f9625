"""A campaign from its plan to its report, in this process alone or with workers on a shared Postgres."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from labkit.bench.launch import DEFAULT_MODE
from labkit.errors import InvalidInput
from labkit.measure import durable
from labkit.measure.plan import Plan
from labkit.measure.report import StackReport, report_of
from labkit.measure.servers import services_for
from labkit.measure.sites import Sites
from labkit.measure.worker import Watchman, executor_name, sqlalchemy_url
from labkit.stacks.find import find_stack

LANES = 2
Progress = Callable[[int, int], None]


def run(
    plan: Plan,
    folder: str | Path,
    *,
    dsn: str = "",
    keep: bool = False,
    mode: str = DEFAULT_MODE,
    lanes: int = LANES,
    progress: Progress | None = None,
) -> StackReport:
    """Measure what `plan` says and is not measured yet; return the report on all of it.

    `folder` holds the campaign's database unless a Postgres `dsn` does, and the trials while they run (for good with
    `keep`). `progress(done, of)` counts cells. A stack whose server is missing is reported as not run. Interrupted or
    killed, the same call goes on where it stopped. Raises InvalidInput for an unknown stack.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    stacks = {name: find_stack(name) for name in plan.stacks}
    begun = time.perf_counter()
    with ExitStack() as stack:
        servers = stack.enter_context(services_for(plan.stacks, place / "servers"))
        able, unable = _able(plan, {name: each.services for name, each in stacks.items()}, servers.missing)
        sites = stack.enter_context(Sites(place / "trials", servers.addresses, spare=lanes, keep=keep, mode=mode))
        if able:
            database = sqlalchemy_url(dsn) if dsn else f"sqlite:///{place.resolve() / 'campaign.db'}"
            name = executor_name() if dsn else "campaign"
            if dsn:
                stack.enter_context(Watchman(dsn, name))
            stack.enter_context(durable.executor(database, name, sites, lanes))
            _wait(able, progress or (lambda done, of: None))
            results = durable.finished(able)
    found = {cell: results[number] for number, cell in enumerate(able.cells())} if able else {}
    return report_of(plan, found, unable, servers.sources, mode=mode, seconds=time.perf_counter() - begun)


def _able(plan: Plan, needs: dict[str, tuple[str, ...]], reasons: dict[str, str]) -> tuple[Plan | None, dict[str, str]]:
    """The plan without the stacks that cannot be run here, and why each of those cannot."""
    unable = {
        name: "; ".join(reasons[service] for service in services if service in reasons)
        for name, services in needs.items()
        if any(service in reasons for service in services)
    }
    left: Sequence[str] = tuple(name for name in plan.stacks if name not in unable)
    if not left:
        return None, unable
    return Plan(stacks=tuple(left), policies=plan.policies, repeat=plan.repeat, seed=plan.seed), unable


def _wait(plan: Plan, tell: Progress) -> None:
    """Begin the campaign, or go on with it, and wait until every cell is finished."""
    total = len(plan.cells())
    durable.begin(plan)
    while (done := durable.count_finished(plan)) < total:
        tell(done, total)
        time.sleep(durable.POLL)
    tell(total, total)


def require_folder(folder: Path) -> Path:
    """`folder`, if a campaign can live there; raise InvalidInput when something else does."""
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"{folder} is not a folder", safe="it is untouched", next="name another")
    return folder
