"""LangGraph's SQLite checkpoints: what any checkpoint or pending write holds is read once, as data and nothing else."""

from __future__ import annotations

import json
import pickle
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph

from labkit.errors import InvalidInput
from labkit.trajectory.model import Trajectory
from labkit.trajectory.read import read


def _asks(state: MessagesState) -> bool:
    return bool(state["messages"]) and not state["messages"][-1].content


class Died(BaseException):
    """The process, as far as the graph can tell."""


def called(call_id: str, name: str = "issue_refund") -> AIMessage:
    """A message of a model that asks for one call."""
    return AIMessage("", tool_calls=[{"id": call_id, "name": name, "args": {"order": "AB-123456"}}])


def graph_of(saver: SqliteSaver, dies: bool = False) -> Any:
    """Two tools side by side and a model before and after them; with `dies`, the second tool never returns."""

    def model(state: MessagesState) -> Any:
        if any(isinstance(message, ToolMessage) for message in state["messages"]):
            return {"messages": [AIMessage("Done.")]}
        calls = [*called("call_1").tool_calls, *called("call_2", "send_mail").tool_calls]
        return {"messages": [AIMessage("", tool_calls=calls)]}

    def refund(state: MessagesState) -> Any:
        return {"messages": [ToolMessage("refunded rf_1", tool_call_id="call_1", name="issue_refund")]}

    def mail(state: MessagesState) -> Any:
        if dies:
            raise Died
        return {"messages": [ToolMessage("sent", tool_call_id="call_2", name="send_mail")]}

    builder = StateGraph(MessagesState)
    for name, node in (("model", model), ("refund", refund), ("mail", mail)):
        builder.add_node(name, node)
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", lambda state: ["refund", "mail"] if _asks(state) else END)
    builder.add_edge("refund", "model")
    builder.add_edge("mail", "model")
    return builder.compile(checkpointer=saver)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[tuple[Path, SqliteSaver]]:
    """A file of checkpoints that is still open, so that its last writes may be in the log beside it only."""
    path = tmp_path / "checkpoints.db"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        yield path, SqliteSaver(connection)


def of(thread: str) -> Any:
    """The configuration that names a thread."""
    return {"configurable": {"thread_id": thread}}


def told(run: Trajectory) -> list[tuple[str, str, str | None]]:
    """Name, outcome and result of each call."""
    return [(call.name, call.outcome, call.result) for call in run.calls]


def test_each_thread_is_a_run_whose_calls_are_read_once(database: tuple[Path, SqliteSaver]) -> None:
    path, saver = database
    for thread in ("t1", "t2"):
        graph_of(saver).invoke({"messages": [HumanMessage("Refund it.")]}, of(thread))
    found = read(path)
    assert [run.id for run in found] == ["t1", "t2"]
    for run in found:
        assert sorted(told(run)) == [("issue_refund", "answered", "refunded rf_1"), ("send_mail", "answered", "sent")]
        assert [turn.text for turn in run.turns] == ["", "Done."]
        assert run.shapes == ["LangGraph checkpoints", "LangChain"]
        assert not run.strays


def test_a_result_that_only_a_pending_write_holds_is_read(database: tuple[Path, SqliteSaver]) -> None:
    path, saver = database
    with pytest.raises(Died):
        graph_of(saver, dies=True).invoke({"messages": [HumanMessage("Refund it.")]}, of("t1"))
    (run,) = read(path)
    assert {name: outcome for name, outcome, _ in told(run)}["send_mail"] == "unanswered"
    kept = dict(saver.conn.execute("SELECT channel, count(*) FROM writes WHERE channel = 'messages' GROUP BY 1"))
    before = {name: result for name, _, result in told(run)}
    assert before["issue_refund"] == ("refunded rf_1" if kept["messages"] > 1 else None)
    with zipfile.ZipFile(path.parent / "all.zip", "w") as archive:
        for beside in ("", "-wal"):
            archive.write(f"{path}{beside}", f"day/checkpoints.db{beside}")
    (zipped,) = read(path.parent / "all.zip")
    assert told(zipped) == told(run)


def test_what_was_taken_out_of_the_history_was_asked_for_all_the_same(database: tuple[Path, SqliteSaver]) -> None:
    path, saver = database
    graph = graph_of(saver)
    graph.invoke({"messages": [HumanMessage("Refund it.")]}, of("t1"))
    state = graph.get_state(of("t1"))
    graph.update_state(
        of("t1"), {"messages": [RemoveMessage(id=m.id) for m in state.values["messages"]]}, as_node="model"
    )
    graph.update_state(of("t1"), {"messages": [HumanMessage("x"), called("call_9")]}, as_node="model")
    (run,) = read(path)
    assert sorted(call.id for call in run.calls) == ["call_1", "call_2", "call_9"]
    assert run.calls[-1].outcome == "unanswered"


def test_a_subgraph_whose_messages_its_thread_repeats_is_no_run_of_its_own(tmp_path: Path) -> None:
    messages = [{"type": "ai", "content": "", "tool_calls": called("c").tool_calls}, {"type": "human", "content": "x"}]
    with closing(sqlite3.connect(stored(tmp_path / "own.db", "null", b""))) as connection:
        for number, space in ((2, "agent:1"), (3, "")):
            row = ("t", space, str(number), "json", json.dumps({"channel_values": {"messages": messages}}), b"{}")
            connection.execute("INSERT INTO checkpoints VALUES (?, ?, ?, NULL, ?, ?, ?)", row)
        connection.commit()
    (run,) = read(tmp_path / "own.db")
    assert [(run.id, call.name) for call in run.calls] == [("t", "issue_refund")]


def test_the_file_and_its_log_stay_as_they_are(database: tuple[Path, SqliteSaver]) -> None:
    path, saver = database
    graph_of(saver).invoke({"messages": [HumanMessage("Refund it.")]}, of("t1"))
    before = {each.name: each.read_bytes() for each in path.parent.iterdir()}
    read(path)
    assert {each.name: each.read_bytes() for each in path.parent.iterdir()} == before


def stored(path: Path, kind: str, blob: bytes) -> Path:
    """A database with one checkpoint that holds this."""
    with closing(sqlite3.connect(path)) as connection:
        SqliteSaver(connection).setup()
        row = ("t", "", "1", kind, blob, b"{}")
        connection.execute("INSERT INTO checkpoints VALUES (?, ?, ?, NULL, ?, ?, ?)", row)
        connection.commit()
    return path


class Bomb:
    """Leaves a mark where it is unpickled."""

    def __reduce__(self) -> Any:
        return Path.touch, (Path("unpickled"),)


def packed(module: str, name: str, code: int = 5) -> bytes:
    """A checkpoint with one object of this class in it, as msgpack."""
    held = msgspec.msgpack.encode([module, name, {"type": "ai", "content": "x"}, "method"])
    return msgspec.msgpack.encode({"channel_values": {"messages": [msgspec.msgpack.Ext(code, held)]}})


@pytest.mark.parametrize(
    ("kind", "blob", "why"),
    [
        ("pickle", pickle.dumps(Bomb()), "is stored as 'pickle', which is not read"),
        ("msgpack+aes", b"x", "is stored as 'msgpack+aes', which is not read"),
        ("msgpack", packed("a", "b", 99), "nobody knows the extension type 99"),
        ("msgpack", b"\xc1", "cannot be read"),
        ("json", b"{", "cannot be read"),
        ("json", b'{"channel_values": {"orders": {"tool_calls": ["pay"]}}}', "orders.tool_calls: nobody reads"),
    ],
)
def test_what_is_no_plain_data_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, blob: bytes, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput) as refused:
        read(stored(tmp_path / "own.db", kind, blob))
    assert why in str(refused.value) and "checkpoints.1" in str(refused.value)
    assert not (tmp_path / "unpickled").exists()


def test_no_class_that_a_checkpoint_names_is_looked_up(tmp_path: Path) -> None:
    (run,) = read(stored(tmp_path / "own.db", "msgpack", packed("no.such.module", "Nothing")))
    assert run.turns[0].text == "x"


def test_checkpoints_of_the_time_before_msgpack_are_read(tmp_path: Path) -> None:
    kwargs = {"type": "ai", "content": "", "tool_calls": called("c").tool_calls}
    held = {"lc": 2, "type": "constructor", "id": ["langchain_core", "messages", "ai", "AIMessage"], "kwargs": kwargs}
    other = {"lc": 2, "type": "constructor", "id": ["uuid", "UUID"], "args": ["0"]}
    blob = json.dumps({"channel_values": {"messages": [held], "own": other}}).encode()
    (run,) = read(stored(tmp_path / "own.db", "json", blob))
    assert [(call.name, call.outcome) for call in run.calls] == [("issue_refund", "unanswered")]


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "own.db")) as connection:
        connection.execute("CREATE TABLE orders (id)")
    with pytest.raises(InvalidInput, match="no table of LangGraph checkpoints"):
        read(tmp_path / "own.db")
    (tmp_path / "own.db").write_bytes(b"SQLite format 3\x00" + b"x" * 500)
    with pytest.raises(InvalidInput, match="cannot be read as an SQLite database"):
        read(tmp_path / "own.db")
