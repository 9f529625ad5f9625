"""What has happened in a recorded run, before any crash: doubts, repeats, strays and calls never made."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from recordings import pay, run_of

from labkit.trajectory.accidents import short_call, what_happened
from labkit.trajectory.crashes import crash_everywhere
from labkit.trajectory.identity import same_effects
from labkit.trajectory.look import look
from labkit.trajectory.model import IN_DOUBT, OUTCOMES, Stray, ToolCall
from labkit.trajectory.report import analyse, sentences
from labkit.trajectory.told import what_has_happened
from labkit.trajectory.workflow import plan

ROOT = Path(__file__).resolve().parent.parent
DATASETS = [ROOT / "datasets" / f"trajectory_{name}.jsonl" for name in ("refund_desk", "travel")]


def test_calls_of_different_runs_and_of_different_tools_are_never_one_effect() -> None:
    refund = ToolCall(id="", name="refund", arguments={"order": 1}, outcome="answered")
    assert not what_happened(run_of(pay(order=1), refund)).repeated
    assert not any(what_happened(run_of(pay(order=1))).repeated for _ in range(2))


def test_calls_whose_arguments_cannot_be_read_are_one_effect_only_by_the_same_text() -> None:
    calls = [pay() for _ in range(3)]
    for call, text in zip(calls, ['{"order": A}', '{"order": B}', '{"order": A}'], strict=True):
        call.unreadable = text
    (repeat,) = what_happened(run_of(*calls), {"pay"}).questions
    assert [site.turn for site in repeat.calls] == [1, 3]


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_each_outcome_is_told_as_what_it_is(outcome: str) -> None:
    happened = what_happened(run_of(pay(outcome, order="A"), pay(order="A")), {"pay"})
    assert [site.outcome for site in happened.in_doubt] == ([outcome] if outcome in IN_DOUBT else [])
    assert len(happened.not_made) == (outcome == "not made")
    assert len(happened.questions) == (outcome != "not made"), "a call that was never made is repeated by none"
    told = "\n".join(what_has_happened([happened], "effect call"))
    assert ("In doubt now" in told, "Never made" in told) == (outcome in IN_DOUBT, outcome == "not made")
    assert "messages[0].tool_calls[0]" in told and 'pay(order="A")' in told and "run" in told


def test_a_result_that_nobody_asked_for_is_told_and_open_unless_its_tool_only_reads() -> None:
    strays = [
        Stray(place="messages[1]", id="c0", name="", text="paid again"),
        Stray(place="messages[5]", id="c9", name="", text="whose?"),
        Stray(place="messages[6]", id="c8", name="look", text="a page"),
    ]
    happened = what_happened(run_of(pay(order="A"), strays=strays), {"pay"})
    assert [(each.tool, each.open, "another" in each.why) for each in happened.strays] == [
        ("pay", True, True),
        ("", True, False),
        ("look", False, False),
    ]
    assert happened.open == ["2 results belong to no call"]


def test_reads_are_counted_and_never_compared_when_the_effects_are_named() -> None:
    looks = [ToolCall(id="", name="look", arguments={}, outcome="unanswered") for _ in range(2)]
    happened = what_happened(run_of(pay(order="A"), *looks), {"pay"})
    assert (happened.in_doubt, happened.repeated, happened.reads_in_doubt, happened.open) == ([], [], 2, [])
    assert what_happened(run_of(pay(order="A"), *looks)).questions


@pytest.mark.parametrize(
    ("calls", "verdict", "reason"),
    [
        ([pay(order="A")], "valid", ""),
        ([pay("failed", order="A")], "valid", ""),
        ([pay("timed out", order="A")], "unknown", "1 call is in doubt in the recording"),
        ([pay(order="A"), pay(order="A")], "unknown", "1 effect occurs twice, meant or not"),
        ([pay("not made", order="A"), pay(order="A")], "valid", ""),
    ],
)
def test_valid_is_never_said_while_something_is_open(calls: list[ToolCall], verdict: str, reason: str) -> None:
    run = run_of(*[msgspec.structs.replace(call) for call in calls])
    row = crash_everywhere(run, {"pay"}, "hybrid", "ledger", "dedup")
    assert (row.verdict, "".join(row.reasons)) == (verdict, reason)
    assert row.effects == len(plan(run, {"pay"})) - len(run.turns) == sum(call.made for call in calls)
    assert row.in_doubt == [each.step for each in plan(run, {"pay"}) if each.call and each.call.in_doubt]


def test_a_duplicate_that_a_person_defined_makes_every_row_invalid() -> None:
    run = run_of(pay(order="A", n=1), pay(order="A", n=2))
    happened = what_happened(run, {"pay"}, same_effects(["order"], [run], {"pay"}))
    row = crash_everywhere(run, {"pay"}, "hybrid", "ledger", "dedup", happened)
    assert (row.verdict, row.invariants) == ("invalid", {})
    assert row.reasons == ['the recording itself makes pay(order="A", n=1) 2 times']


def test_an_invalid_report_names_the_invariants_and_how_often_each_broke() -> None:
    report = analyse([DATASETS[1]], ["book_hotel", "cancel_hotel"], ["hybrid"], ["keyed", "ledger"], "dedup")
    (row, *_) = [each for each in report.rows if each.policy == "keyed"]
    broken = sum(each.invariants["no untracked effect"] for each in report.rows if each.invariants)
    assert row.invariants and f'a crash breaks "no untracked effect" in {broken} schedules (keyed)' in "".join(
        sentences(report)
    )
    assert row.reasons == [f"no untracked effect: broken in {row.invariants['no untracked effect']} schedules"]


def test_a_first_look_needs_no_effect_and_lists_the_tools(tmp_path: Path) -> None:
    asks = [
        {
            "role": "assistant",
            "tool_calls": [{"id": f"c{n}", "type": "function", "function": {"name": "pay", "arguments": text}}],
        }
        for n, text in enumerate(['{"order": "A", "amount": 49}', '{"amount": "49.00", "order": "A "}'])
    ]
    answer = {"role": "tool", "tool_call_id": "c0", "content": "Error: timed out after 30 s"}
    file = tmp_path / "made.jsonl"
    file.write_text(json.dumps({"id": "made", "messages": [asks[0], answer, asks[1]]}), "utf-8")
    seen = look([file])
    (happened,) = seen.happened
    assert seen.tools == {"pay": 2}
    assert [site.outcome for site in happened.in_doubt] == ["timed out", "unanswered"]
    assert [site.place for site in happened.questions[0].calls] == [
        "messages[0].tool_calls[0]",
        "messages[2].tool_calls[0]",
    ]
    told = "\n".join(what_has_happened(seen.happened, "call"))
    assert "id c0, timed out" in told and "no key made from a call's id" in told
    (ruled,) = look([file], ["order"]).happened
    assert [each.same for each in ruled.duplicates] == ["order"]


def test_the_opening_stays_short_however_much_has_happened() -> None:
    happened = what_happened(
        run_of(*[pay("unanswered", order=number // 2, text="x\n" * 9_999) for number in range(60)])
    )
    lines = what_has_happened([happened], "call")
    assert len(lines) < 30 and max(map(len, lines)) < 160
    assert "    and 56 more; --json lists all of them" in lines and "    and 26 more; --json lists all of them" in lines


def test_a_call_is_short_and_cannot_steer_a_terminal() -> None:
    call = ToolCall(id="", name="pay", arguments={"a": "\x1b[2J\u202e" + "x" * 99_999})
    assert len(short_call(call)) <= 72 and short_call(call).isprintable() and short_call(call).endswith("...)")
