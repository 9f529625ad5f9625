"""How a provider misbehaves when it is told to: the in-process twin and the provider process alike."""

from __future__ import annotations

import pytest

from labkit.errors import EffectRejected, EffectUnknown, InvalidInput, ProviderAway
from labkit.provider.faults import CALL_FAULTS, Fault, faults_for
from tests.worlds import DONE, NOT_DONE, kinds, order, phases


@pytest.mark.parametrize(
    ("what", "error", "written", "tapped"),
    [
        ("refuse", EffectRejected, ["refused"], NOT_DONE),
        ("fail_before", EffectUnknown, [], NOT_DONE),
        ("fail_after", EffectUnknown, ["effect"], DONE),
        ("late", EffectUnknown, ["effect"], DONE),
    ],
)
def test_a_fault_strikes_at_its_call_and_at_no_other(make, what, error, written, tapped):
    fault = Fault("payments", "refund", 2, what, reason="budget_spent", seconds=600)
    world = make(faults=[fault], patience=0.2)
    world.call(order(key="k1")), world.call(order(key="k1", operation="charge", target="mail"))
    result, seen = phases(lambda: world.call(order(key="k2")))
    assert isinstance(result, error) and seen == tapped
    assert kinds(world) == ["effect", "effect", *written]
    assert getattr(result, "reason", "budget_spent") == "budget_spent"
    receipt, seen = phases(lambda: world.call(order(key="k2")))
    assert seen == DONE and world.entries()[-1].receipt_id == receipt.id
    assert kinds(world).count("effect") == 3


@pytest.mark.parametrize(
    ("name", "error", "written", "tapped"),
    [
        ("timeout_before", EffectUnknown, [], NOT_DONE),
        ("timeout_after", EffectUnknown, ["effect"], DONE),
        ("refused", EffectRejected, ["refused"], NOT_DONE),
        ("reply_lost", EffectUnknown, ["effect"], DONE),
        ("reply_twice", type(None), ["effect", "effect"], DONE),
        ("away", ProviderAway, [], NOT_DONE),
    ],
)
def test_a_call_fault_does_at_every_world_what_its_name_says(make, name, error, written, tapped):
    world = make(faults=faults_for(name, "mail", "refund", 2), patience=0.2)
    world.call(order("mail")), world.call(order("mail", operation="charge"))
    result, seen = phases(lambda: world.call(order("mail")))
    assert isinstance(result, error) or (error is type(None) and result.id == "mail-3")
    assert seen == tapped and kinds(world) == ["effect", "effect", *written]
    if name == "away":  # the target misses a second call, whatever is asked for
        assert isinstance(phases(lambda: world.call(order("mail", operation="charge")))[0], ProviderAway)
    assert world.call(order("mail")).id == world.entries()[-1].receipt_id


def test_every_call_fault_is_tried_above_and_no_other_name_is_known():
    assert set(CALL_FAULTS) == {"timeout_before", "timeout_after", "refused", "reply_lost", "reply_twice", "away"}
    with pytest.raises(InvalidInput, match=r"there is no call fault 'timeout'.*\n.*\n.*timeout_"):
        faults_for("timeout", "mail", "send", 1)


def test_a_second_delivery_is_recognised_by_its_key_where_keys_are_recognised(make):
    for target, key, times in (("payments", "k1", 1), ("payments", None, 2), ("tickets", "k1", 2), ("mail", "k1", 2)):
        world = make(faults=faults_for("reply_twice", target, "refund", 1))
        assert world.call(order(target, key)).id == f"{target}-1"
        assert kinds(world) == ["effect"] * times


@pytest.mark.parametrize("undo", [False, True])
def test_a_provider_that_is_away_misses_questions_and_undoing_too(make, undo):
    world = make(faults=faults_for("away", "tickets", "refund", 2))
    receipt = world.call(order("tickets"))
    with pytest.raises(ProviderAway):
        world.call(order("tickets"))
    with pytest.raises(ProviderAway, match="nobody was there"):
        world.compensate("tickets", receipt.id, "c/c") if undo else world.lookup("tickets", "k1", "pay/lookup")
    assert world.lookup("tickets", "k1", "pay/lookup") == receipt and kinds(world) == ["effect"]


def test_a_late_answer_within_patience_is_an_answer(make):
    world = make(faults=[Fault("payments", "refund", 1, "late", seconds=0.01)])
    receipt, seen = phases(lambda: world.call(order()))
    assert receipt.status == "done" and seen == DONE


@pytest.mark.parametrize(
    "fields",
    [
        {"target": "bank"},
        {"nth": 0},
        {"what": "explode"},
        {"reason": "mood"},
        {"seconds": -1.0},
        {"seconds": float("nan")},
        {"seconds": 1e9},
        {"times": 2},
        {"what": "away", "times": 0},
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(make, fields):
    with pytest.raises(InvalidInput):
        make(faults=[Fault(**{"target": "mail", "operation": "send", "nth": 1, "what": "late"} | fields)])


def test_two_faults_at_one_call_are_refused(make):
    with pytest.raises(InvalidInput, match="call 1 of mail send has two"):
        make(faults=[Fault("mail", "send", 1, "late"), Fault("mail", "send", 1, "refuse")])
