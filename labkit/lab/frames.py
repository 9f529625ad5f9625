"""Records of the lab as data frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from labkit.effects.ledger import Entry
from labkit.model import Moment
from labkit.provider.protocol import Entry as Outside
from labkit.store.runs import Header

if TYPE_CHECKING:
    import pandas as pd

RUNS = ["run_id", "tenant_id", "workflow_id", "workflow_version", "engine", "status", "reason", "created_at"]
EFFECTS = ["effect_key", "step", "target", "operation", "status", "attempts", "receipt_id", "last_error", "reconcile"]
OUTSIDE = ["seq", "kind", "target", "operation", "key", "subject", "request", "receipt_id", "at"]
HISTORY = ["state_version", "kind", "step", "name", "bytes"]


def runs_frame(headers: Sequence[Header]) -> pd.DataFrame:
    """One row a run."""
    return _frame(RUNS, [[getattr(header, name) for name in RUNS] for header in headers])


def history_frame(moments: Sequence[Moment]) -> pd.DataFrame:
    """One row a durable write: state_version, kind, step, name, bytes."""
    return _frame(HISTORY, [list(moment) for moment in moments])


def effects_frame(entries: Sequence[Entry]) -> pd.DataFrame:
    """One row an effect that our ledger knows."""
    return _frame(EFFECTS, [[getattr(entry, name) for name in EFFECTS] for entry in entries])


def provider_frame(entries: Sequence[Outside]) -> pd.DataFrame:
    """One row a thing that really happened outside."""
    return _frame(OUTSIDE, [[getattr(entry, name) for name in OUTSIDE] for entry in entries])


def _frame(columns: list[str], rows: list[list[object]]) -> pd.DataFrame:
    import pandas as pd  # half a second: only who asks for a frame pays for it

    return pd.DataFrame(rows, columns=columns)
