"""What a command prints: one JSON object, or something for people; progress goes to standard error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def emit(as_json: bool, data: Any, show: Callable[[], Any]) -> None:
    """Print `data` (a record or plain data) as JSON, or else what `show()` returns, by rich."""
    if as_json:
        import msgspec

        print(json.dumps(msgspec.to_builtins(data, str_keys=True)))
        return
    from rich.console import Console

    Console(markup=False, highlight=False, emoji=False).print(show())


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
