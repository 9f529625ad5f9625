"""Effects under every policy: faults, retries, the ledger's moves, and keys that are never shared."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from workflows import Rig, chain, taps_of

from labkit.effects import ledger
from labkit.effects.key import effect_key
from labkit.errors import Drift, EffectRejected, EffectUnknown, InvalidInput, LabError, ProviderAway, StaleWrite
from labkit.model import CAPABILITIES, Budgets, Order, Receipt
from labkit.provider.faults import Fault, faults_for

PAY = [["bank.pay"], ["think"]]

# What a ledger entry of each status may become. Every other move is refused.
MAY_BECOME = {
    "planned": {"executing", "ambiguous"},  # ambiguous: tried before, and no attempt is left
    "executing": {"executing", "confirmed", "rejected", "ambiguous", "planned"},
    "ambiguous": {"executing", "confirmed", "rejected", "ambiguous", "planned", "compensated"},
    "confirmed": {"compensated"},
    "rejected": set(),
    "compensated": set(),
}
MOVES = {
    "executing": lambda tx, entry: ledger.executing(tx, entry),
    "confirmed": lambda tx, entry: ledger.confirmed(tx, entry, Receipt(id="new")),
    "rejected": lambda tx, entry: ledger.rejected(tx, entry, "policy_refused", "no"),
    "ambiguous": lambda tx, entry: ledger.ambiguous(tx, entry, "no answer"),
    "planned": lambda tx, entry: ledger.cleared(tx, entry),
    "compensated": lambda tx, entry: ledger.compensated(tx, entry, Receipt(id="new")),
}


@pytest.mark.parametrize("after", MOVES)
@pytest.mark.parametrize("before", MAY_BECOME)
def test_the_ledger_makes_the_moves_of_its_state_machine_and_no_other(before, after):
    rig = Rig(chain(PAY))
    rig.crash("s0/intent:after#1")
    with rig.store.transaction("test/set") as tx:
        tx.execute("UPDATE effects SET status=?", before)
    [entry] = rig.effects()
    if after in MAY_BECOME[before]:
        with rig.store.transaction("test/move") as tx:
            moved = MOVES[after](tx, entry)
        assert [moved] == rig.effects() and moved.status == after
        assert moved.attempts == entry.attempts + (after == "executing")
    else:
        with pytest.raises(StaleWrite, match=entry.effect_key), rig.store.transaction("test/move") as tx:
            MOVES[after](tx, entry)
        assert [entry] == rig.effects()


TOKENS = st.lists(st.sampled_from(["a", "b", "%2F", "%", "é", ".2"]), min_size=6, max_size=8)
CUTS = st.sets(st.integers(1, 5), min_size=3, max_size=4)


@given(TOKENS, TOKENS, CUTS, CUTS)
def test_two_effects_never_share_a_key(tokens, others, cuts, other_cuts):
    def parts(words: list[str], at: set[int]) -> list[str]:
        edges = [0, *sorted(at), len(words)]
        return ["/".join(words[start:end]) for start, end in pairwise(edges)]

    for other in (tokens, others):  # the same text cut at other places, and another text
        same = parts(tokens, cuts) == parts(other, other_cuts)
        assert (effect_key(*parts(tokens, cuts)) == effect_key(*parts(other, other_cuts))) == same


@pytest.mark.parametrize("empty", range(4))
def test_a_key_needs_its_whole_identity(empty):
    parts = ["acme", "refund", "run-1", "4.pay"]
    parts[empty] = ""
    with pytest.raises(InvalidInput, match="whole identity"):
        effect_key(*parts)


@pytest.mark.parametrize("policy", ["ledger", "outbox"])
def test_the_same_effect_with_another_request_is_refused_and_nothing_is_sent(engine, policy):
    rig = Rig(chain(PAY), engine, policy)
    rig.crash("s0/attempt:before#1")
    [entry] = rig.effects()
    other = Order(target="bank", operation="pay", request={"about": "more"}, subject="s", label="s0/call")
    with pytest.raises(Drift, match=entry.effect_key):
        ledger.check_request(entry, other)
    with rig.store.transaction("test/set") as tx:
        tx.execute("UPDATE effects SET request_hash='0'")
    rig.fork(0, "f")  # a fork asks for the same effect from the start
    with pytest.raises(Drift, match="compensate the old effect"):
        rig.drive("f")
    assert rig.outside("effect") == 0


def test_a_request_is_recognised_whatever_the_order_of_its_fields():
    rig = Rig(chain(PAY))
    rig.crash("s0/intent:after#1")
    order = Order(target="bank", operation="pay", request={"b": 1, "a": [1, 2]}, subject="s", label="s0/call")
    entry = msgspec.structs.replace(rig.effects()[0], request_hash=ledger.request_hash({"a": [1, 2], "b": 1}))
    ledger.check_request(entry, order)
    with pytest.raises(Drift):
        ledger.check_request(msgspec.structs.replace(entry, request_hash=ledger.request_hash({"a": [2, 1]})), order)


ANSWERED, RAISED, STUCK, REFUSED = "completed", "EffectUnknown", "waiting_for_person", "failed"
DOUBT = {"bare": RAISED, "keyed": RAISED, "ledger": ANSWERED, "outbox": ANSWERED}
# (policy, capability, done at the provider before the doubt) -> times executed after one more process. Others: once.
TIMES = {
    ("bare", "dedup", True): 2,
    ("bare", "lookup", True): 2,
    ("bare", "neither", True): 2,
    ("keyed", "lookup", True): 2,
    ("keyed", "neither", True): 2,
    ("ledger", "neither", False): 0,
    ("outbox", "neither", False): 0,
}
FAULTS = {  # what the provider does at the first call -> whether it has executed it
    "fail_before": False,
    "fail_after": True,
    "late": True,
}


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_doubtful_answer_ends_as_policy_and_provider_allow(engine, policy, capability, fault):
    rig = Rig(chain(PAY), engine, policy, capability, [Fault("bank", "pay", 1, fault, seconds=60)])
    tracked = policy in ("ledger", "outbox")
    try:
        ended = rig.drive().status
    except EffectUnknown:
        ended = RAISED
    expected = STUCK if tracked and capability == "neither" else DOUBT[policy]
    assert ended == expected
    assert rig.drive().status == (ANSWERED if expected == RAISED else expected)
    assert rig.executed()["r/0.s0"] == TIMES.get((policy, capability, FAULTS[fault]), 1)
    if tracked:
        assert [entry.status for entry in rig.effects()] == ["ambiguous" if expected == STUCK else "confirmed"]


def test_an_answer_that_is_late_but_comes_in_time_is_an_answer(engine, policy):
    rig = Rig(chain(PAY), engine, policy, "neither", [Fault("bank", "pay", 1, "late", seconds=1)])
    assert rig.drive().status == "completed"
    assert rig.executed() == {"r/0.s0": 1}


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_a_provider_that_is_away_costs_no_attempt_and_the_run_goes_on_when_it_is_back(engine, policy, capability):
    rig = Rig(chain(PAY), engine, policy, capability, faults_for("away", "bank", "pay", 1))
    for _ in range(2):
        with pytest.raises(ProviderAway):
            rig.drive()
        assert [(entry.status, entry.attempts) for entry in rig.effects()] in ([], [("planned", 0)])
    assert rig.drive().status == "completed" and rig.executed() == {"r/0.s0": 1}


def test_a_provider_that_is_away_says_nothing_of_an_earlier_attempt():
    rig = Rig(chain(PAY), policy="ledger", provider="dedup", faults=faults_for("away", "bank", "pay", 2))
    rig.crash("s0/call:executed#1")
    with pytest.raises(EffectUnknown, match="in doubt since an earlier attempt, and nobody was there"):
        rig.drive()
    assert [(entry.status, entry.attempts) for entry in rig.effects()] == [("ambiguous", 1)]


@pytest.mark.parametrize("reason", EffectRejected.REASONS)
def test_a_refusal_for_good_is_never_tried_again(engine, policy, reason):
    rig = Rig(chain(PAY), engine, policy, faults=[Fault("bank", "pay", 1, "refuse", reason)])
    for _ in range(3):
        run = rig.drive()
        assert run.status == "failed" and reason in run.reason
        # with an outbox the step was over before anybody refused what it had planned
        assert run.completed_steps == (["s0"] if policy == "outbox" else [])
    assert (rig.outside("effect"), rig.outside("refused"), rig.outside("activity")) == (0, 1, 0)
    assert [entry.rejection for entry in rig.effects()] == ([reason] if policy in ("ledger", "outbox") else [])


def test_a_refusal_stands_wherever_the_process_dies(engine, policy):
    def refusing() -> Rig:
        return Rig(chain(PAY), engine, policy, faults=[Fault("bank", "pay", nth, "refuse") for nth in (1, 2)])

    expected = refusing().drive().outcome()
    for at in taps_of(refusing):
        rig = refusing()
        rig.crash(at)
        assert rig.drive().outcome() == rig.process().read("r").outcome() == expected, at
        assert rig.outside("effect") == 0, at


def test_spent_cost_stops_the_run_before_the_call(engine):
    rig = Rig(chain([["think", "think", "think"]], budgets=Budgets(cost_remaining=0.02)), engine)
    run = rig.drive()
    assert (run.status, run.budgets.cost_remaining) == ("failed", 0.0)
    assert "costs 0.01, 0.0 is left" in run.reason
    assert rig.outside("activity") == 2
    assert rig.process().read("r").outcome() == run.outcome()


@pytest.mark.parametrize("closing", [["bank.pay"], ["bank.pay", "think"]])
def test_spent_steps_stop_the_run_after_what_it_planned(engine, policy, closing):
    rig = Rig(chain([closing, ["think"]], budgets=Budgets(steps_remaining=1)), engine, policy)
    run = rig.drive()
    assert run.status == "failed" and "budget_spent" in run.reason
    assert rig.executed() == {"r/0.s0": 1}
    assert {entry.status for entry in rig.effects()} <= {"confirmed"}


def test_an_effect_that_cannot_be_sent_is_refused_before_anything_is_written(engine, policy):
    def bad(ctx, state):
        ctx.effect("bank", "pay", {"client": object()})

    def nowhere(ctx, state):
        ctx.effect("moon", "pay", {})

    for step in (bad, nowhere):
        rig = Rig(chain([["think"]], name=step.__name__), engine, policy)
        rig.workflow.steps["s0"] = step
        with pytest.raises(LabError):
            rig.drive()
        assert rig.twin.entries() == [] and rig.effects() == []


def test_effects_of_one_step_reach_the_provider_in_their_order(engine, policy):
    rig = Rig(chain([["bank.pay"] * 12]), engine, policy)
    rig.drive()
    about = [entry.request["about"] for entry in rig.twin.entries()]
    assert about == [f"0.{nth}" for nth in range(12)]
