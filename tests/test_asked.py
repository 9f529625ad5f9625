"""What a call asked for, as it is recorded: it comes back, and differs exactly where the requests differ."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.asked import LONG, arguments_of, asked_of, differences, join, split
from labkit.canonical import canonical

NUMBERS = st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
REQUESTS = st.dictionaries(st.text(max_size=8), JSON, max_size=4)


@given(REQUESTS, REQUESTS)
def test_what_is_recorded_comes_back_and_differs_exactly_where_the_requests_do(one, other):
    recorded = asked_of(one)
    result, back = split(join(b'{"id":"x"}', recorded), "event")
    assert (result, back) == (b'{"id":"x"}', recorded)

    def same(name: str) -> bool:
        return name in one and name in other and canonical(one[name]) == canonical(other[name])

    expected = [name for name in {**one, **other} if not same(name)]
    assert differences(recorded, asked_of(other)) == expected
    assert differences(recorded, asked_of(other), expected) == []


def test_a_long_value_is_kept_as_a_beginning_and_a_digest_and_a_secret_as_a_digest_alone():
    secret = "sk-" + "a1" * 12
    asked = asked_of({"text": "word " * 99, "note": f"use {secret}", "amount": "49.00"})
    assert msgspec.json.decode(asked["text"])["begins"] == '"word word word word wor'
    assert set(msgspec.json.decode(asked["note"])) == {"sha256"}
    assert asked["amount"] == b'"49.00"'
    assert secret.encode() not in join(b"null", asked)
    assert all(len(body) > LONG for body in (asked["text"], asked["note"]))


def test_arguments_that_json_cannot_hold_count_by_their_type():
    one, other = object(), object()
    assert arguments_of([one, {1, 2}]) == arguments_of([other, {2, 1}])
    assert arguments_of([one]) != arguments_of([pytest])
