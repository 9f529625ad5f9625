"""What the timeline promises: it tells what happened, in words as well as in shapes, and survives what it draws."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

from labkit.cases.refund import refund
from labkit.lab.facade import Lab
from labkit.model import Context, State, Target, Workflow
from labkit.provider.faults import Fault
from labkit.timeline import Timeline
from labkit.timeline.grid import Grid


def story(at: str, *, effect: str | None = None, faults: tuple[Fault, ...] = (), **names: str) -> Timeline:
    """The timeline of a refund that crashed at `at` and was resumed."""
    with Lab(":memory:", faults=faults, **names) as lab:
        killed = lab.kill(refund, at=at, effect=effect, case=17, real=False)
        lab.resume(killed.run_id, approve=True) if killed.run else lab.start(refund, case=17, approve=True)
        return lab.timeline("refund-17")


def marks(timeline: Timeline) -> list[str]:
    return [finding.mark for finding in timeline.findings]


def test_a_duplicate_stands_out_in_words_and_in_a_shape_of_its_own():
    timeline = story("W3", policy="bare", engine="snapshot")
    assert marks(timeline) == ["duplicate"]
    assert "DUPLICATE" in str(timeline) and ">DUPLICATE</text>" in timeline.svg()
    assert timeline.svg().count('r="11"') == 1, "the ring around the second execution, and around it alone"


def test_without_a_crash_nothing_stands_out():
    with Lab(":memory:") as lab:
        lab.start(refund, case=17, approve=True)
        timeline = lab.timeline("refund-17")
    assert marks(timeline) == ["fine"] and "repeated call" not in timeline.findings[0].text
    assert "✗" not in str(timeline) and "✗" not in timeline.svg()


def test_a_call_that_is_paid_twice_is_marked_again():
    timeline = story("policy_check/commit:before#1", engine="snapshot")
    assert marks(timeline) == ["again"]
    assert "assess_policy (again)" in str(timeline) and ">AGAIN</text>" in timeline.svg()


def test_an_ambiguous_effect_says_what_a_person_can_do():
    timeline = story("W3", effect="send_mail")
    assert marks(timeline) == ["ambiguous"], "what it waits for is said once"
    assert "look into the sent folder" in str(timeline)
    assert ">ambiguous</text>" in timeline.svg()


@pytest.mark.parametrize(
    ("verdict", "receipt", "states"),
    [("confirmed", "mail-1", ["ambiguous", "confirmed"]), ("not-done", "", ["ambiguous", "planned", "executing"])],
)
def test_what_a_person_resolved_is_drawn(verdict: str, receipt: str, states: list[str]):
    with Lab(":memory:") as lab:
        lab.kill(refund, at="W3", effect="send_mail", case=17, real=False)
        lab.resume("refund-17")
        lab.resolve("acme/refund/refund-17/5.send_mail", verdict, receipt)
        operations = lab.timeline(lab.resume("refund-17")).lanes[1].operations
    said = [each.ledger for each in operations if each.group == "send_mail" and each.ledger]
    assert said[: len(states)] == states and said[-1] == "confirmed"


def test_what_one_process_confirmed_the_next_does_not_plan_again():
    lanes = story("W5", policy="ledger").lanes
    said = [each.ledger for lane in lanes for each in lane.operations if each.group == "execute_refund" and each.ledger]
    assert said == ["planned", "executing", "confirmed"]


@pytest.mark.parametrize(("window", "reply"), [("W2", "no reply"), ("W3", "reply lost"), ("W4", "call")])
def test_the_killed_operation_says_what_became_of_its_reply(window: str, reply: str):
    lane = story(window, policy="bare").lanes[0]
    assert lane.window == window and lane.killed_at in lane.operations[-1].taps
    assert lane.operations[-1].text.endswith(reply)
    assert window in lane.ending


@pytest.mark.parametrize("at", ["manager_approval/commit:after#1", "execute_refund/intent:before#1"])
def test_a_death_before_the_call_keeps_its_window(at: str):
    assert story(at).lanes[0].window == "W1"


@pytest.mark.parametrize(("engine", "durable"), [("snapshot", "commit"), ("hybrid", "record")])
def test_what_happened_outside_stands_at_the_call_that_did_it_or_the_write_that_kept_it(engine: str, durable: str):
    for lane in story("W3", policy="bare", engine=engine).lanes:
        for operation in lane.operations:
            for each in operation.outside:
                assert operation.name == {"effect": "call", "activity": durable}[each.kind], (operation, each)


def test_a_call_with_a_known_key_says_that_nothing_new_happened():
    timeline = story("W3", policy="ledger")
    repeated = [operation for operation in timeline.lanes[1].operations if operation.repeated]
    assert [operation.step for operation in repeated] == ["execute_refund"]
    assert "nothing new" in str(timeline) and ">nothing new</text>" in timeline.svg()
    said = timeline.findings[0].text
    assert marks(timeline) == ["fine"] and said.endswith(
        "the repeated call of execute_refund was recognised by its key"
    )


def test_a_refusal_is_not_drawn_as_confirmed():
    refused = Fault(target="payments", operation="refund", nth=1, what="refuse")
    timeline = story("policy_check/commit:after#1", faults=(refused,))
    assert timeline.status == "failed"
    assert "rejected" in str(timeline) and "confirmed" not in str(timeline)


def test_the_same_operation_stands_in_the_same_column_in_every_process():
    timeline = story("W3", policy="bare")
    grid = Grid(timeline)
    first, second = timeline.lanes
    calls = [next(op for op in lane.operations if op.name == "call") for lane in (first, second)]
    assert grid.x(calls[0]) == grid.x(calls[1])
    ordered = [grid.x(operation) for operation in second.operations]
    assert ordered == sorted(ordered), "time runs to the right"


def test_a_step_that_only_the_second_process_reaches_stands_behind_those_before():
    timeline = story("policy_check/commit:after#1")
    grid = Grid(timeline)
    begins = [grid.extent[step][0] for step in ("load_case", "policy_check", "draft_decision", "manager_approval")]
    assert begins == sorted(begins)


def test_a_picture_of_one_step_is_as_wide_as_its_headline():
    flow: Workflow[State] = Workflow("short", version="1", state=State, begin=State)

    @flow.step
    def think(ctx: Context, state: State) -> None:
        """Nothing to do."""

    with Lab(":memory:") as lab:
        timeline = lab.timeline(lab.kill(flow, at="think/commit:after#1", real=False).run_id)
    headline = "process 1 was killed at think/commit:after#1, no effect at hand"
    assert timeline.lanes[0].ending == headline and Grid(timeline).width > 6 * len(headline)


def test_a_policy_without_a_ledger_is_said_beside_its_lane_and_never_of_another():
    assert ">not kept</text>" in story("W3", policy="bare").svg()
    with Lab(":memory:", policy="ledger") as lab:  # dead before its first effect: the ledger is kept, and still empty
        early = lab.timeline(lab.kill(refund, at="load_case/commit:after#1", case=17, real=False).run_id)
    assert early.effects == [] and "not kept" not in early.svg()


@pytest.mark.parametrize("policy", ["bare", "outbox"])
@pytest.mark.parametrize("width", ["80", "60"])
def test_the_text_fits_a_narrow_terminal(width: str, policy: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", width)
    text = str(story("W3", policy=policy))
    assert max(map(len, text.splitlines())) <= int(width)
    assert "\x1b" not in text


def test_in_a_notebook_the_text_is_returned_and_not_displayed(monkeypatch: pytest.MonkeyPatch):
    timeline = story("W3", policy="bare")
    expected = str(timeline)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert str(timeline) == expected != ""


def test_the_picture_is_one_file_that_says_itself_in_words():
    timeline = story("W3", policy="bare")
    root = ElementTree.fromstring(timeline.svg())
    assert root.get("role") == "img"
    for word in ("refund-17", "killed at execute_refund/call:executed#1", "executed 2 times"):
        assert word in root.get("aria-label", "")
    assert not re.search(r"(href|src|url\()", timeline.svg()), "nothing is fetched"
    assert str(timeline).splitlines()[0] in timeline._repr_html_(), "the page holds the text as well"


def test_nothing_that_a_workflow_says_becomes_markup():
    evil = "<script>alert(1)</script>[bold]"
    targets = {"shop": Target(capability="dedup")}
    flow: Workflow[State] = Workflow("evil", version=evil, state=State, begin=lambda: State(), targets=targets)

    def wait(ctx: object, state: State) -> None:
        ctx.effect("shop", "pay", {"amount": evil})  # type: ignore[attr-defined]
        ctx.approval("boss", evil)  # type: ignore[attr-defined]

    flow.step(wait)
    with Lab(":memory:") as lab:
        timeline = lab.timeline(lab.start(flow))
    assert "<script>" not in timeline._repr_html_() and "&lt;script&gt;" in timeline._repr_html_()
    assert "[bold]" in str(timeline), "and rich takes nothing for a style"


def test_the_data_is_plain_json_and_holds_every_tap():
    data = json.loads(json.dumps(story("W3").data()))
    first, second = data["lanes"]
    assert first["killed_at"] == "execute_refund/call:executed#1" and second["killed_at"] == ""
    assert first["operations"][-1]["taps"][-1] == first["killed_at"]
    assert {row["status"] for row in data["effects"]} == {"confirmed"}
    assert [entry["kind"] for entry in data["outside"]].count("effect") == 3
