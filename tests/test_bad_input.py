"""Bad input is refused with a clear error, and nothing is written."""

from __future__ import annotations

import re

import apsw
import pytest
from workflows import Rig, chain, refused, think, workflow

from labkit import Lab, compare
from labkit.bench import run as bench_run
from labkit.cases.refund import refund
from labkit.engines import ENGINES
from labkit.errors import InvalidInput, StaleWrite, UnknownRun, UnknownStep, Unsupported
from labkit.matrix import matrix
from labkit.model import Done, Target
from labkit.parts import assemble
from labkit.provider.faults import Fault
from labkit.provider.twin import Twin
from labkit.scenario import PROVIDERS, Scenario
from labkit.sim import explore
from labkit.sim.interleave import interleave
from labkit.store.sqlite import SqliteStore

UNSAFE_IDS = ["", " ", ".", "..", "../../etc/passwd", "a/b", "a\\b", "C:", "r;DROP TABLE runs", "' OR '1'='1", "r\n"]
UNSAFE_IDS += ["r\0", "-r", "_r", "x" * 65, "x" * 100_000, "rün", "ｒｕｎ", "r\u202e", "run 1", "%72", None, 17, b"r"]


@pytest.mark.parametrize("run_id", UNSAFE_IDS, ids=lambda text: ascii(text)[:20])
def test_an_unsafe_run_id_is_refused_at_every_door(run_id):
    rig = Rig(chain([["think"]]))
    rig.crash("s0/commit:before#1")
    runner = rig.process()
    doors = [lambda: runner.begin(run_id, {}), lambda: runner.start(run_id, {}), lambda: runner.resume(run_id)]
    doors += [lambda: runner.read(run_id), lambda: runner.cancel(run_id, "why"), lambda: runner.fork(run_id, 0, "f")]
    for door in [*doors, lambda: runner.fork("r", 0, run_id)]:
        refused(rig, InvalidInput, door, "run id")


@pytest.mark.parametrize("name", ["", "../acme", "acme' --", "x" * 65, None])
def test_an_unsafe_tenant_or_owner_is_refused(name):
    rig = Rig(chain([["think"]]))
    assert rig.process()
    refused(rig, InvalidInput, lambda: rig.process(tenant=name), "tenant")
    refused(rig, InvalidInput, lambda: rig.process(owner=name), "owner")


def test_another_tenants_run_cannot_be_seen_or_changed(engine):
    rig = Rig(chain([["think"], ["ask"]]), engine)
    rig.crash("s0/commit:after#1")
    stranger = rig.process(tenant="globex")
    for act in (stranger.read, stranger.resume, lambda run_id: stranger.cancel(run_id, "mine")):
        refused(rig, UnknownRun, lambda act=act: act("r"), "globex has no run r")
    refused(rig, UnknownRun, lambda: stranger.fork("r", 0, "f"), "globex has no run r")
    refused(rig, InvalidInput, lambda: stranger.begin("r", {}), "run id r is taken")
    refused(rig, UnknownRun, lambda: rig.process().resume("r2"), "acme has no run r2")


def test_a_run_is_not_taken_up_by_another_workflow_engine_or_policy(engine, policy):
    rig = Rig(chain([["think"], ["ask"]]), engine, policy)
    rig.crash("s0/commit:after#1")
    others = {"engine": ENGINES, "policy": ("bare", "outbox"), "workflow": (chain([[]], name="other"),)}
    for field, other in others.items():
        mine = getattr(rig, field)
        setattr(rig, field, next(each for each in other if each != mine))
        stranger = rig.process()
        setattr(rig, field, mine)
        for act in (stranger.resume, stranger.read, lambda run_id, who=stranger: who.cancel(run_id, "why")):
            refused(rig, InvalidInput, lambda act=act: act("r"), "run r")
    assert rig.drive().status == "completed"


def test_a_closed_run_is_neither_cancelled_nor_forked_at_its_end(engine):
    rig = Rig(chain([["think"]]), engine)
    rig.drive()
    runner = rig.process()
    refused(rig, StaleWrite, lambda: runner.cancel("r", "too late"), "status completed")
    last = runner.parts.engine.history("r")[-1].state_version
    refused(rig, Unsupported, lambda: runner.fork("r", last, "f"), "was closed")
    refused(rig, InvalidInput, lambda: runner.fork("r", 0, "r"), "is taken")
    refused(rig, Unsupported, lambda: runner.fork("r", 99, "f"), "99")
    assert rig.drive().status == "completed"


@pytest.mark.parametrize("returned", ["nowhere", 17, think, Done("paused"), "close"])
def test_a_step_that_leads_nowhere_commits_nothing(engine, returned):
    def lost(ctx, state):
        state.log.append("changed")
        return returned

    rig = Rig(workflow(lost), engine)
    runner = rig.process()
    runner.begin("r", {})
    history = runner.parts.engine.history("r")
    for _ in range(2):
        with pytest.raises(InvalidInput if isinstance(returned, Done) else UnknownStep, match="step lost") as refusal:
            rig.process().resume("r")
        assert "next: return " in str(refusal.value) and "migrate" not in str(refusal.value)
    assert runner.parts.engine.history("r") == history
    rig.workflow = chain([["think"]])
    rig.workflow.steps["lost"] = rig.workflow.steps["s0"]
    assert rig.drive().status == "completed"  # the corrected code goes on from where the run stood


def test_a_run_that_points_at_a_step_this_version_has_not_is_left_alone(engine):
    rig = Rig(chain([["think"], ["think"]]), engine)
    rig.crash("s0/commit:after#1")
    old, rig.workflow = rig.workflow, chain([["think"]])
    rig.workflow.steps["s0"] = old.steps["s0"]
    journal, outside = rig.process().parts.engine.history("r"), rig.twin.entries()
    with pytest.raises(UnknownStep, match="no step 's1'"):
        rig.process().resume("r")
    assert (rig.process().parts.engine.history("r"), rig.twin.entries()) == (journal, outside)
    rig.workflow = old
    assert rig.drive().status == "completed"


@pytest.mark.parametrize("name", ["close", "run"])
def test_a_step_cannot_take_a_name_of_the_runners_own(name):
    def step(ctx, state):
        pass

    step.__name__ = name
    with pytest.raises(InvalidInput, match=name):
        workflow(step)


def test_a_workflow_without_steps_cannot_begin():
    rig = Rig(workflow())
    runner = rig.process()
    refused(rig, InvalidInput, lambda: runner.begin("r", {}), "has no step")


@pytest.mark.parametrize("when", ["tomorrow", "", "2026-01-05T18:00:00", "2026-13-01T00:00:00Z", None, 5])
def test_a_time_that_is_none_is_refused_instead_of_waited_for(engine, when):
    rig = Rig(workflow(lambda ctx, state: None), engine)
    rig.workflow.steps["<lambda>"] = lambda ctx, state: ctx.sleep_until(when)
    with pytest.raises(InvalidInput, match="not a time"):
        rig.drive()


@pytest.mark.parametrize("when", ["2026-01-05T10:30:00+02:00", "2026-01-05T09:00:00Z", "2026-01-05T08:00:00.5Z"])
def test_times_are_compared_as_times_and_not_as_text(engine, when):
    rig = Rig(workflow(lambda ctx, state: ctx.sleep_until(when)), engine)
    assert rig.process().start("r", {}).status == "completed"  # the clock stands at 09:00 UTC


def test_names_that_do_not_exist_are_refused_with_those_that_do():
    store, twin = SqliteStore(), Twin({})
    for kind, known in (("engine", "event-sourced"), ("policy", "outbox")):
        with pytest.raises(InvalidInput, match=f"no {kind} 'Snapshot'.*{known}"):
            assemble(refund, store, twin, **{kind: "Snapshot"})
    assert store.rows("SELECT count(*) FROM sqlite_schema") == [(0,)]
    for provider in ("", "Dedup", "both"):
        with pytest.raises(InvalidInput, match=", ".join(PROVIDERS)):
            Scenario(workflow=refund, inputs={"case": 17}, provider=provider).twin()
    with pytest.raises(InvalidInput, match="capability"):
        Twin({"bank": Target(capability="perhaps")})
    with pytest.raises(InvalidInput, match="synchronous"):
        SqliteStore(synchronous="full; DROP TABLE runs")


CALLS = {"explore": explore, "interleave": interleave, "matrix": matrix, "compare": compare, "bench": bench_run}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("given", ["no-such-workflow", None, 17, [refund]])
def test_what_is_no_workflow_is_refused_with_what_to_pass(call, given):
    with pytest.raises(InvalidInput, match=r"(?s)workflow.*next: (pass the object|try refund)"):
        call(workflow=given)


@pytest.mark.parametrize("wrong", [{"engine": ["hybrid"]}, {"policy": {}}, {"provider": 3}, {"crashes": 4}])
def test_what_is_no_name_is_refused_and_what_may_be_named_is_said(wrong):
    with pytest.raises(InvalidInput, match=r"expected (one of|1, 2)"):
        explore(refund, **wrong)


WRONG_TYPES = [
    (explore, {"crashes": "2"}, "crashes is '2': expected int, found str"),
    (explore, {"faults": "x"}, "faults is 'x': expected tuple of Fault, found str"),
    (explore, {"faults": ["x"]}, "expected tuple of Fault"),
    (explore, {"drift": "yes"}, "expected bool"),
    (explore, {"progress": 3}, "expected a function or None"),
    (matrix, {"crashes": True}, "expected int, found bool"),
    (interleave, {"workflow": refund, "provider": [1]}, "one of"),
    (compare, {"real": "no"}, "expected bool"),
    (bench_run, {"repeat": "x"}, "repeat is 'x': expected int, found str"),
    (bench_run, {"repeat": 1.5}, "expected int"),
    (bench_run, {"engines": 3}, "expected Sequence of str"),
    (bench_run, {"out": 3}, "expected str or Path or None"),
    (Lab, {"path": 3}, "expected str or Path"),
    (Lab, {"path": ":memory:", "faults": 3}, "expected Iterable of Fault"),
]


@pytest.mark.parametrize(("function", "wrong", "said"), WRONG_TYPES, ids=[said for _, _, said in WRONG_TYPES])
def test_an_argument_of_a_wrong_type_is_refused_by_name_before_anything_is_run(function, wrong, said):
    first = () if function in (bench_run, Lab) or "workflow" in wrong else (refund,)
    with pytest.raises(InvalidInput, match=re.escape(said)) as caught:
        function(*first, **wrong)
    assert "safe now: nothing was run" in str(caught.value)


def test_arguments_of_the_right_type_pass_in_every_form_that_a_person_writes():
    fault = Fault(target="mail", operation="send", nth=1, what="late", seconds=0.0)
    for faults in ((), [], [fault], (fault,)):
        assert explore(refund, policy="bare", faults=faults, progress=print, crashes=1).schedules


def test_one_name_may_stand_for_a_sequence_of_one():
    found = matrix(refund, engines="hybrid", policies=("ledger",), providers=("dedup",))
    assert {cell.engine for cell in found.cells} == {"hybrid"}
    for wrong in ({"engines": 3}, {"policies": [["bare"]]}, {"inputs": "case"}):
        with pytest.raises(InvalidInput, match="expected"):
            matrix(refund, **wrong)


@pytest.mark.parametrize(
    "content", [b"just some notes\n" * 9, b"\x89PNG" + bytes(2000), b"SQLite format 3\0 but no", bytes(99)]
)
def test_a_file_that_is_no_database_is_refused_and_left_as_it_was(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="cannot be opened"):
        SqliteStore(path)
    assert path.read_bytes() == content
    assert [each.name for each in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_another_programs_database_is_refused_and_left_as_it_was(tmp_path, mode):
    path = tmp_path / "browser.db"
    other = apsw.Connection(str(path))
    other.execute(f"PRAGMA journal_mode={mode}").fetchall()
    other.execute("CREATE TABLE runs(run_id)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="another program"):
        SqliteStore(path)
    assert path.read_bytes() == before
    with pytest.raises(InvalidInput, match="nowhere"):
        SqliteStore(tmp_path / "nowhere" / "lab.db")
