"""Stored bytes that were damaged, changed or written by something else are never believed and never run."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from workflows import Rig, chain, refused, workflow

from labkit.errors import InvalidState
from labkit.model import ActivityCall

PLAN = [["think", "bank.pay"], ["ask"], ["think"]]
BODY = {  # engine -> table, column and condition of what a new process reads first
    "snapshot": ("snapshots", "body", "1"),
    "event-sourced": ("events", "payload", "kind='began'"),
    "hybrid": ("base_snapshots", "body", "1"),
}


class Boom:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def resumable(engine: str, policy: str = "ledger") -> Rig:
    """A run whose process died in the middle."""
    rig = Rig(chain(PLAN), engine, policy)
    rig.crash("s0/commit:after#1")
    return rig


def overwrite(rig: Rig, change: Callable[[Any], Any]) -> None:
    """Replace every stored body of the run by `change(body)`."""
    table, column, where = BODY[rig.engine]
    [*_, (body,)] = rig.store.rows(f"SELECT {column} FROM {table} WHERE {where}")
    with rig.store.transaction("test/tamper") as tx:
        tx.execute(f"UPDATE {table} SET {column}=? WHERE {where}", change(body))


def tamper(rig: Rig, overwriting: str, bad: Any) -> None:
    """Overwrite something with `bad`: the run itself, or what the statement says."""
    if not overwriting:
        overwrite(rig, lambda body: bad)
        return
    with rig.store.transaction("test/tamper") as tx:
        tx.execute(overwriting, bad)


def resume(rig: Rig) -> None:
    """Let a new process go on with run r, whatever it waits for."""
    with rig.store.transaction("test/reopen") as tx:
        tx.execute("UPDATE runs SET status='running'")
    rig.process().resume("r")


DAMAGE: dict[str, Callable[[bytes], Any]] = {
    "empty": lambda body: b"",
    "cut off": lambda body: body[:-1],
    "cut off early": lambda body: body[: len(body) // 2],
    "a byte too many": lambda body: body + b"}",
    "zeros": lambda body: bytes(len(body)),
    "not UTF-8": lambda body: body.replace(b"small", b"\xff\xfe"),
    "other JSON": lambda body: b'{"a": 1}',
    "a list": lambda body: b"[" + body + b"]",
    "null": lambda body: b"null",
    "nested deeply": lambda body: b"[" * 60_000,
    "over the limit": lambda body: body.replace(b'"log":', b" " * 70_000 + b'"log":'),
    "a number": lambda body: 5,
    "a text": lambda body: "no JSON",
}


def refuses(rig: Rig, *mentions: str) -> None:
    """Neither reading nor resuming the run is possible; nothing is changed by trying."""
    for act in (rig.process().read, rig.process().resume):
        refused(rig, InvalidState, lambda act=act: act("r"), *mentions)


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_bytes_are_refused_and_left_as_they_are(engine, damage):
    rig = resumable(engine)
    overwrite(rig, DAMAGE[damage])
    refuses(rig, "cannot be read", "the stored bytes are untouched")


PLACES = {  # what is stored -> the tap after which a process died, how it is overwritten
    "the run": ("s0/commit:after#1", ""),
    "a request": ("s0/intent:after#1", "UPDATE effects SET request=?"),
    "a decision": ("s1/wait:after#1", "UPDATE approvals SET status='approved', decision=?"),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("bad", [b"{", b"\x80", b"[1]", 7])
def test_whatever_is_damaged_is_named_and_nothing_is_sent(engine, place, bad):
    at, overwriting = PLACES[place]
    rig = Rig(chain(PLAN), engine)
    rig.crash(at)
    tamper(rig, overwriting, bad)
    outside = rig.executed()
    with pytest.raises(InvalidState, match=f"{place.split()[1]}.* cannot be read"):
        resume(rig)
    assert rig.executed() == outside


@pytest.mark.parametrize("place", PLACES)
def test_a_pickle_in_the_database_is_not_run(engine, place, tmp_path):
    at, overwriting = PLACES[place]
    bomb = pickle.dumps(Boom(tmp_path / "sprung"))
    rig = Rig(chain(PLAN), engine)
    rig.crash(at)
    tamper(rig, overwriting, bomb)
    with pytest.raises(InvalidState, match="cannot be read"):
        resume(rig)
    assert not (tmp_path / "sprung").exists()
    pickle.loads(bomb)  # noqa: S301 - the trap works
    assert (tmp_path / "sprung").exists()


def test_a_stored_request_that_is_not_what_was_planned_is_not_sent(engine):
    rig = Rig(chain(PLAN), engine)
    rig.crash("s0/intent:after#1")
    tamper(rig, "UPDATE effects SET request=?", b'{"about":"another account"}')
    with pytest.raises(InvalidState, match=r"request of effect acme/small/r/0\.s0"):
        rig.drive()
    assert rig.outside("effect") == 0


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "another schema": (lambda run: run.update(checkpoint_schema=9), "schema 9 is unknown here, workflow small reads"),
    "schema 0": (lambda run: run.update(checkpoint_schema=0), "schema 0"),
    "unknown status": (lambda run: run.update(status="paused"), "unknown status 'paused', expected one of running"),
    "an extra field": (lambda run: run.update(trust_me=True), "trust_me"),
    "an extra field in the state": (lambda run: run["data"].update(admin=True), "admin"),
    "a field of another type": (lambda run: run["data"].update(log="all of it"), "log"),
    "an extra field in the budgets": (lambda run: run["budgets"].update(bonus=1), "bonus"),
    "a missing field of the state": (lambda run: run["data"].pop("log"), "log"),
    "a missing budget": (lambda run: run["budgets"].pop("cost_remaining"), "cost_remaining"),
    "a missing schema": (lambda run: run.pop("checkpoint_schema"), "checkpoint_schema"),
    "a missing step": (lambda run: run.pop("next_transition"), "next_transition"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_state_that_this_version_would_not_write_is_refused_with_its_reason(engine, change):
    edit, reason = CHANGES[change]

    def tampered(body: bytes) -> bytes:
        run = msgspec.json.decode(body)
        edit(run)
        return msgspec.json.encode(run)

    rig = resumable(engine)
    overwrite(rig, tampered)
    refuses(rig, "state of run r cannot be read", reason)


def test_an_unknown_status_in_the_header_is_refused(engine):
    rig = resumable(engine)
    tamper(rig, "UPDATE runs SET status=?", "paused")
    refuses(rig, "unknown status 'paused'")


@pytest.mark.parametrize("payload", [b"", b"{", b"\x80", b"[1]", 7])
@pytest.mark.parametrize("kind", ["activity", "effect", "approval"])
@pytest.mark.parametrize("engine", ["event-sourced", "hybrid"])
def test_damaged_events_are_refused_by_number_and_nothing_is_executed(engine, kind, payload):
    rig = Rig(chain(PLAN), engine)
    rig.crash("s1/commit:before#1")
    table = {"event-sourced": "events", "hybrid": "tail_events"}[engine]
    [(seq,)] = rig.store.rows(f"SELECT seq FROM {table} WHERE kind=?", kind)
    with rig.store.transaction("test/tamper") as tx:
        tx.execute(f"UPDATE {table} SET payload=? WHERE kind=?", payload, kind)
    outside, history = rig.twin.entries(), rig.process().parts.engine.history("r")
    for act in (rig.process().read, rig.process().resume):
        with pytest.raises(InvalidState, match=f"event {seq} of run r cannot be read"):
            act("r")
    assert (rig.twin.entries(), rig.process().parts.engine.history("r")) == (outside, history)


def wrongly_typed(call: ActivityCall) -> int:
    """Says that it returns a number, and does not."""
    return "seventeen"  # type: ignore[return-value]


def test_a_result_of_the_wrong_type_is_refused_before_it_is_recorded(engine):
    def ask(ctx, state):
        state.extra = ctx.activity(wrongly_typed)

    rig = Rig(workflow(ask), engine)
    runner = rig.process()
    runner.begin("r", {})
    history = runner.parts.engine.history("r")
    with pytest.raises(InvalidState, match="result of activity ask/wrongly_typed in run r"):
        runner.resume("r")
    assert rig.process().parts.engine.history("r") == history
