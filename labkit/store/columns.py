"""Columns that newer versions of the lab have added: a database of an older version gets them when it is opened."""

from __future__ import annotations

from labkit.store.protocol import Store, Tx

Column = tuple[str, str, str]  # table, name, declaration (with a default, for the rows that are there)


def add_missing(store: Store, columns: tuple[Column, ...]) -> None:
    """Add those of `columns` that their tables lack; rows that are there get the default. Nothing else is changed."""
    if all(_has(store, column) for column in columns):
        return
    with store.transaction("run/upgrade") as tx:
        for table, name, declaration in columns:
            if not _has(tx, (table, name, declaration)):  # asked again: another process may have been quicker
                tx.execute(f"ALTER TABLE {table} ADD COLUMN {name} {declaration}")


def _has(source: Store | Tx, column: Column) -> bool:
    return bool(source.rows("SELECT 1 FROM pragma_table_info(?) WHERE name=?", column[0], column[1]))
