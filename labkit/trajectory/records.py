"""The runs in the values of one file: a record each, a list of messages each, or one run whose messages stand alone."""

from __future__ import annotations

import json
from itertools import accumulate
from typing import Any, NamedTuple

from labkit.trajectory.shapes.entries import Answer, Asked, At, Between, Entry, expected, named
from labkit.trajectory.shapes.harmless import check_rest
from labkit.trajectory.shapes.message import is_item, read_item
from labkit.trajectory.shapes.otel import is_trace, traces
from labkit.trajectory.shapes.twice import key_of_entry

MAX_MESSAGES = 10_000  # of a run
HOLDS = (
    "messages",
    "traj",
    "trajectory",
    "history",
    "message_history",
    "items",
    "input",
    "output",
    "events",
    "contents",
)
TOGETHER = ({"input", "output"}, {"messages", "output"}, {"input", "messages"})
RUN_OF = ("session_id", "sessionId", "thread_id", "threadId", "conversation_id", "conversationId", "run_id", "runId")
ANSWERS = {"choices": "message", "candidates": "content"}
"""Where a response holds what the model answered: a list, and the field of its one element."""
WRAPPED = ("values", "response", "simulation")


class Run(NamedTuple):
    """What one run is made of. `alone` says that it is one message of its own: its folder may be the run.

    `unnamed` says that its record names no run; `steps` are what its messages state, to find it in a later record.
    """

    id: str
    source: str
    entries: list[Entry]
    alone: bool = False
    shape: str = ""
    unnamed: bool = False
    steps: list[tuple[str, ...]] = []  # noqa: RUF012, never changed


def runs(values: list[tuple[str, Any]], stem: str, prefix: str = "") -> list[Run]:
    """The runs in the values of a file called `stem`; raise InvalidInput with the place of what does not fit."""
    if len(values) == 1 and isinstance(values[0][1], list):
        held = values[0][1]
        if held and all(isinstance(each, dict) and is_item(each) for each in held):
            where = prefix.removesuffix(": ")
            return [_run(stem, where, [(At(where, f"messages[{index}]"), each) for index, each in enumerate(held)])]
        values = [(f"{prefix}item {number}", each) for number, each in enumerate(held, 1)]
    if values and all(is_trace(value) for _, value in values):
        return [Run(trace, where, entries) for trace, (where, entries) in traces(values).items()]
    if values and all(isinstance(value, dict) and is_item(value) for _, value in values):
        return _by_session(values, stem)
    return _grown([run for where, value in values for run in _of(At(where), value)])


def _grown(found: list[Run]) -> list[Run]:
    """The runs without those that a later record continues: a log of requests states a history again and again.

    Only records that name no run can be such requests, and only calls that have ids are surely the same.
    """
    kept: list[Run] = []
    begun: set[int] = set()  # what a later record states, and then more
    whole: dict[int, int] = {}  # what a later record states in all, and in how many entries
    for run in reversed(found):
        asks = [entry for entry in run.entries if isinstance(entry, Asked)]
        if not (run.unnamed and asks and all(entry.id for entry in asks)):
            kept.append(run)
            continue
        stated = list(accumulate(run.steps, lambda before, step: hash((before, step)), initial=0))
        if stated[-1] not in begun and whole.get(stated[-1], 0) <= len(run.entries):
            kept.append(run)
        begun.update(stated[:-1])
        whole[stated[-1]] = max(whole.get(stated[-1], 0), len(run.entries))
    return kept[::-1]


def _steps(message: Any, entries: list[Entry]) -> list[tuple[str, ...]]:
    """What a message asks for and answers, or itself if nobody's model spoke in it."""
    stated = [key_of_entry(entry) for entry in entries if isinstance(entry, Asked | Answer)]
    quiet = all(isinstance(entry, Between) for entry in entries)
    return [("spoken", json.dumps(message, sort_keys=True))] if quiet else stated


def _by_session(values: list[tuple[str, Any]], stem: str) -> list[Run]:
    """One message a line: one run, or one for each session that the lines name."""
    key = next((name for name in RUN_OF if all(isinstance(value.get(name), str) for _, value in values)), None)
    sessions: dict[str, list[tuple[At, Any]]] = {}
    for where, value in values:
        sessions.setdefault(value[key] if key else stem, []).append((At(where), value))
    found = [_run(name, messages[0][0].where, messages) for name, messages in sessions.items()]
    return [run._replace(alone=len(values) == 1) for run in found]


def _run(name: str, source: str, messages: list[tuple[At, Any]]) -> Run:
    if len(messages) > MAX_MESSAGES:
        first = messages[0][0]
        holder = first._replace(path=first.path.rpartition("[")[0])
        raise holder.refuse(f"Expected `array` of length <= {MAX_MESSAGES}")
    read = [(message, read_item(at, message)) for at, message in messages]
    steps = [step for message, entries in read for step in _steps(message, entries)]
    return Run(name, source, [entry for _, entries in read for entry in entries], steps=steps)


def _of(at: At, value: Any) -> list[Run]:
    """The run of one record; several, if the record is a file of simulations."""
    if isinstance(value, list) and value:
        return [_run(_place(at), at.where, [(at / f"messages[{index}]", each) for index, each in enumerate(value)])]
    record = expected(at, value, dict)
    for name in ("simulations", "runs"):
        if name in record:
            check_rest(at, record, {name, "tasks", "timestamp"})
            held = expected(at / name, record[name], list)
            return [run for index, each in enumerate(held) for run in _of(at / name / index, each)]
    messages = _messages(at, record)
    run = _run(_id(at, record), at.where, messages)
    unnamed = run.id == _place(at)
    return [run._replace(shape="tau-bench" if "traj" in record else "", unnamed=unnamed)]


def _messages(at: At, record: dict[str, Any]) -> list[tuple[At, Any]]:
    """The messages of a record with their places, from the one field that holds them, or from input and output."""
    if isinstance(record.get("request"), dict) and isinstance(record.get("response"), dict):
        check_rest(at, record, {"request", "response", "id", *RUN_OF})
        return [each for name in ("request", "response") for each in _messages(at / name, record[name])]
    for name in WRAPPED:
        if isinstance(record.get(name), dict) and not set(HOLDS) & record.keys():
            check_rest(at, record, {name, "id", *RUN_OF})
            return _messages(at / name, record[name])
    held = [name for name in HOLDS if record.get(name) is not None]
    if not held and not ANSWERS.keys() & record.keys():
        raise at.refuse(f"Object missing required field `messages` (or one of {', '.join(HOLDS[1:])})")
    if len(held) > 1 and set(held) not in TOGETHER:
        raise (at / held[1]).refuse(f"{held[0]!r} holds messages, too: which of them is the run is not known")
    check_rest(at, record, {*held, *ANSWERS, "id", *RUN_OF})
    found: list[tuple[At, Any]] = []
    for name in sorted(held, key=("input", "messages").__contains__, reverse=True):
        messages = record[name]
        if name == "output" and isinstance(messages, dict):  # of Bedrock, with the answer alone
            check_rest(at / name, messages, {"message"})
            found.append((at / name / "message", messages.get("message")))
            continue
        if isinstance(messages, str) and name in ("input", "output"):
            messages = [{"role": "user" if name == "input" else "assistant", "content": messages}]
        found += [(at / name / index, each) for index, each in enumerate(expected(at / name, messages, list))]
    return found + [each for name, inner in ANSWERS.items() for each in _answer(at / name, record.get(name), inner)]


def _answer(at: At, choices: Any, inner: str) -> list[tuple[At, Any]]:
    """The answer of a model; of several, it is not known which one the agent followed."""
    held = expected(at, choices or [], list)
    if len(held) > 1:
        raise at.refuse(f"{len(held)} choices: which of them was followed is not known", "leave the one that was")
    for index, choice in enumerate(held):
        check_rest(at / index, expected(at / index, choice, dict), {inner})
    return [(at / index / inner, choice.get(inner)) for index, choice in enumerate(held)]


def _id(at: At, record: dict[str, Any]) -> str:
    for name in ("id", *RUN_OF, "task_id"):
        if (given := record.get(name)) is None:
            continue
        text = named(at / name, str(expected(at / name, given, str, int)))
        trial = record.get("trial")
        return f"{text}-trial-{trial}" if name == "task_id" and isinstance(trial, int) else text
    return _place(at)


def _place(at: At) -> str:
    return str(at).replace(": ", "-").replace(" ", "-")
