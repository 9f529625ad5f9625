"""The command line as tests use it: in this process, or as somebody types it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from labkit.cli.app import build


def labkit(*arguments: str | Path, stdin: str | None = None) -> Result:
    """The command, in this process."""
    return CliRunner().invoke(build(), [str(each) for each in arguments], input=stdin)


def really(*arguments: str | Path, cwd: Path | None = None, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """The command, in a process of its own, as somebody types it."""
    code = "from labkit.cli import main; main()"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, text=True, timeout=120)


def answer(result: Result, code: int = 0) -> Any:
    """The JSON object that a command printed, and that nothing else was printed."""
    assert result.exit_code == code, result.output
    assert result.stdout.count("\n") == 1
    return json.loads(result.stdout)


def refused(result: Result) -> str:
    """What a refusal says on standard error, and that it says nothing elsewhere."""
    assert result.exit_code == 2 and result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr
