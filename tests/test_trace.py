"""What a trace promises: it is on the disk before the next tap, whole or cut off, and the dead write nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.errors import InvalidState
from labkit.taps import Crash, tap
from labkit.timeline.trace import Trace, read_folder


def trace_of(folder: Path, *labels: str, dies_at: str = "") -> Trace:
    trace = Trace(folder, dies_at=dies_at)
    with trace.listening():
        for label in labels:
            tap(label, "before")
        trace.rest("running")
    return trace


def test_a_trace_is_on_the_disk_before_the_next_tap(tmp_path: Path):
    trace = Trace(tmp_path / "run")
    with trace.listening():
        tap("a/commit", "before")
        (found,) = read_folder(tmp_path / "run")
        assert [str(passed.tap) for passed in found.passed] == ["a/commit:before#1"]
        assert found.status == "running"


def test_a_process_that_passes_no_tap_leaves_no_file(tmp_path: Path):
    trace_of(tmp_path / "run")
    assert read_folder(tmp_path / "run") == [] and not (tmp_path / "run").exists()


def test_each_process_has_a_file_of_its_own_and_the_order_is_kept(tmp_path: Path):
    for number in range(11):
        trace_of(tmp_path, f"step{number}/commit")
    assert [trace.passed[0].tap.step for trace in read_folder(tmp_path)] == [f"step{number}" for number in range(11)]


def test_the_dead_pass_no_taps(tmp_path: Path):
    trace = Trace(tmp_path, dies_at="a/commit:before#1")
    with pytest.raises(Crash), trace.listening():
        tap("a/commit", "before")
        tap("a/finally", "before")
        raise Crash
    (found,) = read_folder(tmp_path)
    assert [str(passed.tap) for passed in found.passed] == [found.killed_at] == ["a/commit:before#1"]


def test_a_line_that_was_cut_off_is_left_out_and_other_damage_is_refused(tmp_path: Path):
    trace_of(tmp_path, "a/commit", "b/commit")
    file = tmp_path / "1.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole[: whole.rindex(b"{") + 5])
    assert len(read_folder(tmp_path)[0].passed) == 2
    file.write_bytes(whole.replace(b'"tap"', b'"tip"', 1).replace(b"b/commit", b"no tap"))
    with pytest.raises(InvalidState, match=r"1\.jsonl is damaged"):
        read_folder(tmp_path)
