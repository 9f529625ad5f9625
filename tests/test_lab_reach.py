"""What a lab promises when the owner of the provider ends: refused calls are sent again, lost ones are not."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from labkit import Lab, refund
from labkit.bench.job import Job
from labkit.bench.launch import KILLED
from labkit.errors import EffectUnknown
from labkit.lab.child import launch
from labkit.lab.outside import ProcessOutside, world_folder
from labkit.lab.reach import Reached
from labkit.model import Order
from labkit.scenario import Scenario
from labkit.taps import listening

SAFE = {"policy": "ledger", "provider": "dedup"}
OWNER = """
import sys
from labkit import Lab, refund
with Lab(sys.argv[1], policy="ledger", provider="dedup") as lab:
    print(lab.start(refund, case=17, approve=True).status, flush=True)
    sys.stdin.read()
"""
ORDER = Order(target="payments", operation="refund", request={}, key="k", subject="r/1", label="execute_refund/call")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lab.db"


@contextmanager
def owner(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has started the provider of this lab and goes on until it is told to end."""
    command = [sys.executable, "-c", OWNER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout and process.stdout.readline() == "completed\n"
            yield process
        finally:
            process.kill()


def end(process: subprocess.Popen[str], how: str) -> None:
    """Let the owner end, by itself or by SIGKILL, and wait for it."""
    if how == "killed":
        os.kill(process.pid, signal.SIGKILL)
    else:
        assert process.stdin
        process.stdin.close()
    process.wait(30)


def executed(lab: Lab, run_id: str) -> int:
    return len(lab.evidence(run_id).executed())


@pytest.mark.parametrize("how", ["ended", "killed"])
def test_a_run_goes_on_when_the_owner_of_the_provider_is_gone(how: str, path: Path):
    with owner(path) as other, Lab(path, **SAFE) as lab:
        lab.start(refund, case=30)
        joined = lab._machine.outside.url
        runner = lab._machine.worker("refund-30")  # connected to the provider that is about to go
        end(other, how)
        lab.approve("refund-30")
        taps: list[str] = []
        with listening(lambda label, phase: taps.append(f"{label}:{phase}")):
            assert runner.resume("refund-30").status == "completed"
        assert executed(lab, "refund-30") == 3 and executed(lab, "refund-17") == 3
        assert lab._machine.outside.url != joined
        assert taps.count("execute_refund/call:before") == 1, "a call that was refused and sent again is one call"


def test_a_child_that_finds_no_provider_starts_one_and_is_killed_by_it(path: Path, tmp_path: Path):
    with Lab(path, **SAFE) as lab, socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound and not listening: whoever connects is refused
        job = Job.of(
            Scenario(workflow=refund, inputs={"case": 17}, run_id="refund-17", **SAFE),
            folder=str(tmp_path),
            database=str(path),
            number=1,
            url=f"http://127.0.0.1:{nobody.getsockname()[1]}",
            world="refund",
            tap="execute_refund/call:executed#1",
        )
        assert launch(job, "W3").status == KILLED
        assert executed(lab, "refund-17") == 1
        assert lab.resume("refund-17", approve=True).status == "completed" and executed(lab, "refund-17") == 3


def test_an_answer_that_was_lost_is_not_asked_for_again():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(100_000)

        thread = threading.Thread(target=hang_up, daemon=True)
        thread.start()
        reached: list[str] = []
        client = Reached(f"http://127.0.0.1:{server.getsockname()[1]}", "refund", lambda: reached.append("") or "")
        client.capability = lambda target: "dedup"
        with pytest.raises(EffectUnknown):
            client.call(ORDER)
        thread.join(10)
        assert reached == []


def test_a_provider_of_ones_own_that_died_is_started_again(path: Path):
    outside = ProcessOutside(world_folder(path))
    try:
        world = outside.world(Scenario(workflow=refund, inputs={"case": 17}, **SAFE))
        world.call(ORDER)
        os.kill(outside._process.pid, signal.SIGKILL)
        outside._process._process.wait(30)
        assert world.call(ORDER).id == "payments-1" and len(world.entries()) == 1
    finally:
        outside.close()


def test_several_terminals_at_once_on_one_database_all_complete(path: Path):
    code = "from labkit.cli import main; main()"
    asked = ["run", "refund", "--db", str(path), "--policy", "ledger", "--provider", "dedup", "--json", "--crash", "W3"]
    started = [
        subprocess.Popen([sys.executable, "-c", code, *asked, "--case", case], stdout=subprocess.PIPE, text=True)
        for case in ("17", "18", "19")
    ]
    try:
        said = [json.loads(process.communicate(timeout=120)[0]) for process in started]
    finally:
        for process in started:
            process.kill()
    assert [each["run"]["status"] for each in said] == ["completed"] * 3
    with Lab(path) as lab:
        assert [executed(lab, each["run"]["run_id"]) for each in said] == [3, 3, 3]
