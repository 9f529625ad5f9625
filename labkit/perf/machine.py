"""Where it was measured: disk, processor, versions. Numbers without these mean nothing."""

from __future__ import annotations

import os
import platform
import sqlite3
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import apsw
import psutil

from labkit.stacks.find import installed

IN_MEMORY = ("tmpfs", "ramfs")
PACKAGES = ("langgraph", "langgraph-checkpoint-sqlite", "dbos", "eventsourcing")


def real_disk() -> Path:
    """The temporary folder, or the current one when temporary files live in memory: a sync must reach a disk."""
    places = [Path(tempfile.gettempdir()), Path.cwd()]
    return next((place for place in places if filesystem(place) not in IN_MEMORY), places[0])


def filesystem(folder: Path) -> str:
    """The type of the file system that holds `folder`, such as ext4; `unknown` when the system does not say."""
    held = [part for part in psutil.disk_partitions(all=True) if folder.resolve().is_relative_to(part.mountpoint)]
    return max(held, key=lambda part: len(part.mountpoint)).fstype if held else "unknown"


def describe(folder: Path) -> dict[str, Any]:
    """The machine as plain data; measures the disk below `folder`. `fsync_microseconds` is the median of 200.

    `load` is the number of processes that wanted to run in the last minute, None where the system does not count.
    """
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "filesystem": filesystem(folder),
        "fsync_microseconds": round(fsync_seconds(folder) * 1e6, 1),
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "sqlite_of_frameworks": sqlite3.sqlite_version,
        **{package: installed(package) for package in PACKAGES},
    }


def processor() -> str:
    """The name of the processor."""
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text("utf-8").splitlines() if listed.exists() else []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def fsync_seconds(folder: Path, times: int = 200) -> float:
    """The median of the seconds that it takes to sync 4096 appended bytes."""
    seconds = []
    with (folder / "fsync").open("wb", buffering=0) as file:
        for _ in range(times):
            file.write(bytes(4096))
            begun = time.perf_counter()
            os.fsync(file.fileno())
            seconds.append(time.perf_counter() - begun)
    return median(seconds)
