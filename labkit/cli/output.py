"""What a command prints: one JSON object, or something for people; progress goes to standard error."""

from __future__ import annotations

import codecs
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console


WIDEST = 400  # columns that one word may claim
_answers: TextIO | None = None  # where the JSON object goes, while standard output is kept clear for it


PLAIN = "labkit-plain"  # how signs are written where the output's encoding does not have them
SIGNS = {"✗": "x", "✕": "x", "→": "->", "•": "*", "·": ".", "…": "...", "≠": "!=", "─": "-", "│": "|"}


def _in_plain_signs(error: UnicodeError) -> tuple[str, int]:
    """Write a sign that means the same; a question mark could be taken for the table's own."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(SIGNS.get(sign, "_") for sign in missing), error.end


codecs.register_error(PLAIN, _in_plain_signs)


@contextmanager
def kept_clear(as_json: bool) -> Iterator[None]:
    """With --json, standard output is for the answer alone: what else is printed meanwhile goes to standard error."""
    global _answers
    if not as_json:
        yield
        return
    with ExitStack() as stack:
        _answers = sys.stdout
        if _descriptor(sys.stdout) == 1:  # children inherit the descriptor, not the name
            sys.stdout.flush()
            _answers = stack.enter_context(open(os.dup(1), "w", encoding="utf-8"))
            stack.callback(os.dup2, _answers.fileno(), 1)
            os.dup2(2, 1)
        stack.enter_context(redirect_stdout(sys.stderr))
        try:
            yield
        finally:
            _answers = None


def _descriptor(stream: TextIO) -> int:
    try:
        return stream.fileno()
    except OSError:
        return -1


def emit(as_json: bool, data: Any, show: Callable[[], Any], commands: Iterable[str] = ()) -> None:
    """Print `data` (a record or plain data) as JSON, or else what `show()` returns, by rich.

    Below that stand the `commands` to type next, one a line and as they are, however narrow the terminal.
    """
    if as_json:
        import msgspec

        print(json.dumps(msgspec.to_builtins(data, str_keys=True)), file=_answers or sys.stdout, flush=True)
        return
    from rich.console import Console

    console, shown = Console(markup=False, highlight=False, emoji=False), show()
    console.width = max(console.width, _longest_word(console, shown))
    console.print(shown)
    for number, command in enumerate(commands):
        print("" if number else "\nnext:\n", end="")
        print(command)


def _longest_word(console: Console, shown: Any) -> int:
    """The width below which an id or a key would be broken."""
    from rich.measure import Measurement

    return Measurement.get(console, console.options.update(max_width=WIDEST), shown).minimum


def begun_with(inputs: dict[str, Any], report: Any) -> dict[str, Any]:
    """A report as plain data, with the inputs of the runs that it is about."""
    import msgspec

    return {**msgspec.to_builtins(report, str_keys=True), "inputs": inputs}


def said_with(inputs: dict[str, Any], *shown: Any) -> Any:
    """What is shown, below the inputs of the runs that it is about."""
    from rich.console import Group

    said = ", ".join(f"{name} {value}" for name, value in inputs.items())
    return Group(f"inputs: {said[:200]}" if said else "no inputs", *shown)


@contextmanager
def progress(title: str) -> Iterator[Callable[[int, int | None], None]]:
    """A bar on standard error while the block runs: call what it yields with (done, of), `of` None while unknown."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)


@contextmanager
def telling(title: str) -> Iterator[Callable[[str], None]]:
    """A line on standard error that says what is being done: call what it yields with the text."""
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(title) as status:
        yield lambda text: status.update(f"{title}: {text}")
