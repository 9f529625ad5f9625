"""The story in a minute: one real kill on three engines, without care and with a ledger, and what the provider has."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from shutil import which

from rich.console import Console, RenderableType
from rich.rule import Rule
from rich.text import Text

from labkit.cases.refund import refund
from labkit.lab.compare import Comparison, compare
from labkit.lab.tables import table
from labkit.provider.protocol import Entry

CASE = 17
BEGINNING = (
    "An agent handles case 17: it reads the case, asks a model twice, waits for a manager, refunds 49.90 EUR, sends a "
    "mail, closes the ticket. Its process gets {how} in window W3: the payment provider has paid, the reply has not "
    "arrived. Then another process resumes the run, from nothing but the database."
)
CHAPTERS = {
    "bare": "Policy bare just calls. Nobody wrote down that the call was about to be made, so the next process makes "
    "it again.",
    "ledger": "Policy ledger writes the intent first, and sends a key. The next process finds the intent, asks again "
    "with the same key, and is given the first receipt.",
}
END = "The engine is not what saved the money: all three pay twice without a protocol, and once with it."
NEXT = (
    ("labkit run refund --crash W3 --policy bare", "one kill, as a timeline"),
    ("labkit run --crash W3 --effect send_mail --db mail.db", "a person decides"),
    ("labkit matrix", "every crash, and what theory says"),
    ("labkit explore refund --policy bare", "what breaks, saved"),
    ("make lab", "the notebooks"),
)


def tell(console: Console, say: Callable[[str], None], *, real: bool = True) -> dict[str, Comparison]:
    """Play the story and print it as it goes; return what was found, by policy. Takes some seconds.

    `say` is told what is being killed. `real=False` only simulates the kills.
    """
    how = "SIGKILL" if real else "a simulated crash"
    console.print(Rule("the durable-agent crash lab"), BEGINNING.format(how=how), "", sep="\n")
    found: dict[str, Comparison] = {}
    for policy, why in CHAPTERS.items():
        found[policy] = compare(refund, at="W3", policy=policy, real=real, progress=say, case=CASE)
        console.print(Rule(f"policy {policy}", align="left"), Text(why), found[policy], "", sep="\n")
    console.print(*ending(found), sep="\n")
    return found


def ending(found: dict[str, Comparison]) -> list[RenderableType]:
    """The provider's ledgers side by side, and what to do next."""
    engines = [row.engine for row in next(iter(found.values())).rows]
    rows = [[policy, *(_executed(row.executed) for row in comparison.rows)] for policy, comparison in found.items()]
    ledgers = table(["policy", *engines], rows, f"what the payment provider really paid for case {CASE}")
    first = () if which("labkit") else ((f". {Path(sys.prefix, 'bin', 'activate')}", "once in this shell"),)
    hints = table(("what to do next", ""), (*first, *NEXT))
    return [Rule("three provider ledgers", align="left"), ledgers, "", END, "", hints]


def _executed(entries: list[Entry]) -> str:
    lines = (f"{entry.receipt_id}: {entry.request['amount']} {entry.request['currency']}" for entry in entries)
    return "\n".join(lines)
