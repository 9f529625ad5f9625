"""The provider process: `python -m labkit.provider.server --root DIR [--port 0]`.

It listens on 127.0.0.1 only, prints one JSON line `{"url": ...}` once it listens, and exits when its standard input
closes: it never outlives whoever started it, not even one that was SIGKILLed.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import uvicorn

from labkit.provider.app import build_app


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until standard input closes."""
    parser = argparse.ArgumentParser(prog="python -m labkit.provider.server", description="the lab's outside world")
    parser.add_argument("--root", type=Path, required=True, help="folder that holds the ledger files")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    chosen = parser.parse_args(arguments)
    chosen.root.mkdir(parents=True, exist_ok=True)
    config = uvicorn.Config(
        build_app(chosen.root), log_config=None, access_log=False, lifespan="off", ws="none", timeout_keep_alive=3600
    )
    # with the protocol named, asyncio switches Nagle's algorithm off: it would add 40 ms to an answer
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        if os.name == "posix":  # a chosen port is free again at once; on Windows it could be taken from another program
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", chosen.port))
        listening.listen()
        print(json.dumps({"url": f"http://127.0.0.1:{listening.getsockname()[1]}"}), flush=True)
        threading.Thread(target=_exit_with_starter, daemon=True).start()
        uvicorn.Server(config).run(sockets=[listening])


def _exit_with_starter() -> None:
    sys.stdin.buffer.read()
    os._exit(0)  # nothing is left to save: every entry was synced before it was answered


if __name__ == "__main__":
    main()
