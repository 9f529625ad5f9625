"""The service desk's records: reads `datasets/refund_cases.csv` and refuses what cannot be a refund case."""

from __future__ import annotations

import csv
import re
from datetime import datetime
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path

import msgspec

from labkit.codec import has_secret
from labkit.errors import InvalidInput

DATASETS = Path(__file__).parents[2] / "datasets"
CURRENCIES = ("EUR", "USD", "GBP", "CHF", "SEK", "PLN", "JPY", "INR", "CNY")
REASONS = ("damaged", "late", "not_as_described", "unwanted", "duplicate_charge", "other")
MAX_AMOUNT = Decimal(1_000_000)


class Case(msgspec.Struct, kw_only=True, frozen=True):
    """One refund request, without its note. `amount` is in units of `currency`."""

    case: int
    tenant: str
    customer: str
    email: str
    order_id: str
    product: str
    amount: Decimal
    currency: str
    reason: str
    opened_at: str


@cache
def records() -> dict[int, dict[str, str]]:
    """All rows by case id, as text."""
    csv.field_size_limit(1_000_000)  # one note is longer than the module's default
    with (DATASETS / "refund_cases.csv").open(encoding="utf-8", newline="") as file:
        return {int(row["case"]): row for row in csv.DictReader(file)}


def record(case: int) -> dict[str, str]:
    """The row of a case; raise InvalidInput when there is none."""
    if not isinstance(case, int) or isinstance(case, bool) or case not in records():
        raise InvalidInput(
            f"there is no case {str(case)[:40]!r}: cases run from 1 to {max(records())}",
            safe="nothing was written",
            next="labkit run refund --case 17",
        )
    return records()[case]


def find_case(case: int) -> Case:
    """The case, checked; raise InvalidInput naming the first field that is unfit."""
    record(case)
    return _checked(case)


@cache
def _checked(case: int) -> Case:
    row = records()[case]
    checks = (
        ("tenant", row["tenant"] in ("acme", "globex", "initech")),
        ("customer", bool(row["customer"].strip())),
        ("email", bool(re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", row["email"]))),
        ("order_id", bool(re.fullmatch(r"[A-Z]{2}-[0-9]{6}", row["order_id"]))),
        ("product", bool(row["product"].strip())),
        ("amount", _is_amount(row["amount"])),
        ("currency", row["currency"] in CURRENCIES),
        ("reason", row["reason"] in REASONS),
        ("opened_at", _is_time(row["opened_at"])),
        ("note", not _has_private_text(row["note"])),
    )
    for field, fit in checks:
        if not fit:
            found = "(withheld)" if field == "note" else repr(row[field][:60])
            raise InvalidInput(
                f"case {case} is refused: {field} {found} is not valid",
                safe="nothing was written",
                next="correct the case, or ask the customer",
            )
    fields = {name: row[name] for name in Case.__struct_fields__ if name not in ("case", "amount")}
    return Case(case=case, amount=Decimal(row["amount"]), **fields)


def _is_amount(text: str) -> bool:
    if not re.fullmatch(r"[0-9]+(\.[0-9]{1,2})?", text, re.ASCII):
        return False
    try:
        return 0 < Decimal(text) <= MAX_AMOUNT
    except InvalidOperation:
        return False


def _is_time(text: str) -> bool:
    try:
        datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        return False
    return True


def _has_private_text(note: str) -> bool:
    """True when the note holds a credential, or 13 to 19 digits that pass the Luhn check as card numbers do."""
    if has_secret(note.encode()):
        return True
    for found in re.findall(r"(?<![0-9])(?:[0-9][ -]?){12,18}[0-9](?![0-9])", note):
        digits = [int(digit) for digit in found if digit.isdigit()][::-1]
        doubled = sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])
        if (sum(digits[0::2]) + doubled) % 10 == 0:
            return True
    return False
