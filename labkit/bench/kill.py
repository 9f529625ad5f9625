"""Kill one real process on a database that somebody keeps, and let the next one resume."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path

from labkit.bench.job import Job, spec_of
from labkit.bench.launch import Ended, last_words, launcher
from labkit.bench.trial import create_world
from labkit.errors import InvalidInput, LabError
from labkit.provider.client import Client
from labkit.provider.process import ProviderProcess
from labkit.scenario import Scenario
from labkit.taps import Tap


def kill_once(
    scenario: Scenario,
    tap: Tap | str,
    folder: str | Path,
    *,
    mode: str = "plain",
    db: str | Path | None = None,
    provider: ProviderProcess | None = None,
    world: str = "world",
) -> Ended:
    """Run one real process on `folder`/lab.db until it is killed at `tap`; say how it ended and what it passed.

    `db` is another database file; `provider` a provider process that goes on, instead of one for this call whose
    ledger is `folder`/provider-`world`.jsonl. `reached` is False when the process came to its end without passing
    the tap. Raises InvalidInput for a tap, scenario or mode that cannot be, LabError when the process failed.
    """
    return _run_once(scenario, Tap.parse(str(tap)), Path(folder), mode, db, provider, world)


def resume_once(
    scenario: Scenario,
    folder: str | Path,
    *,
    mode: str = "plain",
    db: str | Path | None = None,
    provider: ProviderProcess | None = None,
    world: str = "world",
) -> Ended:
    """Let one fresh real process begin or resume the run, to its end; arguments and errors as for `kill_once`."""
    return _run_once(scenario, None, Path(folder), mode, db, provider, world)


def _run_once(
    scenario: Scenario,
    tap: Tap | None,
    folder: Path,
    mode: str,
    db: str | Path | None,
    provider: ProviderProcess | None,
    world: str,
) -> Ended:
    workflow = spec_of(scenario.workflow)
    with closing(launcher(mode, workflow)) as start:
        folder.mkdir(parents=True, exist_ok=True)
        with provider_of(folder, provider) as running:
            open_world(scenario, running.url, world)
            job = Job.of(
                scenario,
                folder=str(folder),
                database=str(db or folder / "lab.db"),
                number=1 + len(list(folder.glob("taps-*.txt"))),
                url=running.url,
                world=world,
                tap=str(tap or ""),
            )
            found = start.run(job)
    if found.failed:
        raise LabError(
            f"the process of run {scenario.run_id} ended with status {found.status}: {last_words(found.output)}",
            safe=f"the run stands where that process left it; all that it printed is in {job.output}",
            next="mend what failed; labkit history shows how far it came",
        )
    return found


@contextmanager
def provider_of(folder: Path, provider: ProviderProcess | None) -> Iterator[ProviderProcess]:
    """`provider` as it is, or one of our own below `folder` for as long as the block runs."""
    with nullcontext(provider) if provider else ProviderProcess(folder) as running:
        yield running


def open_world(scenario: Scenario, url: str, world: str) -> None:
    """Open the scenario's world unless it is open; raise InvalidInput when it is open with other capabilities."""
    with closing(Client(url, world)) as client:
        try:
            info = client.info
        except InvalidInput:
            info = create_world(client, scenario)
        expected = (scenario.twin().capabilities, scenario.drift)
        if (info.capabilities, info.drift) != expected:
            raise InvalidInput(
                f"world {world!r} has capabilities {info.capabilities} and drift {info.drift}, expected {expected}",
                safe="nothing was run",
                next="use another world, or the scenario that this one was opened for",
            )
