"""A JupyterLab of its own for a test: on a free port of this machine, with a token, ended by its process id."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

PATIENCE = 60_000  # milliseconds that a busy machine may take for a server, a kernel, or for real kills
HOMES = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
HOMES += ("JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR")
LAB = ["--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", "--LabApp.news_url=None"]
LAB += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate", "--LabApp.extension_manager=readonly"]


@contextmanager
def jupyterlab(folder: Path) -> Iterator[str]:
    """A JupyterLab on a free port of this machine, on `folder`, with settings of its own; yields its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex(16)
    settings = {name: str(folder / "home" / name.lower()) for name in HOMES}
    command = [sys.executable, "-m", "jupyterlab", *LAB, f"--port={port}", f"--IdentityProvider.token={token}"]
    with (folder / "lab.log").open("w") as log:
        server = subprocess.Popen(
            [*command, f"--ServerApp.root_dir={folder}"],
            env={**os.environ, **settings, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + PATIENCE / 1000
        while not answers(f"{address}/api/status?token={token}"):
            assert server.poll() is None and time.monotonic() < deadline, (folder / "lab.log").read_text()[-3000:]
            time.sleep(0.2)
        yield f"{address}/lab/tree/{{}}?token={token}"
    finally:
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:  # it waits for a kernel that is just coming up
            server.kill()
            server.wait()


def answers(address: str) -> bool:
    try:
        return httpx.get(address, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False
