"""A published claim, the measured rows that bear on it, and the verdict that follows from them.

`datasets/claims.csv` says, for each claim, which rows count (`rows`) and what each of them must show if the claim is
true (`shows`), in two small languages that are parsed, never evaluated:

    rows   field=value ...            the rows that have all these values; `a|b` means either, `_` stands for a space
    shows  field operator number ...  = != < > and a number, or `trials`; or outcome=pass and the like
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from labkit.claims.measured import COLUMNS, Row
from labkit.errors import InvalidInput

Verdict = Literal["holds", "fails", "holds if", "not measured"]
TERM = re.compile(r"(\w+)\s*(!=|=|<|>)\s*([^\s]+)")
NUMBER = re.compile(r"\d+(\.\d+)?")
LISTED = 3
"""So many values of a field are told as a condition; of more, if possible, those with which the claim fails."""
TEXTS = {"stack", "kind", "name", "policy", "situation", "window", "effect", "outcome", "seen", "versions"}


class Claim(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One claim: about which `stack`, in words, its `topic`, and how it is held against the measurement.

    `note` says, in a few words, what the rows do not say of themselves. It is shown beside the verdict.
    """

    id: str
    stack: str
    claim: str
    topic: str
    rows: str = ""
    shows: str = ""
    note: str = ""


class Judged(NamedTuple):
    """A claim with its verdict, over how many rows and trials; `condition` only for `holds if`."""

    claim: Claim
    verdict: Verdict
    rows: int
    trials: int
    condition: str

    @property
    def remark(self) -> str:
        """The condition and the claim's note, as they are shown beside the verdict."""
        return "; ".join(text for text in (self.condition, self.claim.note) if text)


class Term(NamedTuple):
    """`field operator value`."""

    field: str
    operator: str
    value: str

    def fits(self) -> bool:
        """True when there is such a field, and it can be compared so: text by = and !=, a number with a number."""
        if self.field in TEXTS:
            return self.operator in ("=", "!=")
        return self.field in COLUMNS and (self.value == "trials" or NUMBER.fullmatch(self.value) is not None)

    def holds(self, row: Row) -> bool:
        """True when the row shows it."""
        found = getattr(row, self.field)
        if isinstance(found, str):
            return (found.replace(" ", "_") in self.value.split("|")) == (self.operator == "=")
        if found is None:
            return False
        wanted = row.trials if self.value == "trials" else float(self.value)
        compared = {"=": found == wanted, "!=": found != wanted, "<": found < wanted, ">": found > wanted}
        return bool(compared[self.operator])


def read_claims(path: Path) -> list[Claim]:
    """Read the claims; raise InvalidInput, with the claim's id, for one whose `rows` or `shows` cannot be read."""
    with path.open(encoding="utf-8", newline="") as file:
        try:
            claims = [msgspec.convert(fields, Claim) for fields in csv.DictReader(file)]
        except (ValueError, csv.Error) as error:
            raise InvalidInput(f"{path} is no table of claims: {error}", safe="nothing was changed") from None
    for claim in claims:
        terms(claim, claim.rows)
        terms(claim, claim.shows)
    return claims


def terms(claim: Claim, text: str) -> list[Term]:
    """The terms of `text`; raise InvalidInput for anything else, or for a field that no row has."""
    found = [Term(*match.groups()) for match in TERM.finditer(text)]
    rest = TERM.sub("", text).strip()
    unfit = [f"{term.field}{term.operator}{term.value}" for term in found if not term.fits()]
    if rest or unfit:
        raise InvalidInput(
            f"claim {claim.id}: cannot read {rest or unfit[0]!r} in {text!r}",
            safe="nothing was changed",
            next=f"fields are {', '.join(COLUMNS)}",
        )
    return found


def judge(claim: Claim, measured: Sequence[Row]) -> Judged:
    """The verdict on `claim`. Without a trial that bears on it there is none: `not measured`."""
    wanted, shown = terms(claim, claim.rows), terms(claim, claim.shows)
    bearing = [row for row in measured if row.trials and all(term.holds(row) for term in wanted)] if wanted else []
    trials = sum(row.trials for row in bearing)
    good = [row for row in bearing if all(term.holds(row) for term in shown)]
    if not bearing or not shown:
        return Judged(claim, "not measured", 0, 0, "")
    verdict: Verdict = "holds" if len(good) == len(bearing) else "fails" if not good else "holds if"
    return Judged(claim, verdict, len(bearing), trials, condition(good, bearing) if verdict == "holds if" else "")


def condition(good: Sequence[Row], bearing: Sequence[Row]) -> str:
    """The values of a field with which every row shows the claim: enough for it to hold, and not always necessary.

    Where they are many, and all other values have only rows that contradict the claim, those are named instead.
    """
    bad = [row for row in bearing if row not in good]
    told = []
    for field in ("stack", "policy", "situation", "window", "effect", "name"):
        ours, others = {getattr(row, field) for row in good}, {getattr(row, field) for row in bad}
        always, mixed = ours - others, ours & others
        if always:
            rather = len(always) > LISTED and not mixed
            values = " or ".join(sorted(others if rather else always))
            told.append((bool(mixed), f"{field} is {'not ' if rather else ''}{values}"))
    exact = [words for partly, words in told if not partly]
    return "; ".join(exact) or next((words for _, words in told), f"{len(good)} of {len(bearing)} rows show it")
