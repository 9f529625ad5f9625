"""When two recorded calls are one effect: equal and equivalent arguments, and the fields that a person names."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recordings import pay, run_of

from labkit.errors import InvalidInput
from labkit.trajectory.accidents import what_happened
from labkit.trajectory.identity import canonical, same_effects

ONE = {"order": "AB-1", "amount": "49.00", "note": {"a": [1, 2], "b": "x"}}


@pytest.mark.parametrize(
    ("other", "equal"),
    [
        ({"note": {"b": "x", "a": [1, 2]}, "amount": "49.00", "order": "AB-1"}, True),  # the order of keys
        (ONE | {"amount": 49}, True),
        (ONE | {"amount": 49.0}, True),
        (ONE | {"amount": "49.0"}, True),
        (ONE | {"order": " AB-1\n"}, True),
        (ONE | {"reason": None}, True),
        (ONE | {"note": {"a": ["1", 2.0], "b": "x"}}, True),
        (ONE | {"amount": "49.01"}, False),
        (ONE | {"amount": "049.00"}, False),  # leading zeros are part of a name
        (ONE | {"amount": "4.9e1"}, False),
        (ONE | {"order": "ab-1"}, False),
        (ONE | {"order": "AB -1"}, False),
        (ONE | {"reason": ""}, False),
        (ONE | {"note": {"a": [2, 1], "b": "x"}}, False),
        (ONE | {"note": {"a": [1, 2], "b": "x", "c": 1}}, False),
        (ONE | {"amount": True}, False),
    ],
)
def test_equivalent_arguments_ask_a_question_and_others_do_not(other: dict[str, Any], equal: bool) -> None:
    happened = what_happened(run_of(pay(**ONE), pay(**other)), {"pay"})
    assert [len(each.calls) for each in happened.questions] == ([2] if equal else [])
    assert bool(happened.open) == equal


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=4)
    | st.from_regex(r"-?\d{1,3}(\.\d{1,2})?"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(one=VALUES, other=VALUES)
def test_whatever_differs_in_kind_or_value_stays_apart(one: Any, other: Any) -> None:
    assert canonical(one) == canonical(json.loads(json.dumps(one)))
    if isinstance(one, int | str) and isinstance(other, int | str):
        told = {json.dumps(each) if isinstance(each, bool) else str(each).strip() for each in (one, other)}
        if len(told) == 1 and bool in map(type, (one, other)):
            assert (canonical(one) == canonical(other)) == (type(one) is type(other))
        elif not any(text.lstrip("-").replace(".", "").isdigit() for text in told):
            assert (canonical(one) == canonical(other)) == (len(told) == 1)
    if isinstance(one, bool) or isinstance(other, bool):
        assert (canonical(one) == canonical(other)) == (one is other)


def test_digits_are_never_rounded() -> None:
    assert canonical("1" + "0" * 40 + "1") != canonical("1" + "0" * 41)
    assert canonical(10**20 + 1) != canonical(10**20)
    assert canonical(1e22) == canonical(10**22)
    assert canonical(-0.0) == canonical(0)


def test_what_makes_two_calls_one_effect_is_said_by_a_person() -> None:
    calls = [pay(order="A", note="x"), pay(order="A", note="y"), pay(order="B", note="x")]
    for rule in ("order", "pay:order", " pay : order "):
        rules = same_effects([rule], [run_of(*calls)], {"pay"})
        (duplicate,) = what_happened(run_of(*calls), {"pay"}, rules).repeated
        assert (duplicate.kind, [site.place for site in duplicate.calls]) == (
            "duplicate",
            [calls[0].place, calls[1].place],
        )
    both = same_effects(["order,note"], [run_of(*calls)], {"pay"})
    assert not what_happened(run_of(*calls), {"pay"}, both).repeated
    nested = [pay(payment={"order": "A", "at": 1}), pay(payment={"order": "A", "at": 2})]
    inner = same_effects(["payment.order"], [run_of(*nested)], {"pay"})
    assert len(what_happened(run_of(*nested), {"pay"}, inner).duplicates) == 1


def test_a_second_try_after_a_refusal_stays_a_question() -> None:
    rules = same_effects(["order"], [run_of(pay(order="A"))], {"pay"})
    for first, kind in (("failed", "question"), ("timed out", "duplicate"), ("unanswered", "duplicate")):
        (repeat,) = what_happened(run_of(pay(first, order="A"), pay(order="A")), {"pay"}, rules).repeated
        assert repeat.kind == kind


def test_a_call_without_the_named_field_is_compared_by_its_arguments() -> None:
    calls = [pay(order="A"), pay(other=1), pay(other=1)]
    rules = same_effects(["order"], [run_of(*calls)], {"pay"})
    (repeat,) = what_happened(run_of(*calls), {"pay"}, rules).repeated
    assert (repeat.kind, len(repeat.calls)) == ("question", 2)


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("", "is no list of fields"),
        ("a,,b", "is no list of fields"),
        (":a", "is no list of fields"),
        ("pya:order", "no call of 'pya' is looked at"),
        ("ordr", "no call has ordr; fields of these calls: note, order"),
        ("pay:order,amount", "no call has order and amount"),
    ],
)
def test_a_rule_that_fits_nothing_is_refused(rule: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why) as refused:
        same_effects([rule], [run_of(pay(order="A", note="x"))], {"pay"})
    assert refused.value.next and refused.value.safe
