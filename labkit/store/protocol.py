"""What an engine may ask of a store."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol


class Tx(Protocol):
    """An open transaction."""

    def execute(self, sql: str, *params: Any) -> int:
        """Run one statement; return how many rows it changed."""
        ...

    def rows(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        """Run one query; return its rows."""
        ...


class Store(Protocol):
    """A database with labelled transactions."""

    def install(self, schema: str) -> None:
        """Create the tables of `schema` (SQL with IF NOT EXISTS)."""
        ...

    def transaction(self, label: str) -> AbstractContextManager[Tx]:
        """A write transaction that taps `label:before` and `label:after` around its commit."""
        ...

    def rows(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        """Run one query outside a transaction; return its rows."""
        ...
