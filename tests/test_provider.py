"""One contract for the outside world: the in-process twin and the provider process keep the same promises."""

from __future__ import annotations

import pytest

from labkit.errors import EffectRejected, InvalidInput, Unsupported
from labkit.model import ActivityCall
from labkit.taps import listening
from tests.worlds import DONE, NOT_DONE, TARGETS, kinds, order, phases


def test_a_world_knows_its_targets_and_refuses_others(make):
    world = make()
    assert [world.capability(name) for name in TARGETS] == ["dedup", "lookup", "neither"]
    seen = []
    with listening(lambda *place: seen.append(place)):
        for refused in (
            lambda: world.capability("bank"),
            lambda: world.call(order("bank")),
            lambda: world.lookup("bank", "k1", "pay/lookup"),
            lambda: world.compensate("bank", "bank-1", "pay/compensate"),
        ):
            with pytest.raises(InvalidInput, match="no target 'bank'; it has payments, tickets, mail"):
                refused()
    assert world.entries() == [] and seen == []


def test_one_capability_can_replace_that_of_every_target(make):
    world = make(capability="lookup")
    assert {world.capability(name) for name in TARGETS} == {"lookup"}
    world.call(order("payments")), world.call(order("payments"))
    assert kinds(world) == ["effect", "effect"]
    with pytest.raises(InvalidInput, match="'sometimes' is not a capability"):
        make(capability="sometimes")


def test_activities_are_numbered_by_subject_and_carry_the_drift(make):
    world, seen = make(drift=True), []
    with listening(lambda *place: seen.append(place)):
        calls = [world.note_activity(subject, "draft") for subject in ("a", "b", "a")]
    assert calls == [ActivityCall(1, True), ActivityCall(1, True), ActivityCall(2, True)]
    assert world.drift and seen == []
    assert [(e.kind, e.operation, e.subject, e.receipt_id) for e in world.entries()][2] == (
        "activity",
        "draft",
        "a",
        "",
    )
    assert make().note_activity("a", "draft") == ActivityCall(1, False)


def test_a_repeated_key_is_executed_once_by_a_target_that_dedups(make):
    world = make()
    first, tapped = phases(lambda: world.call(order(amount=5)))
    again, tapped_again = phases(lambda: world.call(order(amount=5)))
    assert first == again and tapped == tapped_again == DONE
    (entry,) = world.entries()
    assert (entry.seq, entry.kind, entry.target, entry.operation) == (1, "effect", "payments", "refund")
    assert (entry.key, entry.subject, entry.request, entry.receipt_id) == ("k1", "s1", {"amount": 5}, first.id)


def test_a_key_for_another_request_is_rejected_and_written_down(make):
    world = make()
    world.call(order(amount=5))
    for other in (order(amount=6), order(operation="charge", amount=5)):
        error, tapped = phases(lambda other=other: world.call(other))
        assert isinstance(error, EffectRejected) and error.reason == "invalid_request" and tapped == NOT_DONE
        assert "'k1'" in error.what and error.safe and error.next
    assert kinds(world) == ["effect", "refused", "refused"]
    assert world.call(order(amount=5)).id == world.entries()[0].receipt_id


@pytest.mark.parametrize(("target", "key"), [("payments", None), ("tickets", "k1"), ("mail", "k1")])
def test_without_dedup_a_repeat_is_executed_again(make, target, key):
    world = make()
    receipts = {world.call(order(target, key)).id for _ in range(2)}
    assert len(receipts) == 2 and kinds(world) == ["effect", "effect"]


def test_a_target_with_lookup_tells_what_it_did_first(make):
    world, seen = make(), []
    with listening(lambda *place: seen.append(place)):
        assert world.lookup("tickets", "k 1&ü", "pay/lookup") is None
    assert seen == [("pay/lookup", "before"), ("pay/lookup", "after")]
    first = world.call(order("tickets", "k 1&ü"))
    world.call(order("tickets", "k 1&ü"))
    assert world.lookup("tickets", "k 1&ü", "pay/lookup") == first
    assert world.lookup("tickets", "k2", "pay/lookup") is None


@pytest.mark.parametrize("target", ["payments", "mail"])
def test_only_a_target_with_lookup_can_be_asked(make, target):
    world = make()
    world.call(order(target))
    with pytest.raises(Unsupported, match=f"{target} cannot be asked by key"):
        world.lookup(target, "k1", "pay/lookup")


def test_an_effect_is_compensated_once(make):
    world = make()
    receipt = world.call(order())
    undone, tapped = phases(lambda: world.compensate("payments", receipt.id, "pay/call"))
    again, tapped_again = phases(lambda: world.compensate("payments", receipt.id, "pay/call"))
    assert undone == again and undone != receipt and tapped == tapped_again == DONE
    assert kinds(world) == ["effect", "compensation"]
    last = world.entries()[-1]
    assert (last.subject, last.request, last.receipt_id) == ("s1", {"receipt_id": receipt.id}, undone.id)


def test_a_receipt_that_a_target_never_gave_cannot_be_compensated(make):
    world = make()
    receipt = world.call(order())
    for target, receipt_id in (("payments", "payments-9"), ("mail", receipt.id)):
        error, tapped = phases(lambda t=target, r=receipt_id: world.compensate(t, r, "pay/call"))
        assert isinstance(error, EffectRejected) and error.reason == "gone" and tapped == NOT_DONE
    assert kinds(world) == ["effect"]


def test_what_a_caller_changes_later_does_not_reach_the_ledger(make):
    world, request = make(), {"items": [1, 2], "pair": (1, 2)}
    world.call(order(**request))
    request["items"].append(3)
    assert world.entries()[0].request == {"items": [1, 2], "pair": [1, 2]}


def test_a_request_that_is_not_plain_data_is_refused_before_it_is_sent(make):
    world, seen = make(), []
    with listening(lambda *place: seen.append(place)), pytest.raises(InvalidInput, match="not plain data"):
        world.call(order(client=object()))
    assert world.entries() == [] and seen == []
