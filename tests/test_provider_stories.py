"""Any story of calls ends the same, whoever tells it: twin, restored twin, provider process, reopened ledger file."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from labkit.errors import LabError
from labkit.model import Order, Target
from labkit.provider.client import Client
from labkit.provider.faults import Fault
from labkit.provider.ledger import Ledger
from labkit.provider.ledger_file import read_ledger
from labkit.provider.process import ProviderProcess
from labkit.provider.twin import Twin
from labkit.taps import listening

NUMBERS = itertools.count()
TARGETS = {name: Target(capability=name) for name in ("dedup", "lookup", "neither")}
FAULTS = [Fault("dedup", "do", 2, "refuse"), Fault("lookup", "do", 2, "fail_after"), Fault("neither", "do", 1, "late")]

names = st.sampled_from(list(TARGETS))
keys = st.sampled_from(["k1", "k2", "a\nb", "ключ"])
actions = st.one_of(
    st.tuples(st.just("note_activity"), st.sampled_from(["s1", "s2"]), st.just("draft")),
    st.builds(
        lambda target, key, amount: (
            "call",
            Order(target=target, operation="do", request={"n": amount}, subject="s1", label="pay/call", key=key),
        ),
        names,
        st.none() | keys,
        st.integers(0, 1),
    ),
    st.tuples(st.just("lookup"), names, keys, st.just("pay/lookup")),
    st.tuples(st.just("compensate"), names, st.sampled_from(["dedup-1", "lookup-2"]), st.just("pay/compensate")),
)
stories = st.lists(actions, max_size=12)


def play(world, story):
    """What each action of the story returned or raised."""
    results = []
    for method, *arguments in story:
        try:
            results.append(getattr(world, method)(*arguments))
        except LabError as error:
            results.append((type(error), str(error)))
    return results


def twin(path=None):
    return Twin(TARGETS, faults=FAULTS, ledger=Ledger(path, now=lambda: "noon"))


@settings(deadline=None)
@given(before=stories, between=stories, after=stories)
def test_a_restored_twin_goes_on_as_if_nothing_had_happened(before, between, after):
    world, other = twin(), twin()
    assert play(world, before) == play(other, before)
    image = world.image()
    play(world, between)
    world.restore(image)
    assert play(world, after) == play(other, after)
    assert world.image() == other.image()


@settings(deadline=None, max_examples=50)
@given(story=stories, later=stories, cut=st.integers(0, 400))
def test_a_file_cut_anywhere_opens_with_its_whole_lines_and_goes_on(tmp_path_factory, story, later, cut):
    path = tmp_path_factory.mktemp("ledger") / "world.jsonl"
    full = twin(path)
    play(full, story)
    full.ledger.close()
    data = path.read_bytes()
    path.write_bytes(data[: max(0, len(data) - cut)])
    kept = path.read_bytes().count(b"\n")
    opened = Ledger(path, now=lambda: "noon")
    assert opened.entries() == full.entries()[:kept]
    assert opened.torn == data[: max(0, len(data) - cut)].rpartition(b"\n")[2]
    # the rules look back at what was read, as if it had never been closed
    memory = Ledger(now=lambda: "noon")
    memory.restore(opened.image())
    assert play(Twin(TARGETS, ledger=opened), later) == play(Twin(TARGETS, ledger=memory), later)
    opened.close()
    assert read_ledger(path) == (memory.entries(), b"")


@pytest.fixture(scope="module")
def provider(tmp_path_factory):
    with ProviderProcess(tmp_path_factory.mktemp("provider")) as started:
        yield started


def heard(world, story):
    """What the actions of a story returned or raised, the taps they passed, and what was written, times left out."""
    taps = []
    with listening(lambda *place: taps.append(place)):
        results = play(world, story)
    return results, taps, [replace(entry, at="") for entry in world.entries()]


@settings(deadline=None, max_examples=40)
@given(story=stories)
def test_client_and_twin_cannot_be_told_apart(provider, story):
    client = Client(provider.url, f"world-{next(NUMBERS)}")
    client.create(TARGETS, faults=FAULTS)
    assert heard(client, story) == heard(twin(), story)
    client.close_world()
    client.close()
