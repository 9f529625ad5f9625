"""`labkit perf` measures every peer and holds every mark against a number. No test here looks at a clock."""

from __future__ import annotations

import sys
from contextlib import closing

import msgspec
import pytest
from rich.console import Console

from labkit.errors import LabError
from labkit.perf import Mark, Report, measure, peers, render
from labkit.perf.histories import Histories
from labkit.perf.marks import reading, steps
from labkit.perf.measure import FULL, QUICK, row, side_by_side
from labkit.perf.peers import FRAMEWORKS, LONG, OURS, Block, Side
from labkit.perf.raw import Raw
from labkit.perf.report import Row, at_least, at_most
from labkit.perf.texts import texts
from labkit.perf.watch import Stopped, Watch

PEERS = [
    "raw SQLite commit",
    "snapshot",
    "event-sourced",
    "hybrid",
    "event-sourced + activity",
    "hybrid + activity",
    "LangGraph",
    "DBOS",
    "eventsourcing",
]
SAME = Block(Side(1e-4, 1e-3, 10), Side(1e-4, 1e-3, 10))
MARKS = [
    ("snapshot step, in raw commits", "<= 1.2"),
    ("event-sourced step, in raw commits", "<= 1.2"),
    ("LangGraph step, in steps of ours (the slower of the two)", ">= 3"),
    ("DBOS step, in steps of ours (the slower of the two)", ">= 8"),
    ("replay, events a second a core", ">= 200000"),
    ("replay with an activity a step, events a second a core", ">= 200000"),
    ("hybrid recovery of 40 events, milliseconds", "<= 20"),
    ("hybrid recovery of 40 events, in recoveries of 10", "<= 2"),
    ("simulator, schedules a second a core", ">= 4000"),
    ("bench, real kill-and-resume trials a second", ">= 80"),
]


@pytest.fixture(scope="module")
def report() -> Report:
    return measure(quick=True)


def test_every_peer_is_a_row_with_its_numbers(report):
    measured = [found for found in report.rows if found.peer != LONG]
    assert [(found.peer, found.state_bytes, found.steps) for found in measured] == [(peer, 1_000, 3) for peer in PEERS]
    assert {found.peer: found.reason for found in measured if found.reason} == {}
    for found in measured:
        numbers = (found.microseconds, found.ratio, found.bytes_a_step, found.recovery_milliseconds)
        assert all(number is not None and number > 0 for number in numbers), found
    assert [found.steps for found in report.rows if found.peer == LONG] == [length - 1 for length in QUICK.lengths]


def test_every_mark_has_a_value_and_a_quick_measurement_judges_none(report):
    assert [(mark.name, mark.target) for mark in report.marks] == MARKS
    assert all(mark.value is not None and mark.value > 0 for mark in report.marks)
    assert {mark.met for mark in report.marks} == {None}


def test_the_json_has_its_promised_shape(report):
    plain = msgspec.json.decode(msgspec.json.encode(report))
    assert list(plain) == ["machine", "rows", "marks"]
    assert all(list(mark) == ["name", "value", "target", "met"] for mark in plain["marks"])
    assert {"cpu", "cores", "filesystem", "fsync_microseconds", "python", "sqlite", "dbos"} <= set(plain["machine"])


def test_the_tables_name_every_peer_and_every_mark(report):
    console = Console(width=150, file=sys.stderr, record=True)
    console.print(render(report))
    text = console.export_text()
    assert all(peer in text for peer in PEERS)
    assert all(name in text for name, _ in MARKS)
    assert "no verdict" in text and "NOT MET" not in text


def test_the_full_run_has_every_promised_row(monkeypatch, tmp_path):
    monkeypatch.setattr(peers, "block", lambda *_: SAME)
    rows = [found for setting in FULL.settings for found in side_by_side(tmp_path, setting, lambda line: None)]
    promised = {(peer, size, steps) for peer in PEERS for size in (1_000, 20_000) for steps in (50, 200, 1_000)}
    assert {(found.peer, found.state_bytes, found.steps) for found in rows} == promised
    assert FULL.lengths == (1_000, 10_000, 100_000)


def test_a_peer_that_cannot_be_imported_is_named_with_the_reason(monkeypatch, tmp_path):
    (tmp_path / "absent_peer.py").write_text("import no_such_framework\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(FRAMEWORKS, "DBOS", "absent_peer")
    with pytest.raises(LabError, match="No module named 'no_such_framework'") as error:
        peers.block("DBOS", tmp_path, 100, 2)
    missing = row("DBOS", QUICK.settings[0], [], [], error.value.what)
    assert missing.microseconds is None
    console = Console(width=150, file=sys.stderr, record=True)
    console.print(render(Report(machine={}, rows=[missing], marks=[])))
    assert "DBOS: not measured, ModuleNotFoundError: No module named 'no_such_framework'" in console.export_text()


def test_a_peer_that_fails_does_not_stop_the_others(monkeypatch, tmp_path):
    def block(peer: str, *_: object) -> Block:
        if peer == "LangGraph":
            raise LabError("it broke")
        return SAME

    monkeypatch.setattr(peers, "block", block)
    rows = side_by_side(tmp_path, QUICK.settings[0], lambda line: None)
    assert [found.peer for found in rows] == PEERS
    assert [(found.peer, found.reason) for found in rows if found.ratio is None] == [("LangGraph", "it broke")]
    marks = {mark.name.split()[0]: mark for mark in steps(rows)}
    assert (marks["LangGraph"].value, marks["LangGraph"].met) == (None, False)
    assert marks["DBOS"].value == 1.0


def test_a_miss_is_not_met():
    assert [at_most("a", value, 1.2).met for value in (1.2, 1.21, None)] == [True, False, False]
    assert [at_least("a", value, 3).met for value in (3, 2.99, None)] == [True, False, False]


def test_the_marks_come_from_the_longest_run_of_the_smallest_state():
    def made(peer: str, size: int, count: int, ratio: float) -> Row:
        return Row(peer=peer, state_bytes=size, steps=count, ratio=ratio, microseconds=ratio * 200)

    rows = [
        made(peer, 1_000, 1_000, ratio)
        for peer, ratio in (("snapshot", 1.1), ("event-sourced", 1.5), ("LangGraph", 6.0), ("DBOS", 9.0))
    ]
    rows += [made(peer, size, count, 99.0) for peer in OURS for size, count in ((1_000, 50), (20_000, 1_000))]
    values = [(round(mark.value or 0, 3), mark.met) for mark in steps(rows)]
    assert values == [(1.1, True), (1.5, False), (4.0, True), (6.0, False)]


def test_recovery_that_grows_with_the_history_is_a_miss():
    def flat(longest: float) -> Mark:
        return reading(Histories({"replay": 1e6}, {10: [0.001], 100_000: [longest]}))[-1]

    assert [flat(0.0019).met, flat(0.0021).met] == [True, False]


def test_a_watch_ignores_replayed_steps_and_stops_at_the_first_new_one():
    watch = Watch(done=2, steps=0)
    watch.open()
    watch.enter(0)
    watch.enter(1)
    with pytest.raises(Stopped):
        watch.enter(2)


def test_as_many_raw_commits_as_steps_are_made_before_them(tmp_path):
    raw = Raw(tmp_path / "raw.db", 100)
    watch = Watch(0, 5, raw=raw)
    with closing(raw), pytest.raises(Stopped) as stopped:
        watch.open()
        assert raw.rows == 5
        for number in range(9):
            assert number <= 5
            watch.enter(number)
    assert raw.rows == 5
    assert stopped.value.timed.raw > 0


def test_the_state_changes_at_each_step_and_keeps_its_size():
    found = texts(1_000)
    assert len(set(found)) == len(found) > 1
    assert {len(text) for text in found} == {1_000}
