"""A counterexample is as short as it can be, survives its file, and breaks the same again; other files are refused."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.cases.refund import refund
from labkit.errors import InvalidInput
from labkit.scenario import Scenario
from labkit.sim import explore
from labkit.sim.counterexample import Counterexample
from labkit.sim.simulate import replay, shortest, shrink, simulate

BARE = Scenario(workflow=refund, inputs=refund.example, engine="event-sourced", policy="bare", provider="neither")


@pytest.fixture(scope="module")
def found() -> Counterexample:
    """What a payment without a key breaks."""
    report = explore(refund, engine="event-sourced", policy="bare", provider="neither", **refund.example)
    assert report.counterexample is not None
    return report.counterexample


def test_a_counterexample_survives_its_file_and_breaks_the_same_again(found, tmp_path):
    loaded = Counterexample.load(found.save(tmp_path / "found.json"))
    assert loaded == found
    assert replay(loaded).violations == found.violations
    assert "no duplicate effect" in str(loaded)
    assert found.schedule[0] in str(loaded)


def test_a_schedule_shrinks_to_the_crash_that_matters():
    schedule = ["load_case/record:before#1", "execute_refund/call:executed#1", "send_mail/record:after#1"]

    story = simulate(BARE, schedule)
    assert story.evidence.duplicated() == ["run-1/4.execute_refund"]
    assert shortest(Counterexample.of(BARE, schedule, story.violations)) == ["execute_refund/call:executed#1"]


@given(st.sets(st.frozensets(st.sampled_from("abcd"), min_size=1)))
def test_no_shorter_part_breaks_than_the_one_that_is_left(breaking):
    breaking.add(frozenset("abcd"))
    left = shrink("abcd", lambda part: frozenset(part) in breaking)
    assert frozenset(left) in breaking
    assert len(left) == min(map(len, breaking))
    assert left == sorted(left)


@pytest.mark.parametrize(
    "change",
    [
        {"schedule": "run/begin:before#1"},
        {"format": "labkit-counterexample/99"},
        {"engine": None},
        {"violations": [{"invariant": "no duplicate effect"}]},
        {"surprise": True},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_tampered_file_is_refused(found, tmp_path, change):
    path = tmp_path / "tampered.json"
    path.write_bytes(msgspec.json.encode({**msgspec.to_builtins(found), **change}))
    with pytest.raises(InvalidInput, match=r"tampered\.json"):
        Counterexample.load(path)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"\x80\x04.", b"\xff\xfe", b'{"format": "labkit-counterexample/1"}']
)
def test_a_malformed_file_is_refused(tmp_path, body):
    path = tmp_path / "malformed.json"
    path.write_bytes(body)
    with pytest.raises(InvalidInput, match=r"malformed\.json is not a counterexample"):
        Counterexample.load(path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"missing\.json is not a counterexample"):
        Counterexample.load(tmp_path / "missing.json")


@pytest.mark.parametrize(
    "change",
    [
        {"schedule": ["in the middle"]},
        {"schedule": ["execute_refund/call:executed#2"]},
        {"engine": "vapour"},
        {"policy": "hope"},
        {"provider": "magic"},
        {"workflow": "nothing"},
        {"workflow": "os:system"},
        {"inputs": {"case": 0}},
        {"inputs": {"something": "else"}},
    ],
    ids=str,
)
def test_a_counterexample_that_cannot_be_played_is_refused(found, change):
    with pytest.raises(InvalidInput):
        replay(msgspec.structs.replace(found, **change))
