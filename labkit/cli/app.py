"""Puts the commands together and turns errors into messages and exit codes.

Exit codes: 0 as wished, 1 when a check failed, 2 for bad input or a file that cannot be used, 70 for a defect of the
lab or of a workflow's code (with its traceback), 130 when interrupted.
"""

from __future__ import annotations

import functools
import io
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn, ParamSpec

import typer

from labkit.cli import claiming, comparing, deciding, engines, exploring, looking, measuring, recorded, running
from labkit.cli.output import PLAIN, kept_clear
from labkit.errors import LabError

INTERRUPTED = 130
DEFECT = 70
P = ParamSpec("P")

COMMANDS: tuple[tuple[str, tuple[Callable[..., None], ...]], ...] = (
    ("Run and crash", (running.run, running.taps, looking.demo)),
    (
        "Every crash",
        (exploring.matrix, exploring.explore, exploring.replay, exploring.interleave, engines.check_engine),
    ),
    ("Measure", (measuring.bench, recorded.trajectory, measuring.perf)),
    ("Frameworks", (comparing.stacks, comparing.conformance, claiming.survey, claiming.claims, comparing.worker)),
    ("Look and decide", (looking.runs, looking.history, looking.effects, looking.outside)),
    ("Look and decide", (deciding.approve, deciding.resolve, deciding.cancel, deciding.decide)),
    ("This machine", (looking.doctor,)),
)


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """The command, with whatever ends it told on standard error, and the exit code that says what it was."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with kept_clear(bool(kwargs.get("as_json"))):
                command(*args, **kwargs)
        except (typer.Exit, BrokenPipeError):
            raise
        except LabError as error:
            print(f"labkit: {error}", file=sys.stderr)
            raise typer.Exit(2) from None
        except OSError as error:
            print(f"labkit: {error.filename or 'what is read or written'}: {error.strerror or error}", file=sys.stderr)
            print("next: see to that, or name another file or folder", file=sys.stderr)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            print("labkit: interrupted; what was finished stands", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            if type(error).__module__ == "apsw":  # not imported here: help needs no database
                print(f"labkit: {kwargs.get('db') or 'the database'} cannot be used: {error}", file=sys.stderr)
                print("safe now: what was committed stands, as far as the file is sound", file=sys.stderr)
                print("next: keep a copy of it, and name another file", file=sys.stderr)
                raise typer.Exit(2) from None
            traceback.print_exc()
            raise typer.Exit(DEFECT) from None

    return run


def build() -> typer.Typer:
    """The whole command line."""
    app = typer.Typer(
        name="labkit",
        help="A crash lab for durable agents: kill a workflow for real, and see what the next process may do.",
        epilog="Start with: labkit demo",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for panel, commands in COMMANDS:
        for command in commands:
            app.command(rich_help_panel=panel)(guarded(command))
    return app


def main() -> None:
    """Run the command that the arguments name. After an interruption nothing that it started goes on."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=PLAIN)
    try:
        build()()
    except KeyboardInterrupt:  # before a command began
        print("labkit: interrupted; nothing was begun", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except SystemExit as ended:
        if ended.code == INTERRUPTED:
            _leave_at_once()
        raise


def _leave_at_once() -> NoReturn:
    """End our own children by id, and do not wait for the pools that they belong to."""
    import psutil

    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            child.kill()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)
