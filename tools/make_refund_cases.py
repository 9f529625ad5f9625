"""Make datasets/refund_cases.csv, the input of the refund workflow.

    python tools/make_refund_cases.py           write the file
    python tools/make_refund_cases.py --check   exit 1 if the file is not what this script makes

Cases 1..200 are plain ones, put together from refund_cases/texts.toml. Case 17 among them is fixed, since every example
uses it. The awkward ones of refund_cases/awkward.toml follow. The result depends on nothing else: each case has its own
random numbers, drawn from its id, so a change to one case moves no other.
"""

from __future__ import annotations

import argparse
import csv
import io
import random
import sys
import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

HERE = Path(__file__).resolve().parent
OUT = "datasets/refund_cases.csv"
PLAIN = 200
CURRENCIES = ("EUR", "EUR", "EUR", "EUR", "GBP", "USD", "USD", "CHF")
CASE_17 = {
    "tenant": "acme",
    "customer": "Lena Brandt",
    "email": "lena.brandt@mail.example",
    "order_id": "AC-483920",
    "product": "wireless headphones",
    "amount": "49.90",
    "currency": "EUR",
    "reason": "damaged",
    "opened_at": "2025-03-14T09:26:00Z",
    "note": "Hello, my headphones arrived yesterday with a crack in the left ear cup. I have kept the box and can send "
    "them back. Could you please refund the 49.90 EUR? Thank you and best wishes, Lena Brandt",
}
COLUMNS = ("case", *CASE_17, "expect", "why")

Row = dict[str, str]
T = TypeVar("T")


class Draw:
    """Choices for one case. Draws on `Random.random` only, whose sequence Python promises to keep between versions."""

    def __init__(self, case: int) -> None:
        """`case` is the id of the case, from which all numbers follow."""
        self._random = random.Random(f"refund case {case}").random

    def below(self, n: int) -> int:
        """A whole number in 0..n-1."""
        return int(self._random() * n)

    def one(self, items: Sequence[T]) -> T:
        """One of `items`."""
        return items[self.below(len(items))]


def read_texts(name: str) -> dict[str, Any]:
    """The content of a TOML file in refund_cases/."""
    return tomllib.loads((HERE / "refund_cases" / name).read_text(encoding="utf-8"))


def plain_case(case: int, texts: dict[str, Any]) -> Row:
    """A valid, everyday case with the id `case`; the same id always gives the same row."""
    draw = Draw(case)
    tenant = draw.one(list(texts["tenants"]))
    shop = texts["tenants"][tenant]
    product, price, *faults = draw.one(shop["products"])
    reason = draw.one([name for name, r in texts["reasons"].items() for _ in range(r["weight"])])
    given, family = draw.one(texts["people"]["given"]), draw.one(texts["people"]["family"])
    opened = datetime(2025, 1, 2, 6, 0, tzinfo=UTC) + timedelta(days=draw.below(350), minutes=draw.below(15 * 60))
    row = {
        "case": str(case),
        "tenant": tenant,
        "customer": f"{given} {family}",
        "email": f"{given}.{family}@{draw.one(texts['people']['mail_domains'])}".lower(),
        # 7919 is prime to 899000, so no two cases share an order
        "order_id": f"{shop['prefix']}-{100_000 + case * 7919 % 899_000}",
        "product": product,
        "amount": price,
        "currency": draw.one(CURRENCIES),
        "reason": reason,
        "opened_at": opened.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    row["note"] = plain_note(draw, texts, row, draw.one(faults))
    return row | {"expect": "ok", "why": ""}


def plain_note(draw: Draw, texts: dict[str, Any], row: Row, fault: str) -> str:
    """What the customer of `row` wrote, or what the desk wrote down from a call."""
    people, reason = texts["people"], texts["reasons"][row["reason"]]
    facts = {
        **row,
        "order": row["order_id"],
        "Tenant": row["tenant"].capitalize(),
        "given": row["customer"].split()[0],
        "fault": fault,
        "days": str(2 + draw.below(11)),
        "day": str(11 + draw.below(10)),
        "city": draw.one(people["cities"]),
        "carrier": draw.one(people["carriers"]),
    }
    parts = {name: draw.one(reason[name]).format(**facts) for name in ("complaint", "detail", "report")}
    parts |= {name: draw.one(texts["channels"][name]).format(**facts) for name in ("ask", "close")}
    parts["report"] = parts["report"][0].upper() + parts["report"][1:]
    channel = draw.one(("mail", "mail", "mail", "form", "form", "phone"))
    return str(draw.one(texts["channels"][channel]).format(**facts, **parts))


def awkward_case(case: int, given: dict[str, Any], rows: list[Row], texts: dict[str, Any]) -> Row:
    """The awkward case `case`: what `given` says, the rest from the plain case of this id or the row `same_as`."""
    given = dict(given)
    origin = given.pop("same_as", None)
    base = rows[origin - 1] if origin else plain_case(case, texts)
    if size := given.pop("long_note_bytes", None):
        given["note"] = delivery_log(case, size, texts)
    return base | given | {"case": str(case)}


def delivery_log(case: int, size: int, texts: dict[str, Any]) -> str:
    """A note of exactly `size` bytes of ASCII: two sentences, and the log of a parcel that goes round in circles."""
    draw, when = Draw(case), datetime(2025, 9, 1, 5, 0, tzinfo=UTC)
    events = (
        "arrived at depot",
        "left depot",
        "sorted",
        "could not be delivered",
        "held for inspection",
        "address checked",
        "reloaded",
    )
    lines = [
        "Below is the whole log of my parcel, copied from the tracking page. It never came. Please refund the order.",
        "",
    ]
    length = sum(len(line) + 1 for line in lines)
    while length < size:
        when += timedelta(minutes=3 + draw.below(90))
        city, carrier = draw.one(texts["people"]["cities"]), draw.one(texts["people"]["carriers"])
        lines.append(
            f"{when:%Y-%m-%d %H:%M}  {city:<9}  {draw.one(events):<23} {carrier}, scan {draw.below(10_000):04}"
        )
        length += len(lines[-1]) + 1
    return "\n".join(lines)[:size]


def make_rows() -> list[Row]:
    """All rows in the order of their ids, which run from 1 without a gap."""
    texts = read_texts("texts.toml")
    rows = [plain_case(case, texts) for case in range(1, PLAIN + 1)]
    rows[16] |= CASE_17
    for given in read_texts("awkward.toml")["case"]:
        rows.append(awkward_case(len(rows) + 1, given, rows, texts))
    return rows


def generate(root: Path) -> dict[str, str | None]:
    """The text of the file under its path from `root`: UTF-8 CSV with a header, lines that end in a line feed."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(make_rows())
    return {OUT: text.getvalue()}


def main(argv: Sequence[str] | None = None) -> int:
    """Write the file, or with --check compare it. Returns the exit code: 0, or 1 when the file is stale or absent."""
    parser = argparse.ArgumentParser(description="Make the refund cases.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the file is stale or absent")
    parser.add_argument("--root", type=Path, default=HERE.parent, help="the project folder")
    args = parser.parse_args(argv)
    path, made = args.root / OUT, str(generate(args.root)[OUT]).encode()
    if not args.check:
        path.write_bytes(made)
        print(f"{path}: {len(made)} bytes")
    elif not path.exists() or path.read_bytes() != made:
        print(f"stale: {path}. Type: python tools/make_refund_cases.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
