"""Temporary folders that know their owner, so that those of a process that was killed are removed by the next one."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import psutil


def _here() -> str:
    """Where process numbers mean the same: another machine, or container of the same name, may share the folder."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return sha256(f"{platform.node()} {namespace}".encode()).hexdigest()[:6]


HERE = _here()
NAME = re.compile(rf"labkit-(?:[a-z]+-)?(\d+)at(\d+)on{HERE}-\w+")
DOUBT = 600  # seconds: where they count by a clock that can be set, a process seems to begin at another time later


def scratch_folder(kind: str = "", *, inside: str | None = None) -> TemporaryDirectory[str]:
    """A new folder for this process, to be used in `with` or cleaned up: `labkit-[kind-]PIDatSECONDSonPLACE-...`.

    It lies in the folder for temporary files, or in the folder `inside`. Folders of processes that are gone are
    removed there first. `kind` is a word of small letters. Raises OSError when the folder cannot be made.
    """
    remove_left_behind(Path(inside or gettempdir()))
    prefix = f"labkit-{kind}-" if kind else "labkit-"
    return TemporaryDirectory(
        prefix=f"{prefix}{os.getpid()}at{began(psutil.Process())}on{HERE}-", dir=inside, ignore_cleanup_errors=True
    )


def began(process: psutil.Process) -> int:
    """The second in which `process` began; on Linux counted from the start of the machine, which no set clock moves."""
    return int(process.create_time() - (psutil.boot_time() if sys.platform == "linux" else 0))


def remove_left_behind(where: Path) -> None:
    """Remove the scratch folders in `where` that belong to this user and whose process is gone; leave all others.

    A folder that cannot be removed is left as well: it is tried again next time.
    """
    for path in where.glob(f"labkit-*on{HERE}-*"):
        named = NAME.fullmatch(path.name)
        if named and _is_own(path) and not _is_alive(int(named[1]), int(named[2])):
            shutil.rmtree(path, ignore_errors=True)


def _is_own(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:  # another process has just removed it
        return False
    return path.is_dir() and not path.is_symlink() and (os.name == "nt" or found.st_uid == os.geteuid())


def _is_alive(pid: int, then: int) -> bool:
    try:
        process = psutil.Process(pid)
        return process.status() != psutil.STATUS_ZOMBIE and abs(began(process) - then) < DOUBT
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True
