"""Recorded trajectories: what is read, what is refused, and what a crash would have done to them."""

from __future__ import annotations

import json
from collections import Counter
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from labkit.effects.policies import POLICIES
from labkit.engines import ENGINES
from labkit.errors import InvalidInput
from labkit.parts import assemble
from labkit.provider.twin import Twin
from labkit.runner import Runner
from labkit.scenario import Scenario
from labkit.sim import explore
from labkit.sim.lives import Simulation, first_life
from labkit.store.sqlite import SqliteStore
from labkit.taps import Tap
from labkit.trajectory.crashes import crash_everywhere, harm_of
from labkit.trajectory.model import ToolCall, Trajectory, Turn
from labkit.trajectory.read import read
from labkit.trajectory.report import Report, analyse, render
from labkit.trajectory.workflow import MAX_STEPS, as_workflow, plan

ROOT = Path(__file__).resolve().parent.parent
DESK, TRAVEL = (ROOT / "datasets" / f"trajectory_{name}.jsonl" for name in ("refund_desk", "travel"))
AIRLINE = ROOT.parent / "shared/trajectories/airline.jsonl"
EFFECTS = {DESK: {"issue_refund", "send_mail"}, TRAVEL: {"book_hotel", "cancel_hotel"}}
AIRLINE_EFFECTS = [
    *("book_reservation", "cancel_reservation", "send_certificate", "update_reservation_baggages"),
    *("update_reservation_flights", "update_reservation_passengers"),
]


def run_of(*names: str, results: str | None = "done") -> Trajectory:
    """A trajectory whose model asks for these tools, one a message."""
    calls = [ToolCall(id=name, name=name, arguments={}, result=results, outcome="answered") for name in names]
    return Trajectory(id="made", turns=[Turn(text="", calls=[call]) for call in calls])


@pytest.mark.parametrize("path", [DESK, TRAVEL])
def test_a_trajectory_is_read_call_by_call(path: Path) -> None:
    recorded = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for record, found in zip(recorded, read(path), strict=True):
        said = [message for message in record["messages"] if message["role"] == "assistant"]
        asked = [call["function"] for message in said for call in message.get("tool_calls", [])]
        answers = {m["tool_call_id"]: m["content"] for m in record["messages"] if m["role"] == "tool"}
        assert (found.id, len(found.turns)) == (record["id"], len(said))
        assert [(c.name, c.arguments) for c in found.calls] == [(f["name"], json.loads(f["arguments"])) for f in asked]
        assert {c.id: c.result for c in found.calls} == answers
        assert all(call.failed == (call.result or "").startswith("Error:") for call in found.calls)


@pytest.mark.parametrize(("engine", "policy"), list(product(ENGINES, POLICIES)))
@pytest.mark.parametrize("path", [DESK, TRAVEL])
def test_without_a_crash_every_engine_and_policy_makes_the_recorded_calls(path: Path, engine: str, policy: str) -> None:
    for trajectory in read(path):
        workflow = as_workflow(trajectory, EFFECTS[path])
        world = Twin(workflow.targets)
        run = Runner(assemble(workflow, SqliteStore(), world, engine=engine, policy=policy)).start("run-1", {})
        planned = plan(trajectory, EFFECTS[path])
        assert (run.status, run.completed_steps) == ("completed", [each.step for each in planned])
        entries = world.entries()
        sent = [(each.target, each.request["recorded"]) for each in entries if each.kind == "effect"]
        assert sent == [(each.call.name, each.step) for each in planned if each.call and each.kind == "effect"]
        activities = Counter(each.operation for each in entries if each.kind == "activity")
        assert activities["ask_model"] == len(trajectory.turns)
        assert activities["run_tool"] == len(trajectory.calls) - len(sent)


def test_step_names_are_safe_and_unique_whatever_the_tools_are_called() -> None:
    names = ["book/../../x", "'; DROP TABLE runs;--", "预订", "a.b:c#1", "x" * 200, "[bold]x[/bold]", "same", "same"]
    trajectory = msgspec.structs.replace(run_of(*names), id="../../etc ' \u00e9")
    workflow = as_workflow(trajectory, set(names[:4]))
    assert len(workflow.steps) == 2 * len(names)
    for step in workflow.steps:
        assert Tap.parse(f"{step}/commit:before#1").step == step
        assert "." not in step
    life = first_life(Simulation(Scenario(workflow=workflow, inputs={}, policy="outbox")))
    assert life.evidence is not None
    assert (life.evidence.status, len(life.evidence.executed())) == ("completed", 4)


def test_arguments_and_results_are_never_stored() -> None:
    trajectory = run_of("pay", "look", results="sk-" + "R" * 40)
    for call in trajectory.calls:
        call.arguments = {"card": "sk-" + "A" * 40, "text": "x" * 200_000}
    simulation = Simulation(Scenario(workflow=as_workflow(trajectory, {"pay"}), inputs={}))
    image = first_life(simulation).images[-1]
    assert b"AAAA" not in image.database
    assert b"RRRR" not in image.database
    assert all(len(str(entry.request)) < 100 for entry in image.world.entries)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("policy", "provider", "harm", "verdict"),
    [
        ("bare", "dedup", "duplicated", "invalid"),
        ("keyed", "neither", "duplicated", "invalid"),
        ("keyed", "dedup", "", "invalid"),  # nothing twice, but a crash leaves what only the provider knows
        ("ledger", "neither", "ambiguous", "unknown"),
        ("outbox", "neither", "ambiguous", "unknown"),
        ("ledger", "lookup", "", "valid"),
        ("outbox", "dedup", "", "valid"),
    ],
)
def test_a_crash_does_to_each_effect_call_what_its_policy_allows(
    engine: str, policy: str, provider: str, harm: str, verdict: str
) -> None:
    report = analyse([DESK, TRAVEL], EFFECTS[DESK] | EFFECTS[TRAVEL], [engine], [policy], provider)
    recorded = [(path, trajectory) for path in (DESK, TRAVEL) for trajectory in read(path)]
    for row, (path, trajectory) in zip(report.rows, recorded, strict=True):
        assert row.trajectory == f"{path}:{trajectory.id}"
        effects = [each.step for each in plan(trajectory, EFFECTS[DESK] | EFFECTS[TRAVEL]) if each.kind == "effect"]
        found = {name: [each.call for each in getattr(row, name)] for name in ("duplicated", "lost", "ambiguous")}
        assert found == {name: effects if name == harm else [] for name in found}
        # The recording of the third refund leaves a payment in doubt: whatever a crash does, nothing there is valid.
        doubtful = trajectory.id == "refund-desk-3" and verdict == "valid"
        assert (row.verdict, bool(row.in_doubt)) == (
            "unknown" if doubtful else verdict,
            trajectory.id == "refund-desk-3",
        )
        assert bool(row.reasons) == (row.verdict != "valid")
        # Every model call has one crash after which it must be paid again: after its answer, before that is durable.
        assert (row.model_calls_repeated.max, row.model_calls_repeated.total) == (1, len(trajectory.turns))


@pytest.mark.parametrize(("engine", "policy"), list(product(ENGINES, POLICIES)))
def test_calls_are_counted_as_the_simulator_counts_them(engine: str, policy: str) -> None:
    trajectory, effects = read(DESK)[1], EFFECTS[DESK]
    row = crash_everywhere(trajectory, effects, engine, policy, "neither")
    other = explore(as_workflow(trajectory, effects), engine=engine, policy=policy)
    assert (row.schedules, row.verdict, row.invariants) == (other.schedules, other.verdict, other.violations)
    for name in ("duplicated", "lost", "ambiguous", "untracked"):
        assert sum(each.schedules for each in getattr(row, name)) == sum(getattr(cell, name) for cell in other.cells)


def test_a_lost_call_is_named() -> None:
    simulation = Simulation(Scenario(workflow=as_workflow(run_of("look", "pay"), {"pay"}), inputs={}))
    reference = first_life(simulation)
    assert reference.evidence is not None
    outside = [entry for entry in reference.evidence.outside if entry.kind != "effect"]
    forgot = reference._replace(evidence=msgspec.structs.replace(reference.evidence, outside=outside))
    harm = harm_of(forgot, reference.images[-1], reference)
    assert (harm.lost, harm.invariants) == ({"t02_1_pay"}, {"no lost effect"})


@pytest.mark.parametrize("policy", POLICIES)
def test_every_run_of_the_airline_answers(policy: str) -> None:
    if not AIRLINE.is_file():
        pytest.skip(f"{AIRLINE.name} is not beside the project: it is kept outside and lent to its tests")
    trajectories = read(AIRLINE)
    report = analyse([AIRLINE], AIRLINE_EFFECTS, policies=[policy])
    assert (report.trajectories, report.calls, report.effects, report.effects_failed) == (21, 167, 45, 15)
    assert report.never_called == ["send_certificate", "update_reservation_passengers"]
    assert [row.trajectory for row in report.rows] == [each.id for each in trajectories for _ in ENGINES]
    harm = "duplicated" if policy in ("bare", "keyed") else "ambiguous"
    for row in report.rows:
        assert row.effects == len(getattr(row, harm)) > 0
        assert not row.lost
        assert row.verdict == ("invalid" if harm == "duplicated" else "unknown")


@pytest.mark.parametrize(
    ("effects", "options", "why"),
    [
        ([], {}, r"no effect was named; tools called: book_hotel \(6x\), cancel_hotel \(3x\)"),
        (["pay"], {}, r"no call of 'pay' was recorded; tools called: book_hotel \(6x\)"),
        (["book_hotel"], {"engines": ["hybrid", "paper"]}, "no engine 'paper'"),
        (["book_hotel"], {"policies": ["hope"]}, "no policy 'hope'"),
        (["book_hotel"], {"provider": "kind"}, "no provider 'kind'"),
    ],
)
def test_names_that_do_not_exist_are_refused_before_the_first_crash(
    effects: list[str], options: dict[str, Any], why: str
) -> None:
    crashed: list[int] = []
    with pytest.raises(InvalidInput, match=why):
        analyse([TRAVEL], effects, **options, progress=lambda done, total: crashed.append(done))
    assert not crashed


def test_a_run_too_long_to_explore_is_refused() -> None:
    as_workflow(run_of(*["look"] * (MAX_STEPS // 2)), set())
    with pytest.raises(InvalidInput, match=f"the limit is {MAX_STEPS}"):
        as_workflow(run_of(*["look"] * (MAX_STEPS // 2 + 1)), set())


def shown(report: Report) -> str:
    """The rendered report, 80 columns wide, as text."""
    console = Console(width=80, file=StringIO())
    console.print(render(report))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_the_report_fits_a_terminal_and_says_what_happens_in_words() -> None:
    progress: list[tuple[int, int]] = []
    text = shown(analyse([TRAVEL], ["book_hotel", "pay"], progress=lambda *told: progress.append(told)))
    assert "\u2026" not in text
    said = " ".join(text.split())
    assert "repeats 6 of 6 effect calls under bare and keyed, for example t03_1_book_hotel of travel-1" in said
    assert "under ledger and outbox it repeats none, and none is lost." in said
    assert "leaves 6 of 6 effect calls under ledger and outbox ambiguous until a person has looked" in said
    assert "Never called: pay; tools called: book_hotel (6x), cancel_hotel (3x)" in said
    assert progress == [(done, 36) for done in range(1, 37)]


def test_the_json_holds_the_promised_fields_and_is_the_same_each_time() -> None:
    first, second = (analyse([DESK], EFFECTS[DESK], ["hybrid"], ["bare"]) for _ in range(2))
    assert msgspec.json.encode(first) == msgspec.json.encode(second)
    whole = msgspec.to_builtins(first)
    assert {"trajectories", "calls", "effects", "schedules", "rows"} <= set(whole)
    assert whole["schedules"] == sum(row["schedules"] for row in whole["rows"])
    assert set(whole["rows"][0]) == set(first.rows[0].__struct_fields__)


def test_names_from_a_recording_are_shown_as_they_are(tmp_path: Path) -> None:
    call = {"id": "1", "function": {"name": "[red]pay[/red]", "arguments": "{}"}}
    record = {"id": "[link=x]run", "messages": [{"role": "assistant", "tool_calls": [call]}]}
    file = tmp_path / "odd.jsonl"
    file.write_text(json.dumps(record), "utf-8")
    text = shown(analyse([file], ["[red]pay[/red]", "[b]gone"], ["hybrid"], ["bare"]))
    assert all(name in text for name in ("[link=x]run", "[red]pay[/red]", "[b]gone"))
