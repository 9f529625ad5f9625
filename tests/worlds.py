"""Worlds for tests: the in-process twin and a world of a real provider process, made the same way."""

from __future__ import annotations

import itertools

import pytest

from labkit.errors import EffectRejected, EffectUnknown, ProviderAway
from labkit.model import Order, Target
from labkit.provider.client import Client
from labkit.provider.process import ProviderProcess
from labkit.provider.twin import Twin
from labkit.taps import listening

TARGETS = {
    "payments": Target(capability="dedup"),
    "tickets": Target(capability="lookup"),
    "mail": Target(capability="neither"),
}
NUMBERS = itertools.count()
DONE = ["before", "executed", "after"]
NOT_DONE = ["before", "after"]


@pytest.fixture(scope="module")
def provider(tmp_path_factory):
    with ProviderProcess(tmp_path_factory.mktemp("provider")) as started:
        yield started


@pytest.fixture(params=["twin", "process"])
def make(request):
    """Make a world of TARGETS; options as for Twin."""
    if request.param == "twin":
        yield lambda **options: Twin(TARGETS, **options)
        return
    url, clients = request.getfixturevalue("provider").url, []

    def client(patience=5.0, **options):
        opened = Client(url, f"world-{next(NUMBERS)}", patience=patience)
        opened.create(TARGETS, **options)
        clients.append(opened)
        return opened

    yield client
    for opened in clients:
        opened.close_world()
        opened.close()


def order(target="payments", key="k1", operation="refund", **request):
    return Order(target=target, operation=operation, request=request, subject="s1", label="pay/call", key=key)


def kinds(world):
    return [entry.kind for entry in world.entries()]


def phases(call):
    """Run `call`; return what it returned or raised, and the phases it tapped under its own label."""
    seen = []
    with listening(lambda label, phase: seen.append((label, phase))):
        try:
            result = call()
        except (EffectRejected, EffectUnknown, ProviderAway) as error:
            result = error
    assert {label for label, _ in seen} == {"pay/call"}
    return result, [phase for _, phase in seen]
