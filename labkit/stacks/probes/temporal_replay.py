"""Replay of recorded histories with code that has changed since: what the Replayer notices, and what it does not.

`python -m labkit.stacks.probes.temporal_replay [FOLDER]` records the histories again, from real runs on a server.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from temporalio.client import Client, WorkflowHistory
from temporalio.worker import Replayer

from labkit.model import ActivityCall
from labkit.scratch import scratch_folder
from labkit.stacks import temporal
from labkit.stacks.base import Desk, Place, drive
from labkit.stacks.conformance import Finding
from labkit.stacks.probes import temporal_scenes as scenes
from labkit.stacks.probes.temporal_lives import Stage, judged, own_server, quieten

HISTORIES = Path(__file__).resolve().parents[3] / "datasets" / "histories"


def history(name: str) -> WorkflowHistory:
    """A recorded history. Raises FileNotFoundError where labkit is installed without its datasets."""
    return WorkflowHistory.from_json(name, (HISTORIES / f"{name}.json").read_text("utf-8"))


def misfit(name: str, code: type) -> str:
    """Replay a history with this workflow class: what does not fit, or an empty string."""
    quieten()
    replayer = Replayer(workflows=[code])
    replayed = asyncio.run(replayer.replay_workflow(history(name), raise_on_replay_failure=False))
    return str(replayed.replay_failure or "")


def fits(code: type) -> Callable[..., Finding]:
    """A probe that passes when the recorded order, and the one whose worker was killed, replay with `code`."""

    def probe(folder: Path, services: dict[str, str]) -> Finding:
        found = [misfit(name, code) for name in ("order", "order-killed")]
        return judged(not any(found), next(filter(None, found), "both histories replay")[:300])

    return probe


def notices(code: type) -> Callable[..., Finding]:
    """A probe that passes when the recorded order does not replay with `code`."""

    def probe(folder: Path, services: dict[str, str]) -> Finding:
        found = misfit("order", code)
        return judged(bool(found), found[:300] or "the history replays")

    return probe


REPLAY: dict[str, Callable[..., Finding]] = {
    "the code that wrote a history replays it": fits(scenes.Order),
    "replay notices an activity that was inserted": notices(scenes.Inserted),
    "replay lets an insertion pass that is guarded by workflow.patched": fits(scenes.Patched),
    "replay notices an argument that was changed": notices(scenes.Repriced),
}


async def record_orders(address: str, folder: Path, out: Path) -> None:
    """Record the order twice: as it runs, and with its worker killed after the payment was executed."""
    for name, kill in (("order", ""), ("order-killed", "pay executed")):
        stage = Stage(await Client.connect(address), folder)
        stage.queue = name  # the history names it; a path would be this machine's
        run = await stage.start("Order")
        if kill:
            await stage.die(kill)
        await stage.finish(run)
        write(out / f"{name}.json", await run.fetch_history())


async def fetch(address: str, run_id: str) -> WorkflowHistory:
    """The history of a run."""
    return await (await Client.connect(address)).get_workflow_handle(run_id).fetch_history()


def record_refund(address: str, folder: Path, out: Path) -> None:
    """Record the refund of case 17, the manager approving."""
    (folder / "run-1.id").write_text("refund")
    place = Place(folder=folder, run_id="run-1", services={"temporal": address})
    desk = Desk("run-1", 17, lambda subject, name: ActivityCall(1), lambda step, order: f"{order.target}-1")
    drive(temporal.STACKS[0], desk, place, "start")
    write(out / "refund.json", asyncio.run(fetch(address, "refund")))


def write(path: Path, recorded: WorkflowHistory) -> None:
    """Write a history as the command line of Temporal would, without the name of this machine and its processes."""
    text = recorded.to_json().replace(socket.gethostname(), "machine")
    path.write_text(text.replace(f"{os.getpid()}@", "client@") + "\n", encoding="utf-8")


def record(out: Path) -> None:
    """Record every history into the folder `out`."""
    with scratch_folder("replay") as name, own_server(Path(name)) as (address, _):
        asyncio.run(record_orders(address, Path(name), out))
        record_refund(address, Path(name), out)


if __name__ == "__main__":
    record(Path(sys.argv[1]) if sys.argv[1:] else HISTORIES)
