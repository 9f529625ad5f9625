"""Scratch folders: those of a killed process go with the next start, and nobody else's do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from labkit import scratch
from labkit.scratch import DOUBT, HERE, began, scratch_folder

OWNER = """
import sys, time
from labkit import Lab, refund
from labkit.scratch import scratch_folder

folder = scratch_folder("bench", inside=sys.argv[1])
Lab(folder.name + "/lab.db").start(refund, case=17)
print(folder.name, flush=True)
time.sleep(600)
"""


def test_the_folder_of_a_killed_process_goes_when_the_next_one_starts(tmp_path):
    with subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as owner:
        try:
            assert owner.stdout is not None
            theirs = Path(owner.stdout.readline().strip())
            with scratch_folder(inside=str(tmp_path)):
                assert (theirs / "lab.db").exists()  # its process lives
        finally:
            owner.kill()
    assert theirs.exists()
    with scratch_folder(inside=str(tmp_path)) as ours:
        assert [str(path) for path in tmp_path.iterdir()] == [ours]


def test_a_process_that_got_the_number_of_the_owner_later_does_not_keep_the_folder(tmp_path, monkeypatch):
    now = began(psutil.Process()) + 10 * DOUBT  # a process of today may have begun with the machine
    monkeypatch.setattr(scratch, "began", lambda process: now)
    before = tmp_path / f"labkit-{os.getpid()}at{now - 2 * DOUBT}on{HERE}-abc"
    by_a_set_clock = tmp_path / f"labkit-{os.getpid()}at{now - DOUBT // 2}on{HERE}-abc"
    for folder in (before, by_a_set_clock):
        folder.mkdir()
    scratch_folder(inside=str(tmp_path)).cleanup()
    assert list(tmp_path.iterdir()) == [by_a_set_clock]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the clock that can be set is the only one")
def test_a_clock_that_is_set_makes_no_process_another(monkeypatch):
    before = began(psutil.Process())
    boot, begun = psutil.boot_time(), psutil.Process().create_time()
    monkeypatch.setattr(psutil, "boot_time", lambda: boot + 3600)
    monkeypatch.setattr(psutil.Process, "create_time", lambda process: begun + 3600)
    assert abs(began(psutil.Process()) - before) <= 1


def test_what_is_not_surely_a_folder_of_ours_is_left_alone(tmp_path):
    gone = f"{max(psutil.pids()) + 100_000}at1on{HERE}"
    named = [
        tmp_path / name
        for name in (
            "labkit-mine",
            f"labkit-{gone}",
            f"other-{gone}-abc",
            f"labkit-A-{gone}-abc",
            f"labkit-{gone}x-abc",
        )
    ]
    for folder in named:
        folder.mkdir()
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "lab.db").write_text("of the user", "utf-8")
    (tmp_path / f"labkit-{gone}-link").symlink_to(kept)
    (tmp_path / f"labkit-{gone}-file").write_text("no folder", "utf-8")
    before = sorted(tmp_path.rglob("*"))
    scratch_folder(inside=str(tmp_path)).cleanup()
    assert sorted(tmp_path.rglob("*")) == before
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        (tmp_path / f"labkit-{gone}-theirs").mkdir()
        os.chown(tmp_path / f"labkit-{gone}-theirs", 12345, 12345)
        scratch_folder(inside=str(tmp_path)).cleanup()
        assert (tmp_path / f"labkit-{gone}-theirs").exists()
