"""Large texts, stored once under their SHA-256, beside the state that refers to them."""

from __future__ import annotations

import hashlib

from labkit.store.protocol import Tx

SCHEMA = "CREATE TABLE IF NOT EXISTS artifacts (ref TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;"


def reference(content: str) -> str:
    """The reference of `content`: `sha256:` and the digest in hex."""
    return f"sha256:{hashlib.sha256(content.encode()).hexdigest()}"


def keep(tx: Tx, content: str) -> None:
    """Store `content`; storing it again changes nothing."""
    tx.execute("INSERT OR IGNORE INTO artifacts VALUES (?,?)", reference(content), content)
