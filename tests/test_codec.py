"""What is stored comes back as it was, or is refused before any later step runs; a secret is never stored."""

from __future__ import annotations

import dataclasses
import io
import math
import threading
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from workflows import Rig, workflow

from labkit.codec import Codec, has_secret
from labkit.errors import InvalidInput, InvalidState
from labkit.model import ActivityCall, State, Workflow


class Sheet(State):
    """A state with fields of many types, `extra` of any."""

    extra: Any = None
    count: int = 0
    share: float = 0.0
    perhaps: float | None = None
    name: str = ""
    amount: Decimal = Decimal(0)
    ids: set[int] = msgspec.field(default_factory=set)
    table: dict[str, Any] = msgspec.field(default_factory=dict)
    opened: datetime | None = None
    when: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


@dataclasses.dataclass
class Client:
    """Something that a program might put into a state by mistake."""

    address: str = "bank.example"


def cycle() -> list[Any]:
    """A list that holds itself."""
    loop: list[Any] = []
    loop.append({"again": loop})
    return loop


def deep() -> list[Any]:
    """A list in a list in a list, too deep to be read back."""
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    return nested


# name -> (field, a value that must not be stored, how its path ends)
UNFIT: dict[str, tuple[str, Callable[[], Any], str]] = {
    "object": ("extra", object, ".extra (object)"),
    "lambda": ("extra", lambda: lambda: 1, ".extra (function)"),
    "class": ("extra", lambda: Client, ".extra (type)"),
    "open file": ("extra", lambda: io.TextIOWrapper(io.BytesIO()), ".extra (TextIOWrapper)"),
    "lock": ("extra", threading.Lock, ".extra (lock)"),
    "object deep inside": ("extra", lambda: {"a": [1, {"b": object()}]}, ".extra['a'][1]['b'] (object)"),
    "object in a table": ("table", lambda: {"k": object()}, ".table['k'] (object)"),
    "set with objects": ("ids", lambda: {object()}, ".ids[0] (object)"),
    "key that is no text": ("extra", lambda: {(1, 2): 3}, ".extra, key (1, 2)"),
    "lone surrogate": ("name", lambda: "\ud800", ".name (str)"),
    "cycle": ("extra", cycle, "a cycle"),
    "nested too deeply": ("extra", deep, "nested too deeply"),
    "text for a number": ("count", lambda: "17", ".count"),
    "number for a text": ("name", lambda: 17, ".name"),
    "None for a number": ("count", lambda: None, ".count"),
    "text in a set of numbers": ("ids", lambda: {"a"}, ".ids"),
    "NaN": ("share", lambda: math.nan, ".share"),
    "NaN that may be None": ("perhaps", lambda: math.nan, ".perhaps"),
    "a time without a zone where one is asked for": ("when", lambda: datetime(2026, 1, 5, 9), ".when"),
    "infinity": ("extra", lambda: [1.0, -math.inf], ".extra[1]"),
    "tuple": ("extra", lambda: {"a": (1, 2)}, ".extra['a']"),
    "set": ("extra", lambda: {1}, ".extra"),
    "bytes": ("extra", lambda: b"raw", ".extra"),
    "number as a key": ("extra", lambda: {1: 2}, ".extra"),
    "dataclass": ("extra", Client, ".extra"),
    "date": ("table", lambda: {"day": date(2026, 1, 5)}, ".table['day']"),
    "Decimal where anything goes": ("extra", lambda: Decimal("1.50"), ".extra"),
    "float for a Decimal": ("amount", lambda: 0.1, ".amount"),
}


def putting(field: str, value: Any) -> tuple[Workflow[Any], list[str]]:
    """A workflow whose first step stores `value`; the list says whether its second step ran."""
    later: list[str] = []

    def put(ctx, state):
        setattr(state, field, value)
        return "after"

    def after(ctx, state):
        later.append("ran")

    made: Workflow[Sheet] = Workflow("sheet", version="1", state=Sheet, begin=Sheet)
    made.step(put)
    made.step(after)
    return made, later


@pytest.mark.parametrize("unfit", UNFIT)
def test_what_cannot_be_stored_is_named_before_any_later_step_runs(engine, unfit):
    field, make, path = UNFIT[unfit]
    made, later = putting(field, make())
    rig = Rig(made, engine)
    runner = rig.process()
    runner.begin("r", {})
    history = runner.parts.engine.history("r")
    with pytest.raises(InvalidState) as caught:
        runner.resume("r")
    assert "state of run r" in caught.value.what and path in caught.value.what
    assert "cannot be stored" in caught.value.what and "be read" not in caught.value.what
    assert caught.value.safe.startswith("nothing was written") and "upcaster" not in caught.value.next
    assert later == []
    assert rig.process().parts.engine.history("r") == history
    assert rig.process().read("r").data == Sheet()


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.decimals() | st.binary() | st.dates(),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=8,
)


@given(PLAIN)
def test_whatever_is_stored_comes_back_as_it_was(value):
    made, _ = putting("extra", value)
    rig = Rig(made, "snapshot")
    runner = rig.process()
    runner.begin("r", {})
    run = runner.read("r")
    run.data.extra = value
    try:
        body = runner.parts.codec.encode(run)
    except InvalidState:
        return
    back = runner.parts.codec.decode(body)
    assert back == run and repr(back.data.extra) == repr(value)


def test_a_state_over_the_limit_is_refused_with_both_numbers(engine):
    made, later = putting("name", "x" * 64_001)
    rig = Rig(made, engine)
    with pytest.raises(InvalidState, match=r"takes 64,\d\d\d bytes, the limit is 64,000"):
        rig.drive()
    assert later == []


SECRETS: dict[str, Any] = {
    "key": "sk-" + "a1" * 10,
    "live key": "use sk_live_" + "a1" * 10,
    "cloud key": "AKIA" + "A1" * 8,
    "token": "ghp_" + "a1" * 15,
    "private key": "-----BEGIN RSA PRIVATE KEY-----",
    "password": {"password": "hunter22"},
    "capitals": {"API_KEY": "abcd1234"},
    "part of a name": {"db_password": "hunter22"},
    "camel case": {"clientSecret": "abcd1234"},
    "passwd": {"passwd": "abcd1234"},
    "access token": {"access_token": "abcd1234"},
    "a number": {"password": 12345678},
    "deep inside": {"a": [{"secret": "abcd1234"}]},
    "JSON in text": '{"api_key": "abcd1234"}',
    "assignment": "export API_KEY=abcd1234",
}


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("way", ["state", "activity", "artifact", "question", "request"])
def test_a_secret_is_never_stored(engine, kind, way):
    secret = SECRETS[kind]

    def told(call: ActivityCall) -> Any:
        return secret

    def leak(ctx, state):
        if way == "state":
            state.extra = secret
        elif way == "activity":
            state.extra = ctx.activity(told)
        elif way == "artifact":
            ctx.artifact(msgspec.json.encode(secret).decode())
        elif way == "question":
            ctx.approval("boss", msgspec.json.encode(secret).decode())
        else:
            ctx.effect("bank", "pay", {"with": secret})

    rig = Rig(workflow(leak), engine)
    runner = rig.process()
    runner.begin("r", {})
    with pytest.raises(InvalidState, match="secret"):
        runner.resume("r")
    text = secret if isinstance(secret, str) else "abcd1234"
    assert text.encode() not in rig.store.image() and rig.outside("effect") == 0


PADDING = st.text(alphabet='ab -_=:"apisecretk', max_size=400)


@given(PADDING, st.sampled_from(list(SECRETS.values())), PADDING)
def test_a_secret_is_found_wherever_it_stands_in_a_long_text(before, secret, after):
    text = secret if isinstance(secret, str) else msgspec.json.encode(secret).decode()
    assert has_secret(f"{before} {text} {after}".encode())


@pytest.mark.parametrize(
    "name", ["password", "api_key", "apikey", "db_password", "API_KEY", "client_secret", "credentials"]
)
def test_a_state_with_a_field_named_like_a_secret_is_refused_at_once(name):
    state = msgspec.defstruct("Leaky", [(name, str, "")], bases=(State,), kw_only=True)
    made: Workflow[Any] = Workflow("leaky", version="1", state=state, begin=state)
    with pytest.raises(InvalidInput, match=name):
        Codec(made)


@pytest.mark.parametrize(
    "text", ["password: it is in the safe", "no secrets here", "a task-list of skills", {"secret": None}]
)
def test_text_that_only_speaks_of_secrets_is_kept(text):
    made, later = putting("extra", text)
    assert Rig(made).drive().data.extra == text
    assert later == ["ran"]
