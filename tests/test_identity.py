"""Business identity: a key protects a call, a business identity protects a customer."""

from __future__ import annotations

from typing import Any

import pytest
from workflows import Rig, taps_of, workflow

from labkit.check.repeats import same_identity, same_request
from labkit.errors import ActivityFailed, EffectRejected, InvalidInput
from labkit.model import State, Target, Workflow
from labkit.provider.ledger_file import read_ledger
from labkit.sim import explore

PROTECTED = ("ledger", "outbox")
ONCE = "an effect happens once for its business identity"


class Tries(State):
    """How often it was tried."""

    tries: int = 0
    told: str = ""


def confirm(call: Any, tries: int) -> str:
    """A confirmation that is not there in time at first."""
    if tries == 0:
        raise TimeoutError("read timed out")
    return "ok"


def planning_again(once_per: tuple[str, ...] = (), of_target: tuple[str, ...] = ()) -> Workflow[Tries]:
    """An agent that pays, hears nothing, and plans the payment again."""
    made = Workflow(
        "agent",
        version="1",
        state=Tries,
        begin=Tries,
        targets={"pay": Target(capability="dedup", once_per=of_target)},
    )

    @made.step
    def pay(ctx: Any, state: Tries) -> Any:
        ctx.effect("pay", "refund", {"order": "AB-1", "amount": "49.00", "try": state.tries}, once_per=once_per)
        try:
            ctx.activity(confirm, state.tries)
        except ActivityFailed:
            state.tries += 1
            return pay
        return None

    return made


@pytest.mark.parametrize("where", ["call", "target"])
@pytest.mark.parametrize("policy", PROTECTED)
def test_a_second_effect_of_one_business_identity_is_refused_and_names_the_first(engine, policy, where):
    names = {"once_per": ("order",)} if where == "call" else {"of_target": ("order",)}
    rig = Rig(planning_again(**names), engine, policy)
    run = rig.drive()
    assert run.status == "failed" and rig.outside("effect") == 1
    assert "acme/agent/r/1.pay would repeat effect acme/agent/r/0.pay (confirmed, receipt pay-1)" in run.reason
    assert '["pay","refund",{"order":"AB-1"}]' in run.reason
    assert [entry.status for entry in rig.effects()] == ["confirmed"]
    assert [entry.identity for entry in rig.twin.entries() if entry.kind == "effect"] == [rig.effects()[0].identity]


@pytest.mark.parametrize("policy", PROTECTED)
def test_the_refusal_stands_wherever_the_process_dies(engine, policy):
    report = explore(planning_again(("order",)), engine=engine, policy=policy, crashes=2)
    assert report.ok, f"{report}\n{report.counterexample}"
    assert report.unexpected == 0


@pytest.mark.parametrize("policy", ["bare", "keyed"])
def test_where_no_ledger_protects_the_invariant_speaks_and_no_crash_is_blamed(engine, policy):
    report = explore(planning_again(("order",)), engine=engine, policy=policy)
    assert report.verdict == "invalid"
    assert [each.invariant for each in report.without_crash] == [ONCE]
    assert "0.pay" in report.without_crash[0].text and "1.pay" in report.without_crash[0].text
    assert ONCE not in report.violations
    assert f"without any crash: {ONCE}" in str(report)


def test_two_effects_of_one_step_are_refused_too(engine, policy):
    def twice(ctx: Any, state: Any) -> Any:
        ctx.effect("bank", "pay", {"order": 1}, once_per=("order",))
        try:
            ctx.effect("bank", "pay", {"order": 1}, once_per=("order",))
        except EffectRejected as error:
            state.log.append(error.reason)

    rig = Rig(workflow(twice), engine, policy)
    run = rig.drive()
    assert run.status == "completed"
    assert (run.data.log, rig.outside("effect")) == ((["repeats_effect"], 1) if policy in PROTECTED else ([], 2))


def test_other_orders_targets_operations_and_runs_are_no_repeat(engine):
    def many(ctx: Any, state: Any) -> Any:
        for target, operation, order in (
            ("bank", "pay", 1),
            ("bank", "pay", 2),
            ("bank", "hold", 1),
            ("desk", "pay", 1),
        ):
            ctx.effect(target, operation, {"order": order}, once_per=("order",))

    rig = Rig(workflow(many), engine)
    assert (rig.drive().status, rig.drive("r0").status, rig.outside("effect")) == ("completed", "completed", 8)
    assert same_identity(rig.twin.entries()) == []


def test_a_fork_makes_the_same_effects_and_no_second_ones(engine):
    rig = Rig(planning_again(("amount",)), engine)
    rig.crash("pay/commit:after#1")
    rig.fork(0, "f")
    assert rig.drive("f").status == "failed"
    assert rig.outside("effect") == 1


@pytest.mark.parametrize("undone", ["rejected", "compensated"])
def test_what_was_undone_stands_in_nobodys_way(undone):
    rig = Rig(planning_again(("order",)))
    rig.crash("pay/commit:after#1")
    with rig.store.transaction("test/set") as tx:
        tx.execute("UPDATE effects SET status=?", undone)
    if undone == "compensated":
        rig.twin.compensate("pay", "pay-1", "pay/compensate")
    assert rig.drive().status == "completed"
    assert rig.outside("effect") == 2
    assert bool(same_identity(rig.twin.entries())) == (undone == "rejected")


def test_a_named_field_that_is_missing_is_refused_before_anything_is_sent(engine, policy):
    def short(ctx: Any, state: Any) -> Any:
        ctx.effect("bank", "pay", {"amount": 1}, once_per=("order", "amount"))

    rig = Rig(workflow(short), engine, policy)
    with pytest.raises(InvalidInput, match=r"once per order, amount, and the request has no order: it has amount"):
        rig.drive()
    assert rig.twin.entries() == []


BAD = {
    "one name": {"once_per": "order"},
    "names that are none": {"once_per": (1,)},
    "a request that is no dict": {"request": ["order"]},
    "a field that is no name": {"request": {1: 2}},
    "no operation": {"operation": None},
    "a target that is no name": {"target": ["bank"]},
    "fields that may change": {"may_change": "order"},
}


@pytest.mark.parametrize("case", BAD)
def test_an_argument_of_a_wrong_type_is_named_and_nothing_is_sent(engine, case):
    given = {"target": "bank", "operation": "pay", "request": {"order": 1}, **BAD[case]}
    [argument] = BAD[case]

    def bad(ctx: Any, state: Any) -> Any:
        ctx.effect(given.pop("target"), given.pop("operation"), given.pop("request"), **given)

    rig = Rig(workflow(bad), engine)
    with pytest.raises(InvalidInput, match=argument):
        rig.drive()
    assert rig.twin.entries() == [] and rig.effects() == []


@pytest.mark.parametrize(
    ("target", "told"),
    [
        (Target(capability=None), "bank: None"),  # type: ignore[arg-type]
        (Target(capability="dedup", once_per="order"), r"once_per of target bank is 'order'"),  # type: ignore[arg-type]
        ("dedup", "its target bank is 'dedup'"),
    ],
    ids=["capability", "once_per", "target"],
)
def test_a_target_that_cannot_be_one_is_refused_when_the_workflow_is_made(target, told):
    with pytest.raises(InvalidInput, match=told):
        Workflow("own", version="1", state=Tries, begin=Tries, targets={"bank": target})


def test_a_ledger_file_of_before_has_no_identities_and_is_read(tmp_path):
    old = b'{"seq":1,"kind":"effect","target":"bank","operation":"pay","key":null,"subject":"r/0.pay","request":{},'
    (tmp_path / "old.jsonl").write_bytes(old + b'"receipt_id":"bank-1","at":"2026-01-05T09:00:00+00:00"}\n')
    [entry], torn = read_ledger(tmp_path / "old.jsonl")
    assert (entry.identity, torn) == ("", b"")
    assert same_identity([entry]) == same_request([entry]) == []


def test_a_database_of_before_gets_the_new_columns_and_its_effects_count_too(engine):
    rig = Rig(planning_again(("order",)), engine)
    rig.crash("pay/attempt:before#1")
    with rig.store.transaction("test/set") as tx:
        tx.execute("ALTER TABLE effects DROP COLUMN identity")
        tx.execute("ALTER TABLE approvals DROP COLUMN about")
    assert "identity" not in {row[1] for row in rig.store.rows("PRAGMA table_info(effects)")}
    assert rig.drive().status == "failed"  # the first effect was planned before it had an identity, and counts
    assert rig.outside("effect") == 1


def test_every_tap_of_a_refused_repeat_leaves_one_effect(engine):
    def rig() -> Rig:
        return Rig(planning_again(("order",)), engine)

    for at in taps_of(rig):
        dead = rig()
        dead.crash(at)
        assert dead.drive().status == "failed", at
        assert dead.outside("effect") == 1, at
