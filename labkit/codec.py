"""How a run becomes bytes and comes back: typed JSON, checked both ways, never pickled.

Bytes are JSON on purpose: a student can read them in any SQLite browser. Whatever cannot be read back exactly is
refused at the moment of writing, with the path of the value, before any later step runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from math import isfinite
from typing import Any, Generic, get_type_hints

import msgspec
from ahocorasick_rs import BytesAhoCorasick

from labkit.errors import InvalidInput, InvalidState
from labkit.model import STATUSES, Run, S, Workflow

SECRET_NAME = re.compile(r"^(.*_)?(api_?key|password|passwd|secret|credentials?|private_key|access_token)$", re.I)
_PROBES = BytesAhoCorasick(  # the expression is only run where one of them is found
    [b"sk-", b"sk_", b"akia", b"ghp_", b"xoxb-", b"private", b"pass", b"api", b"secret", b"access", b"credential"]
)
SECRET_VALUE = re.compile(
    rb"\b(sk[-_][a-z0-9_-]{16,}|akia[a-z0-9]{16}|ghp_[a-z0-9]{20,}|xoxb-[a-z0-9-]{20,})"
    rb"|-----begin [a-z ]*private key-----"
    rb"|\"[\w-]*(api_?key|password|passwd|secret|credentials?|private_?key|access_?token)\\*\"\s*:\s*(?!null|true|false|\\*\"\\*\")"
    rb"|\b(api_?key|password|passwd|secret|access_?token)=[^\s\"\\]{8,}"
)
NOT_WRITTEN = "nothing was written; the run stands at its last durable point"
REACH = 128  # bytes on each side of a probe: as far as the expression looks
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

_encoder = msgspec.json.Encoder()
_plain = msgspec.json.Decoder()


def check_id(kind: str, text: str) -> str:
    """Return `text` when it is a safe id (letters, digits, `. _ -`, at most 64); raise InvalidInput otherwise."""
    if not isinstance(text, str) or not ID.fullmatch(text):
        raise InvalidInput(
            f"{kind} {str(text)[:80]!r} is not an id: expected 1 to 64 letters, digits, '.', '_' or '-'",
            safe="nothing was written",
            next=f"choose a plain {kind} such as refund-17",
        )
    return text


def has_secret(body: bytes) -> bool:
    """True when the bytes look as if they held a credential."""
    lower = body.lower()
    for _, at, _ in _PROBES.find_matches_as_indexes(lower):
        if SECRET_VALUE.search(lower, max(0, at - REACH), at + REACH):
            return True
    return False


def unstorable(value: Any, path: str = "state") -> str:
    """The path of the first value below `value` that JSON cannot hold (NaN and infinity, too), or an empty text."""
    if isinstance(value, msgspec.Struct):
        inner = ((f"{path}.{name}", getattr(value, name)) for name in value.__struct_fields__)
    elif isinstance(value, dict):
        unfit = next((key for key in value if not isinstance(key, (str, int, float))), None)
        if unfit is not None:
            return f"{path}, key {unfit!r} ({type(unfit).__name__})"
        inner = ((f"{path}[{key!r}]", item) for key, item in value.items())
    elif isinstance(value, (list, tuple, set, frozenset)):
        inner = ((f"{path}[{index}]", item) for index, item in enumerate(value))
    else:
        if isinstance(value, float) and not isfinite(value):
            return f"{path} ({value})"
        try:
            _encoder.encode(value)
        except (TypeError, ValueError, msgspec.MsgspecError, OverflowError):
            return f"{path} ({type(value).__name__})"
        return ""
    return next((found for where, item in inner if (found := unstorable(item, where))), "")


def changed(sent: Any, back: Any, path: str) -> str:
    """The path of the first value below `sent` that came back as something else, and what it became."""
    pairs: list[tuple[str, Any, Any]] = []
    if type(sent) is type(back):
        if isinstance(sent, msgspec.Struct):
            pairs = [(f"{path}.{name}", getattr(sent, name), getattr(back, name)) for name in sent.__struct_fields__]
        elif isinstance(sent, dict) and sent.keys() == back.keys():
            pairs = [(f"{path}[{key!r}]", sent[key], back[key]) for key in sent]
        elif isinstance(sent, (list, tuple)) and len(sent) == len(back):
            pairs = [(f"{path}[{index}]", *both) for index, both in enumerate(zip(sent, back, strict=True))]
    found = next((changed(one, other, where) for where, one, other in pairs if one != other), "")
    return found or f"{path} ({type(sent).__name__} {str(sent)[:40]}, which would come back as {type(back).__name__})"


def encode(value: Any, what: str, limit: int = 64_000) -> bytes:
    """JSON bytes of `value`; raise InvalidState, naming `what` and the path, if unfit, secret or over `limit` bytes."""
    try:
        body = _encoder.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        where = (
            unstorable(value, what)
            if not isinstance(error, RecursionError)
            else f"{what} (a cycle, or nested too deeply)"
        )
        raise InvalidState(
            f"{where or what} cannot be stored: {error}",
            safe=NOT_WRITTEN,
            next="keep plain data in the state: an id or a reference instead of a client, file or function",
        ) from error
    # JSON has no NaN: it would come back as nothing. The codec sees that of a run, which is compared whole.
    if b"null" in body and not isinstance(value, Run) and (where := unstorable(value, what)):
        raise InvalidState(f"{where} cannot be stored", safe=NOT_WRITTEN, next="store a number, or None and the reason")
    if len(body) > limit:
        raise InvalidState(
            f"{what} takes {len(body):,} bytes, the limit is {limit:,}",
            safe=NOT_WRITTEN,
            next="store large text with ctx.artifact(text) and keep the reference that it returns",
        )
    if has_secret(body):
        raise InvalidState(
            f"{what} looks as if it held a secret (a key, password or private key)",
            safe=NOT_WRITTEN,
            next="keep the secret in the activity or provider that needs it; store a reference at most",
        )
    return body


@cache
def return_decoder(function: Callable[..., Any]) -> msgspec.json.Decoder[Any]:
    """A decoder for what `function` is annotated to return (anything plain when it is not annotated)."""
    return msgspec.json.Decoder(get_type_hints(function).get("return", Any))


def difference(stored: Any, read: Any, path: str) -> str:
    """The path of the first place where two plain values differ."""
    if isinstance(stored, dict) and isinstance(read, dict):
        for key in sorted(stored.keys() | read.keys()):
            if key not in stored or key not in read:
                return f"{path}.{key}"
            if stored[key] != read[key]:
                return difference(stored[key], read[key], f"{path}.{key}")
    if isinstance(stored, list) and isinstance(read, list) and len(stored) == len(read):
        pairs = enumerate(zip(stored, read, strict=True))
        return next(difference(a, b, f"{path}[{index}]") for index, (a, b) in pairs if a != b)
    return path


class Head(msgspec.Struct):
    """The few fields that can be read from a stored run of any schema."""

    run_id: str = "?"
    workflow_id: str = "?"
    checkpoint_schema: int = -1
    status: str = "?"


class Codec(Generic[S]):
    """Encodes and decodes runs of one workflow."""

    def __init__(self, workflow: Workflow[S]) -> None:
        self.workflow = workflow
        self._decoder = msgspec.json.Decoder(Run[workflow.state])  # type: ignore[name-defined]
        self._head = msgspec.json.Decoder(Head)
        secret = [name for name in workflow.state.__struct_fields__ if SECRET_NAME.match(name)]
        if secret:
            raise InvalidInput(
                f"state {workflow.state.__name__} has a field named like a secret: {', '.join(secret)}",
                safe="nothing was written",
                next="keep credentials outside the state",
            )

    def encode(self, run: Run[S]) -> bytes:
        """The run as JSON bytes; raise InvalidState when it could not be read back as it is."""
        what = f"state of run {run.run_id}"
        body = encode(run, what, self.workflow.max_state_bytes)
        try:
            back = self._decoder.decode(body)
        except msgspec.MsgspecError as error:
            raise _unfit(unstorable(run, what) or what, str(error)) from error
        if back != run:
            raise _unfit(unstorable(run, what) or changed(run, back, what), "it would come back as something else")
        return body

    def decode(self, body: bytes) -> Run[S]:
        """The run held by `body`, exactly.

        Raises InvalidState for malformed or oversized bytes, an unknown schema or status, and for a field that is
        missing or unknown: it is never filled with a default or dropped.
        """
        run = self._parse(body)
        stored, read = _plain.decode(body), _plain.decode(_encoder.encode(run))
        if stored != read:
            raise self._refusal(body, f"{difference(stored, read, 'state')} is missing or unknown")
        return run

    def _parse(self, body: bytes) -> Run[S]:
        if not isinstance(body, bytes | str) or len(body) > self.workflow.max_state_bytes:
            raise self._refusal(b"", f"expected at most {self.workflow.max_state_bytes:,} bytes of text")
        try:
            run = self._decoder.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise self._refusal(body, str(error)) from error
        if run.checkpoint_schema != self.workflow.schema:
            raise self._refusal(body, "")
        if run.status not in STATUSES:
            raise self._refusal(body, f"unknown status {run.status!r}, expected one of {', '.join(STATUSES)}")
        return run

    def _refusal(self, body: bytes, why: str) -> InvalidState:
        try:
            head = self._head.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            head = Head()
        known = self.workflow.schema
        if head.checkpoint_schema not in (-1, known):
            why = f"schema {head.checkpoint_schema} is unknown here, workflow {self.workflow.name} reads schema {known}"
        return InvalidState(
            f"state of run {head.run_id} cannot be read: {why}",
            safe="the stored bytes are untouched",
            next="run the version that wrote them, or add an upcaster; see labkit history",
        )


def _unfit(what: str, why: str) -> InvalidState:
    return InvalidState(
        f"{what} cannot be stored as it is: {why}",
        safe=NOT_WRITTEN,
        next="keep plain data in the state, of the types that its class declares",
    )


def read_back(decoder: msgspec.json.Decoder[Any], body: bytes, what: str, *, fresh: bool = False) -> Any:
    """The value in `body`; raise InvalidState, naming `what`, when it is malformed or of another type.

    `fresh` says that it was returned just now and is not stored yet.
    """
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, TypeError) as error:
        if fresh:
            hint = "return what the function is annotated to return"
            raise InvalidState(f"{what} cannot be stored: {error}", safe=NOT_WRITTEN, next=hint) from error
        raise InvalidState(
            f"{what} cannot be read: {error}",
            safe="nothing was executed or written",
            next="run the version that wrote it, or correct what the activity returns",
        ) from error
