"""The provider process: it outlives its callers' crashes and its own, never its starter, and refuses bad input."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labkit.errors import EffectUnknown, InvalidInput, InvalidState, LabError, ProviderAway
from labkit.model import Order, Target
from labkit.provider.client import Client
from labkit.provider.ledger_file import read_ledger
from labkit.provider.process import ProviderProcess
from labkit.provider.wire import MAX_BODY
from labkit.taps import listening

NUMBERS = itertools.count()
TARGETS = {name: Target(capability=name) for name in ("dedup", "lookup", "neither")}
ORDER = {"target": "dedup", "operation": "do", "request": {}, "subject": "s", "label": "pay/call", "key": "k"}


@pytest.fixture(scope="module")
def provider(tmp_path_factory):
    with ProviderProcess(tmp_path_factory.mktemp("provider")) as started:
        yield started


@pytest.fixture
def client(provider):
    opened = Client(provider.url, f"world-{next(NUMBERS)}")
    opened.create(TARGETS)
    yield opened
    opened.close_world()
    opened.close()


@pytest.fixture(scope="module")
def send(provider):
    """Send something that no Client would."""
    with httpx.Client(base_url=f"{provider.url}/w/", trust_env=False) as raw:
        yield lambda path, method="POST", body=b"", **headers: raw.request(method, path, content=body, headers=headers)


def test_a_ledger_survives_the_kill_of_its_provider_and_the_next_one_goes_on(tmp_path):
    order = Order(**ORDER)
    with ProviderProcess(tmp_path) as provider:
        client = Client(provider.url, "shop")
        ledger = client.create(TARGETS, folder="trial").ledger
        receipt = client.call(order)
        assert client.note_activity("s", "draft").number == 1
        psutil.Process(provider.pid).kill()
        phases = []
        with listening(lambda _, phase: phases.append(phase)), pytest.raises((EffectUnknown, ProviderAway)):
            client.call(order)
        assert phases == ["before", "after"]
        client.close()
    assert Path(ledger).parent == tmp_path.resolve() / "trial"
    assert [entry.kind for entry in read_ledger(ledger)[0]] == ["effect", "activity"]
    with open(ledger, "ab") as file:
        file.write(b'{"seq":3,"ki')
    with ProviderProcess(tmp_path) as provider:
        client = Client(provider.url, "shop")
        assert client.create(TARGETS, folder="trial").torn_bytes == 12
        assert client.call(order) == receipt and client.note_activity("s", "draft").number == 2
        client.close()


def test_a_damaged_ledger_is_refused_with_its_line(provider):
    path = provider.root / "provider-damaged.jsonl"
    path.write_bytes(b"nonsense\n")
    with pytest.raises(InvalidState, match="line 1"):
        Client(provider.url, "damaged").create(TARGETS)
    assert path.read_bytes() == b"nonsense\n"


def test_a_provider_ends_with_its_starter_even_when_that_is_killed(tmp_path):
    code = (
        "import sys; from labkit.provider.process import ProviderProcess\n"
        "provider = ProviderProcess(sys.argv[1]).start(); print(provider.url, flush=True); input()"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as starter:
        host, port = starter.stdout.readline().strip().removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            starter.kill()
            with contextlib.suppress(ConnectionResetError):
                assert connection.recv(1) == b""  # nothing but its end closes a connection that asked nothing yet


def test_stopping_twice_does_nothing_and_a_stopped_provider_starts_again(tmp_path):
    provider = ProviderProcess(tmp_path).start()
    process = psutil.Process(provider.pid)
    assert provider.start().pid == process.pid
    provider.stop()
    provider.stop()
    assert not process.is_running() and provider.url == ""
    with pytest.raises(LabError, match="not started"):
        _ = provider.pid
    with provider:
        Client(provider.url, "shop").create(TARGETS)


def test_a_provider_that_does_not_come_up_says_why(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LabError, match=r"did not come up(.|\n)*in use(.|\n)*provider\.log"):
            (provider := ProviderProcess(tmp_path, port=port)).start()
    with pytest.raises(LabError, match="not started"):
        _ = provider.pid


def test_a_provider_listens_on_the_loopback_address_only(provider, send):
    connections = psutil.Process(provider.pid).net_connections()
    listening_at = {c.laddr.ip for c in connections if c.status == psutil.CONN_LISTEN}
    assert listening_at == {"127.0.0.1"}
    answer = send("shop", "PUT", b'{"targets":{}}', host="example.org")
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org",
        "http://10.0.0.1:80",
        "http://127.0.0.1@example.org",
        "https://127.0.0.1:1",
        "file:///x",
        "",
        "http://[::1",
    ],
)
def test_a_client_talks_to_this_machine_only(url):
    with pytest.raises(InvalidInput, match="not a provider on this machine"):
        Client(url, "shop")


def changed(**fields):
    return json.dumps(ORDER | fields).encode()


@pytest.mark.parametrize(
    ("method", "path", "body", "said"),
    [
        ("POST", "/calls", b"{", "truncated"),
        ("POST", "/calls", b"[]", "Expected `object`"),
        ("POST", "/calls", b'{"target":"dedup"}', "missing required field `operation`"),
        ("POST", "/calls", changed(extra=1), "unknown field `extra`"),
        ("POST", "/calls", changed(target="bank"), "no target 'bank'"),
        ("POST", "/calls", changed(request=[]), "$.request"),
        ("POST", "/calls", changed(key=5), "$.key"),
        ("POST", "/calls", b'{"request":' + b'{"a":' * 100_000, "refused"),
        ("POST", "/calls", changed(request={"note": "x" * MAX_BODY}), f"more than {MAX_BODY} bytes"),
        ("POST", "/activities", b'{"subject":"s"}', "missing required field `name`"),
        ("POST", "/compensations", b'{"target":"bank","receipt_id":"x","label":"l"}', "no target 'bank'"),
        ("POST", "/arm", b'{"label":"l","phase":"before","occurrence":0,"pid":5}', "$.occurrence"),
        ("POST", "/arm", b'{"label":"l","phase":"before","occurrence":1,"pid":1}', "$.pid"),
        ("POST", "/arm", b'{"label":"l l","phase":"before","occurrence":1,"pid":5}', "not a tap"),
        ("GET", "/lookup?target=lookup", b"", "a lookup needs target and key"),
        ("GET", "/lookup?target=neither&key=k", b"", "cannot be asked by key"),
        ("PUT", "", b'{"targets":{}}', "open already"),
        ("GET", "x/entries", b"", "no world"),
        ("PATCH", "", b"", "Method Not Allowed"),
        ("GET", "/secrets", b"", "Not Found"),
    ],
)
def test_bad_input_is_refused_with_the_reason_and_nothing_written(client, send, method, path, body, said):
    answer = send(client.world + path, method, body)
    assert 400 <= answer.status_code < 500 and said in answer.text
    assert client.entries() == [] and Path(client.info.ledger).read_bytes() == b""


@pytest.mark.parametrize(
    ("world", "body"),
    [
        ("Shop", {"targets": {}}),
        ("a" * 65, {"targets": {}}),
        ("a.b", {"targets": {}}),
        ("%2e%2e", {"targets": {}}),
        ("w1", {}),
        ("w1", {"targets": {"mail": {"capability": "psychic"}}}),
        ("w1", {"targets": {"mail": {"capability": "neither", "color": 1}}}),
        ("w1", {"targets": {}, "capability": "psychic"}),
        ("w1", {"targets": {}, "faults": [{"target": "mail", "operation": "send", "nth": 1, "what": "late"}]}),
        ("w1", {"targets": {}, "folder": ".."}),
        ("w1", {"targets": {}, "folder": "a/../../b"}),
        ("w1", {"targets": {}, "folder": str(Path.home().anchor)}),
        ("w1", {"targets": {}, "folder": "a\u0000b"}),
        ("w1", {"targets": {}, "folder": "provider.log"}),
    ],
)
def test_a_world_that_cannot_be_is_refused_and_nothing_written(provider, send, world, body):
    before = sorted(provider.root.parent.rglob("*"))
    answer = send(world, "PUT", json.dumps(body).encode())
    assert 400 <= answer.status_code < 500, answer.text
    assert sorted(provider.root.parent.rglob("*")) == before


@pytest.mark.parametrize("world", ["", "a/b", "a?b", "../a", "A"])
def test_a_client_refuses_a_name_that_is_none(world):
    with pytest.raises(InvalidInput, match="not a world's name"):
        Client("http://127.0.0.1:1", world)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.binary() | json_values.map(lambda value: json.dumps(value).encode()))
def test_no_body_of_any_kind_makes_the_provider_stumble(client, send, body):
    for path in ("calls", "activities", "compensations", "arm"):
        assert send(f"{client.world}/{path}", body=body).status_code == 400
    assert client.entries() == []
