"""A published claim gets a verdict from measured rows, and from nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from labkit.cases.service_desk import DATASETS
from labkit.claims.answers import VARIANTS, after_a_crash, call_again
from labkit.claims.measured import Row, read, replaced, write
from labkit.claims.table import judged, markdown
from labkit.claims.verdict import Claim, judge, read_claims, terms
from labkit.errors import InvalidInput
from labkit.stacks.find import every_stack
from tools.claims_table import windows


def row(policy: str, duplicated: int, trials: int = 40, **more: object) -> Row:
    cell = {"stack": "shop", "kind": "cell", "situation": "crash", "window": "W3", "effect": "execute_refund", **more}
    return Row(**cell, policy=policy, trials=trials, duplicated=duplicated)  # type: ignore[arg-type]


def claim(rows: str = "stack=shop window=W3", shows: str = "duplicated=0", note: str = "") -> Claim:
    return Claim(id="c1", stack="Shop", claim="never twice", topic="effects", rows=rows, shows=shows, note=note)


def test_new_rows_replace_those_of_their_stack_and_kind_and_the_order_stays():
    def named(*pairs):
        return [Row(stack=stack, kind=kind, seen=seen) for stack, kind, seen in pairs]

    earlier = named(("a", "cell", "old"), ("mine", "cell", "old"), ("b", "cell", "old"), ("b", "probe", "old"))
    found = replaced(earlier, named(("b", "probe", "new"), ("c", "cell", "new"), ("a", "cell", "new")), ["a", "b", "c"])
    assert [(row.stack, row.kind, row.seen) for row in found] == [
        ("a", "cell", "new"),
        ("b", "cell", "old"),
        ("b", "probe", "new"),
        ("c", "cell", "new"),
        ("mine", "cell", "old"),
    ]


def test_a_claim_holds_when_every_row_that_bears_on_it_shows_it():
    assert judge(claim(), [row("bare", 0), row("keyed", 0)])[1:4] == ("holds", 2, 80)


def test_a_claim_fails_when_no_row_shows_it():
    assert judge(claim(), [row("bare", 40), row("keyed", 1)]).verdict == "fails"


def test_a_claim_that_some_rows_show_holds_under_what_only_they_have():
    found = judge(claim(), [row("bare", 40), row("keyed", 0), row("ledger", 0)])
    assert (found.verdict, found.condition) == ("holds if", "policy is keyed or ledger")


def test_a_condition_with_many_values_names_those_that_contradict_the_claim():
    rows = [row("bare", 0, stack=stack) for stack in "abcd"] + [row("bare", 1, stack="e"), row("bare", 2, stack="f")]
    assert judge(claim(rows="window=W3"), rows).condition == "stack is not e or f"
    mixed = [*rows, row("keyed", 0, stack="e")]
    assert judge(claim(rows="window=W3"), mixed).condition == "stack is a or b or c or d"


@pytest.mark.parametrize(
    ("rows", "remark"),
    [
        ([row("bare", 0)], "sync only"),
        ([row("bare", 1), row("keyed", 0)], "policy is keyed; sync only"),
        ([], "sync only"),
    ],
    ids=["holds", "holds if", "not measured"],
)
def test_a_note_is_shown_with_every_verdict(tmp_path: Path, rows: list[Row], remark: str):
    assert judge(claim(note="sync only"), rows).remark == remark
    assert not rows or f": {remark} |" in markdown([judge(claim(note="sync only"), rows)])


def test_a_claim_asks_only_for_stacks_that_there_are():
    asked = {stack for each in read_claims(DATASETS / "claims.csv") for stack in stacks_of(each)}
    assert asked and asked <= {name for name, _ in every_stack()} | {
        row.stack for row in read(DATASETS / "measured.csv")
    }


def stacks_of(claim: Claim) -> list[str]:
    return [name for term in terms(claim, claim.rows) if term.field == "stack" for name in term.value.split("|")]


def test_the_page_of_answers_counts_what_is_recorded_and_guesses_nothing():
    again = {"stack": "dbos", "window": "W5", "situation": "started again"}
    rows = [row("bare", 7, 10, stack="dbos"), row("keyed", 0, 10, stack="dbos"), row("bare", 2, 10, **again)]
    payment = call_again(rows)[1]
    assert [payment[words] for words in ("call again?", "repeated, nothing added", "with a key", "with a ledger")] == [
        "only with the same key",
        "7 of 10",
        "0 of 10",
        "?",
    ]
    page = after_a_crash(rows)
    assert list(page) == list(VARIANTS.values())
    assert page["DBOS"]['what "start again" does'] == "Goes on. Paid twice: 2 of 10."
    assert (
        page["DBOS"]["last thing recorded: call again?"] == page["Temporal, activity"]['what "start again" does'] == "?"
    )


def test_the_page_of_answers_says_when_nothing_was_heard_of_changed_code():
    changed = {"stack": "dbos", "window": "W5"}
    lost = row("bare", 0, 10, situation="renamed", false_finish=9, **changed)
    check = Row(stack="dbos", kind="check", name="inserted code is noticed", outcome="fail", trials=1)
    told = after_a_crash([lost, row("bare", 0, 10, situation="inserted", **changed), check])["DBOS"]
    assert told["what it says when the code has changed"] == (
        "A step renamed: nothing, and completed with effects lost in 9 of 10. "
        "A step inserted: nothing, and the new step is left out."
    )


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [row("bare", 0, trials=0)],
        [row("bare", 0, window="W4")],
        [Row(stack="shop", kind="check", window="W3", outcome="not run")],
    ],
    ids=["no rows", "no trials", "other rows", "not run"],
)
def test_there_is_no_verdict_without_trials_behind_it(rows: list[Row]):
    found = judge(claim(), rows)
    assert (found.verdict, found.trials) == ("not measured", 0)


def test_a_claim_without_rows_of_its_own_is_not_measured_however_much_was():
    assert judge(claim(rows="", shows=""), [row("bare", 0)]).verdict == "not measured"


def test_trials_can_be_compared_with_and_names_may_be_one_of_several():
    always = claim(rows="policy=bare|keyed", shows="duplicated=trials")
    assert judge(always, [row("bare", 40), row("keyed", 39), row("ledger", 0)]).condition == "policy is bare"


UNREADABLE = ("duplicated", "colour=red", "duplicated=0; import os", "__class__=1")
INCOMPARABLE = ("duplicated=zero", "duplicated>=1", "outcome<pass")


@pytest.mark.parametrize("text", UNREADABLE + INCOMPARABLE)
def test_a_term_that_cannot_be_read_is_refused_with_the_claim_that_has_it(tmp_path: Path, text: str):
    path = tmp_path / "claims.csv"
    path.write_text(f"id,stack,claim,topic,rows,shows,note\nc7,Shop,once,effects,stack=shop,{text},\n", "utf-8")
    with pytest.raises(InvalidInput, match="claim c7"):
        read_claims(path)


def test_a_table_that_was_written_is_read_back_as_it_was(tmp_path: Path):
    rows = [row("bare", 3, seconds_median=0.25, bytes=4096), Row(stack="shop", kind="probe", name="a, b", seen='"x"')]
    write(tmp_path / "measured.csv", rows)
    assert read(tmp_path / "measured.csv") == rows


def test_the_readme_shows_what_no_kill_does_beside_the_windows_and_only_the_refunds_own_count():
    mail = {"effect": "send_mail", "window": "W1"}
    crashes = [row("bare", 10, 10), row("bare", 0, 10, window="W5", other_duplicated=10), row("bare", 10, 10, **mail)]
    text = windows([*crashes, row("bare", 0, 10, situation="no kill", window="", effect="")])
    assert "| stack | policy | no kill | W1 |" in text
    assert "| shop | bare | 0/10 | ? | ? | **10/10** (72%-100%) | ? | 0/10 |" in text


def test_a_damaged_table_is_refused_with_its_line(tmp_path: Path):
    path = tmp_path / "measured.csv"
    write(path, [row("bare", 3), row("keyed", 0)])
    path.write_text(path.read_text("utf-8").replace(",40,0,0,", ",many,0,0,"), "utf-8")
    with pytest.raises(InvalidInput, match="line 3"):
        read(path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda body: b"",
        lambda body: body.replace(b"stack,kind", b"kind,stack"),
        lambda body: body.replace(b",cell,", b",sell,"),
        lambda body: body.replace(b"shop", b"\xff"),
    ],
    ids=["empty", "other columns", "unknown kind", "no text"],
)
def test_what_is_no_such_table_is_refused(tmp_path: Path, damage: Callable[[bytes], bytes]):
    path = tmp_path / "measured.csv"
    write(path, [row("bare", 3)])
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InvalidInput, match=r"measured\.csv is no table"):
        read(path)


def test_the_readme_shows_only_what_was_measured(tmp_path: Path):
    (tmp_path / "claims.csv").write_text(
        "id,stack,claim,topic,rows,shows,note\n"
        "c1,Shop,once,effects,stack=shop,duplicated=0,\nc2,Other,always,effects,,,no adapter\n",
        "utf-8",
    )
    write(tmp_path / "measured.csv", [row("bare", 40)])
    text = markdown(judged(tmp_path / "claims.csv", tmp_path / "measured.csv"))
    assert "| Shop | once | ✗ fails | 40 |" in text and "always" not in text
    assert "2 published claims: 0 holds, 1 fails, 0 holds if, 1 not measured" in text
