"""Workers share a campaign on a Postgres: a dead one's cells are taken over, and nothing counts twice."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from campaigning import BENCH, CELLS, STEPS, Command, commands, until

from labkit.measure import servers
from labkit.measure.worker import lock_of

HOLDER = "FROM pg_locks WHERE locktype = 'advisory' AND (classid::bigint << 32) | objid::bigint = %s"


@pytest.fixture(scope="module")
def dsn(tmp_path_factory) -> Iterator[str]:
    """A Postgres for the campaigns of this module."""
    found, what = servers.postgres_found()
    if not found:
        pytest.skip(f"no postgres server here: {what}")
    with servers.postgres(tmp_path_factory.mktemp("postgres")) as address:
        yield address


class Database:
    """What the campaign's database says."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    def ask(self, statement: str, *values: Any) -> list[Any]:
        """The rows of a statement; none while the tables are not made yet."""
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            try:
                return connection.execute(statement, values).fetchall()
            except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
                return []

    def trials(self) -> int:
        """How many trials are recorded."""
        return sum(row[0] for row in self.ask(STEPS.format("dbos.")))

    def cells(self, status: str, worker: Command | None = None) -> set[str]:
        """The cells with this status, of one worker or of all."""
        asked = "SELECT workflow_uuid, executor_id FROM dbos.workflow_status WHERE name = 'cell' AND status = %s"
        return {row[0] for row in self.ask(asked, status) if not worker or f"-{worker.pid}-" in row[1]}

    def name_of(self, worker: Command) -> str:
        """The executor name of a worker that holds a cell."""
        names = self.ask("SELECT DISTINCT executor_id FROM dbos.workflow_status")
        return next(name for (name,) in names if f"-{worker.pid}-" in name)


@pytest.fixture
def database(dsn) -> Database:
    """The campaign's database."""
    return Database(dsn)


def report_of(command: Command) -> Any:
    """The report that a coordinating command prints."""
    code, said, complained = command.end()
    assert code == 0, complained
    found = json.loads(said)
    assert found["trials"] == CELLS and not any(cell["errors"] or cell["not_reached"] for cell in found["cells"])
    return found


def is_paused(worker: Command, database: Database) -> bool:
    """Pause the worker, unless it may be within a transaction, for whose locks everybody would wait."""
    worker.process.send_signal(signal.SIGSTOP)
    within = "starts_with(state, 'idle in transaction') AND NOT starts_with(query, 'SELECT pg_try_advisory_xact_lock')"
    if database.ask(f"SELECT 1 FROM pg_stat_activity WHERE {within}"):
        worker.process.send_signal(signal.SIGCONT)
        return False
    return True


def test_workers_take_over_from_the_dead_and_leave_to_others_what_they_do_not_serve(tmp_path, dsn, database):
    with commands(tmp_path) as start:
        other = start("worker", "--dsn", dsn, "--stack", "bare")
        coordinator = start(*BENCH, "--dsn", dsn)
        until(lambda: database.trials() >= 2)
        coordinator.end(signal.SIGKILL)
        first, second = (start("worker", "--dsn", dsn, "--stack", "bare-saved", "--once") for _ in range(2))
        until(lambda: database.cells("PENDING", first) and database.cells("SUCCESS"))
        first.end(signal.SIGKILL)
        code, _, told = second.end()
        assert code == 0 and "serves bare-saved" in told
        assert len(database.cells("SUCCESS")) == CELLS, "once ends when nothing is left"
        assert other.process.poll() is None and not database.cells("SUCCESS", other), "it serves another stack"
        found = report_of(start(*BENCH, "--dsn", dsn))
    assert (found["before"], database.trials()) == (CELLS, CELLS)
    assert sum(found["workers"].values()) == CELLS and database.name_of(second) in found["workers"]


def test_a_paused_worker_keeps_its_cells_and_one_that_is_robbed_counts_for_nothing(tmp_path, dsn, database):
    again = (*BENCH, "--dsn", dsn, "--seed", "2")  # another campaign in the same database
    earlier = database.trials()
    with commands(tmp_path) as start:
        paused = start("worker", "--dsn", dsn, "--stack", "bare-saved")
        coordinator = start(*again)
        until(lambda: database.cells("PENDING", paused) and is_paused(paused, database))
        until(lambda: len(database.cells("SUCCESS") | database.cells("PENDING", paused)) == earlier + CELLS)
        held = database.cells("PENDING")
        assert held and held == database.cells("PENDING", paused), "it may go on at any time"
        lock = lock_of(database.name_of(paused))
        assert database.ask(f"SELECT pg_terminate_backend(pid) {HOLDER}", lock) == [(True,)], "its lock is free now"
        found = report_of(coordinator)
        assert held <= database.cells("SUCCESS", coordinator) and database.trials() - earlier == CELLS
        paused.process.send_signal(signal.SIGCONT)
        until(lambda: database.ask(f"SELECT pid {HOLDER}", lock))
        code, _, complained = paused.end(signal.SIGINT)
    assert code == 130 and "Traceback" not in complained, "it lives, and holds its lock again"
    assert found["before"] == 0 and held <= database.cells("SUCCESS", coordinator)
    assert database.trials() - earlier == CELLS
