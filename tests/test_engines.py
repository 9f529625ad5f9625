"""What every engine promises: what is committed comes back, a lost race writes nothing, reading executes nothing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from workflows import Notes, Rig, chain, taps_of, think, workflow

from labkit.engines.hybrid import HybridEngine
from labkit.errors import StaleWrite, UnknownRun, Unsupported
from labkit.model import Event
from labkit.store import runs

ALL_CALLS = [["think", "bank.pay"], ["ask"], ["keep", "think"], ["bank.pay", "sleep"], ["think"]]


def done(rig: Rig) -> Rig:
    """The rig, after a process drove its run to the end."""
    assert rig.drive().status == "completed"
    return rig


def test_a_new_run_comes_back_as_it_was_begun(engine):
    rig = Rig(chain(ALL_CALLS), engine)
    runner = rig.process()
    runner.begin("r", {})
    loaded, tail = rig.process().parts.engine.load("r")
    assert (loaded.run_id, loaded.status, loaded.next_transition, loaded.position) == ("r", "running", "s0", 0)
    assert loaded.data == Notes() and tail == []
    assert loaded.created_at == rig.clock.now().isoformat()
    assert rig.process().read("r") == loaded


@pytest.mark.parametrize("lost", ["version", "fence", "closed"])
@pytest.mark.parametrize("write", ["commit", "record"])
def test_a_lost_race_writes_nothing(engine, write, lost):
    rig = Rig(chain(ALL_CALLS), engine)
    parts = rig.process().parts
    rig.crash("s2/commit:after#1")
    run = rig.process().read("r")
    if lost == "version":
        run.state_version -= 1
    elif lost == "fence":
        with rig.store.transaction("run/claim") as tx:
            runs.claim(tx, "acme", "r", "another owner")
    else:
        rig.drive()
        run = rig.process().read("r")
        run.status = "running"
    before = rig.store.image()
    refusal = Unsupported if (engine, write) == ("snapshot", "record") else StaleWrite  # it never records
    with pytest.raises(refusal, match="run r"), rig.store.transaction("s3/commit") as tx:
        getattr(parts.engine, write)(tx, run, Event(0, "completed", "s3", "s4", b""))
    assert rig.store.image() == before


@pytest.mark.parametrize("policy", ["ledger", "outbox"])
def test_every_committed_step_is_there_after_a_crash(engine, policy):
    finished = done(Rig(chain(ALL_CALLS), engine, policy)).process().read("r")
    written = 0
    for number, calls in enumerate(ALL_CALLS):
        rig = Rig(chain(ALL_CALLS), engine, policy)
        rig.crash(f"s{number}/commit:after#1")
        written += len(calls)
        found = rig.process().read("r")
        assert found.position == number + 1
        assert found.completed_steps == finished.completed_steps[: number + 1]
        assert found.data.log == finished.data.log[:written]


def test_reading_executes_and_writes_nothing_whatever_the_crash_left(engine, policy):
    for at in taps_of(lambda: Rig(chain(ALL_CALLS), engine, policy)):
        rig = Rig(chain(ALL_CALLS), engine, policy)
        rig.crash(at)
        image, outside = rig.store.image(), rig.twin.entries()
        try:
            first = rig.process().read("r")
            assert rig.process().read("r").outcome() == first.outcome()
        except UnknownRun:
            assert at == "run/begin:before#1"
        assert rig.store.image() == image, at
        assert rig.twin.entries() == outside, at


@pytest.mark.parametrize("policy", ["ledger", "outbox"])
def test_what_is_read_is_what_the_live_process_had(engine, policy):
    rig = Rig(chain([["think", "bank.pay"], ["desk.close"], ["think"]]), engine, policy)
    lived = rig.drive()
    assert rig.process().read("r") == lived == rig.process().resume("r")


def test_history_lists_what_was_written_oldest_first(engine):
    rig = done(Rig(chain([["think", "bank.pay"], ["ask"]]), engine))
    moments = rig.process().parts.engine.history("r")
    told = [(moment.kind, moment.step, moment.name) for moment in moments]
    if engine == "snapshot":
        assert told == [("snapshot", "began", "s0"), ("snapshot", "s0", "s1"), ("snapshot", "s1", "")]
    else:
        calls = [("activity", "s0", "think"), ("effect", "s0", "bank.pay"), ("completed", "s0", "s1")]
        end = [("approval", "s1", "boss"), ("completed", "s1", "completed")]
        assert told == [("began", "run", "small"), *calls, *end]
    versions = [moment.state_version for moment in moments]
    assert versions == sorted(set(versions))
    assert versions[-1] == runs.header(rig.store, "acme", "r").state_version
    assert all(moment.size > 0 for moment in moments if moment.kind in ("snapshot", "activity", "effect"))


@pytest.mark.parametrize("policy", ["keyed", "ledger", "outbox"])
def test_a_fork_executes_nothing_and_shares_the_effects_of_its_origin(engine, policy):
    rig = done(Rig(chain(ALL_CALLS), engine, policy))
    outside, origin = rig.twin.entries(), rig.process().read("r")
    moments = rig.process().parts.engine.history("r")[:-1]  # at the last one the run was closed
    for moment in moments:
        rig.fork(moment.state_version, f"f{moment.state_version}")
    assert rig.twin.entries() == outside
    for moment in moments:
        assert rig.process().parts.engine.history(f"f{moment.state_version}")[-1] == moment
        old = rig.process().read(f"f{moment.state_version}")
        assert old.data.log == origin.data.log[: len(old.data.log)]
        assert rig.drive(f"f{moment.state_version}").outcome() == origin.outcome()
    assert set(rig.executed().values()) == {1}
    assert rig.process().read("r") == origin


def test_a_moment_that_is_not_kept_cannot_be_forked(engine):
    rig = done(Rig(chain(ALL_CALLS), engine))
    before = rig.store.image()
    with pytest.raises(Unsupported, match="777"):
        rig.fork(777, "f")
    assert rig.store.image() == before


def compact(rig: Rig) -> int:
    """Compact run r as it stands; return how many rows went."""
    runner = rig.process()
    run = runner.read("r")
    with rig.store.transaction("run/compact") as tx:
        return runner.parts.engine.compact(tx, run)


def test_a_compacted_run_keeps_its_state_and_drops_rows(engine):
    rig = done(Rig(chain(ALL_CALLS), engine))
    before, kept = rig.process().read("r"), len(rig.process().parts.engine.history("r"))
    assert compact(rig) >= kept - 1 > 0
    assert len(rig.process().parts.engine.history("r")) == 1
    assert rig.process().read("r") == before
    assert compact(rig) == 0


def test_compacting_an_open_run_never_costs_its_future(engine):
    rig = Rig(chain([["think"]] * 6), engine)
    expected = done(Rig(rig.workflow, engine)).process().read("r").outcome()
    rig.crash("s4/commit:after#1")
    if engine == "event-sourced":
        with pytest.raises(Unsupported, match="r is running"):
            compact(rig)
    else:
        assert compact(rig) > 0
    assert rig.drive().outcome() == expected


@pytest.mark.parametrize("every", [1, 2, 5])
def test_hybrid_recovery_replays_fewer_steps_than_lie_between_snapshots(every):
    ran: list[str] = []

    def counting(name: str, following: str | None) -> Any:
        def step(ctx, state):
            ran.append(name)
            state.log.append(ctx.activity(think, name))
            return following

        step.__name__ = name
        return step

    names = [f"s{number}" for number in range(12)]
    rig = Rig(workflow(*(counting(name, then) for name, then in zip(names, [*names[1:], None], strict=True))))

    def process() -> Any:
        runner = Rig.process(rig)
        engine = HybridEngine(rig.store, runner.parts.codec, every=every)
        runner.parts = msgspec.structs.replace(runner.parts, engine=engine)
        return runner

    rig.process = process  # type: ignore[method-assign]
    for name in names[:-1]:
        rig.crash(f"{name}/commit:after#1")
        ran.clear()
        rig.process().read("r")
        assert len(ran) < every
    assert rig.drive().position == 12


def test_a_timer_holds_across_processes_until_its_time(engine):
    rig = Rig(chain([["sleep", "bank.pay"]]), engine)
    assert rig.process().start("r", {}).status == "waiting_for_timer"
    rig.clock.advance(9 * 3600 - 1)
    assert rig.process().resume("r").status == "waiting_for_timer"
    assert rig.outside("effect") == 0
    rig.clock.advance(1)
    assert rig.process().resume("r").status == "completed"


def test_time_and_chance_are_remembered_where_calls_are(engine):
    seen: list[list[Any]] = []

    def look(ctx, state):
        seen.append([ctx.now(), ctx.random()])
        state.extra = [*seen[-1], ctx.artifact("the same"), ctx.artifact("the same")]

    rig = Rig(workflow(look), engine)
    rig.crash("look/commit:before#1")
    rig.clock.advance(60)
    run = rig.drive()
    assert run.data.extra[:2] == seen[-1]
    assert (seen[0] == seen[1]) is (engine != "snapshot")
    assert rig.process().read("r").data == run.data
    assert rig.store.rows("SELECT ref, content FROM artifacts") == [(run.data.extra[2], "the same")]
