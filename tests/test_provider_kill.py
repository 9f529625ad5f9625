"""A provider kills its caller where it asked for, and nobody else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import httpx
import psutil
import pytest

from labkit.errors import EffectUnknown, InvalidInput
from labkit.model import Order, Target
from labkit.provider.client import Client
from labkit.provider.ledger_file import read_ledger
from labkit.provider.process import ProviderProcess
from labkit.provider.traps import Traps
from labkit.provider.wire import PID_HEADER, Arm
from labkit.taps import Tap

LABEL = "execute_refund/call"
CALLER = f"""
import sys
from labkit.model import Order
from labkit.provider.client import Client
from labkit.taps import Tap

client = Client(sys.argv[1], "shop")
client.arm(Tap.parse(sys.argv[2]))
for number in range(1, 4):
    order = Order(target="payments", operation="refund", request={{}}, subject="s", label="{LABEL}", key=f"k{{number}}")
    print(client.call(order).id, flush=True)
"""


@pytest.fixture
def client(tmp_path):
    with ProviderProcess(tmp_path) as provider:
        opened = Client(provider.url, "shop")
        opened.create({"payments": Target(capability="dedup")})
        yield opened
        opened.close()


@pytest.fixture
def sleeper():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def order(key):
    return Order(target="payments", operation="refund", request={}, subject="s", label=LABEL, key=key)


def was_killed(exit_code):
    return exit_code == -signal.SIGKILL if os.name == "posix" else exit_code != 0


@pytest.mark.parametrize(
    ("tap", "answers", "executed"),
    [
        (f"{LABEL}:before#1", [], []),
        (f"{LABEL}:executed#1", [], ["k1"]),
        (f"{LABEL}:before#3", ["payments-1", "payments-2"], ["k1", "k2"]),
        (f"{LABEL}:executed#2", ["payments-1"], ["k1", "k2"]),
    ],
)
def test_a_caller_is_killed_where_it_asked_for(client, tap, answers, executed):
    done = subprocess.run([sys.executable, "-c", CALLER, client.url, tap], capture_output=True, text=True, timeout=60)
    assert was_killed(done.returncode), done.stderr
    assert done.stdout.split() == answers
    entries, torn = read_ledger(client.info.ledger)
    assert [entry.key for entry in entries] == executed and torn == b""
    # the next process is not armed, and finds what was done before it
    assert [client.call(order(f"k{number}")).id for number in (1, 2, 3)] == ["payments-1", "payments-2", "payments-3"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_client_made_before_a_fork_acts_for_the_child(client):
    client.call(order("k1"))
    child = os.fork()
    if child == 0:
        client.arm(Tap(LABEL, "executed", 1))
        client.call(order("k2"))
        os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert client.call(order("k2")).id == "payments-2"


@pytest.mark.parametrize("phase", ["after", "during"])
def test_a_trap_is_before_or_executed(client, phase):
    with pytest.raises(InvalidInput):
        client.arm(Tap(LABEL, phase, 1))


def test_a_process_can_arm_for_itself_only(client, sleeper):
    provider = psutil.Process(os.getpid()).children()
    for armed, header in (
        (sleeper.pid, {}),
        (sleeper.pid, {PID_HEADER: str(os.getpid())}),
        (sleeper.pid, {PID_HEADER: "x"}),
    ):
        body = {"label": LABEL, "phase": "before", "occurrence": 1, "pid": armed}
        answer = httpx.post(f"{client.url}/w/shop/arm", json=body, headers=header, trust_env=False)
        assert answer.status_code == 400 and "for itself only" in answer.text
    assert client.call(order("k1")).id == "payments-1"
    assert sleeper.poll() is None and all(child.is_running() for child in provider)


def test_a_process_that_armed_nothing_is_never_killed(client, sleeper):
    traps = Traps()
    traps.arm(Arm(label=LABEL, phase="before", occurrence=1, pid=sleeper.pid), sleeper.pid)
    for label, phase, caller in (
        (LABEL, "before", None),
        (LABEL, "before", os.getpid()),
        (LABEL, "executed", sleeper.pid),
    ):
        traps.passing(label, phase, caller)
    traps.passing("other/call", "before", sleeper.pid)
    assert sleeper.poll() is None
    with pytest.raises(EffectUnknown, match="as it had asked"):
        traps.passing(LABEL, "before", sleeper.pid)
    assert was_killed(sleeper.wait(timeout=30))


def test_a_trap_does_not_kill_another_process_that_got_the_pid(sleeper, monkeypatch):
    traps = Traps()
    traps.arm(Arm(label=LABEL, phase="before", occurrence=1, pid=sleeper.pid), sleeper.pid)
    monkeypatch.setattr(psutil.Process, "_get_ident", lambda process: (process.pid, 0.0))
    traps.passing(LABEL, "before", sleeper.pid)
    assert sleeper.poll() is None


def test_a_trap_for_a_process_that_is_not_there_is_refused(sleeper):
    sleeper.kill()
    sleeper.wait()
    with pytest.raises(InvalidInput, match=f"no process {sleeper.pid}"):
        Traps().arm(Arm(label=LABEL, phase="before", occurrence=1, pid=sleeper.pid), sleeper.pid)
