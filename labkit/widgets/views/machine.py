"""The states of an effect and the moves between them, as the ledger allows them, with what each means and what to type.

States and moves are read from `labkit.effects`; only the words stand here. A test says that none is missing.
"""

from __future__ import annotations

from typing import NamedTuple

from labkit.effects.decision import EFFECT_STATUSES
from labkit.effects.ledger import MOVES

RUN = "labkit run WORKFLOW --run-id RUN --db FILE"
LOOK = "labkit effects RUN --db FILE"
OUTSIDE = "labkit outside --db FILE"
RESOLVE = "labkit resolve KEY --db FILE --verdict"
TRY = "labkit decide --example | sed 's/ambiguous/{}/' | labkit decide"
STATES = EFFECT_STATUSES
TRANSITIONS = (("none", "planned"), *((source, to) for to, sources in MOVES.items() for source in sources))


class Words(NamedTuple):
    """A state or a move in words: a short `name`, what it means, the rule that a new process follows, what to type."""

    name: str
    meaning: str
    rule: str
    type: tuple[str, ...]


OF_STATE = {
    "none": Words(
        "none",
        "Our ledger has no entry.",
        "There is nothing to decide on: the step runs as if for the first time. Only `decide` itself says stop.",
        (RUN, TRY.format("none")),
    ),
    "planned": Words(
        "planned",
        "The intent is committed, and no attempt is marked: nothing was sent.",
        "Execute while there is a key and an attempt is left; else stop.",
        (RUN, TRY.format("planned")),
    ),
    "executing": Words(
        "executing",
        "An attempt is marked, and no outcome is recorded: it may have happened.",
        "Reconcile if there is a key to ask with; else stop. Never execute blindly.",
        (RUN, TRY.format("executing")),
    ),
    "confirmed": Words(
        "confirmed",
        "The provider's receipt is recorded.",
        "Advance: use the receipt, call nobody.",
        (RUN, TRY.format("confirmed")),
    ),
    "ambiguous": Words(
        "ambiguous",
        "It was tried, and nobody could say whether it happened.",
        "Reconcile if there is a key to ask with; where the provider cannot say, a person decides.",
        (LOOK, OUTSIDE, f"{RESOLVE} ...", TRY.format("ambiguous")),
    ),
    "rejected": Words(
        "rejected",
        "The provider refused for good, or a person said so.",
        "Stop: it is never tried again. The step is told of the refusal.",
        (LOOK, TRY.format("rejected")),
    ),
    "compensated": Words(
        "compensated",
        "It happened, and another effect has undone it.",
        "Stop: it is never tried again.",
        (OUTSIDE, TRY.format("compensated")),
    ),
}

_BY_ITSELF = "The next process does it by itself."
OF_MOVE = {
    ("none", "planned"): Words("intent", "The intent is written before anything is sent.", _BY_ITSELF, (RUN,)),
    ("planned", "executing"): Words(
        "attempt", "The attempt is marked and counted; then the provider is called.", _BY_ITSELF, (RUN,)
    ),
    ("executing", "executing"): Words(
        "attempt", "A provider that recognises keys is called again with the same key.", _BY_ITSELF, (RUN,)
    ),
    ("ambiguous", "executing"): Words(
        "attempt", "A provider that recognises keys is called again with the same key.", _BY_ITSELF, (RUN,)
    ),
    ("executing", "confirmed"): Words(
        "confirm", "The receipt came, or a lookup found it. It is recorded.", _BY_ITSELF, (RUN,)
    ),
    ("ambiguous", "confirmed"): Words(
        "confirm",
        "A lookup found it, or a person says that it happened.",
        "A person needs the receipt as evidence.",
        (OUTSIDE, f"{RESOLVE} confirmed --receipt ID", 'lab.resolve(key, "confirmed", receipt)'),
    ),
    ("executing", "rejected"): Words("refuse", "The provider refused for good.", _BY_ITSELF, (RUN,)),
    ("ambiguous", "rejected"): Words(
        "refuse",
        "A repeat was refused, or a person says that it shall never be done.",
        "A person decides; the step is told of the refusal.",
        (f"{RESOLVE} rejected", 'lab.resolve(key, "rejected")'),
    ),
    ("planned", "ambiguous"): Words(
        "doubt", "Its attempts are used up: the run waits for a person.", _BY_ITSELF, (LOOK, f"{RESOLVE} ...")
    ),
    ("executing", "ambiguous"): Words(
        "doubt",
        "There was no clear answer, or the provider cannot say what became of a dead process's call.",
        "The next process writes it down; then a person decides.",
        (LOOK, OUTSIDE, f"{RESOLVE} ..."),
    ),
    ("ambiguous", "ambiguous"): Words(
        "doubt", "Asked again, and still nobody knows: only the reason is renewed.", _BY_ITSELF, (LOOK,)
    ),
    ("executing", "planned"): Words(
        "cleared", "A lookup found nothing under the key: it may be tried again.", _BY_ITSELF, (RUN,)
    ),
    ("ambiguous", "planned"): Words(
        "cleared",
        "A lookup found nothing, or a person says that it did not happen.",
        "A person's word is worth a new budget of attempts.",
        (OUTSIDE, f"{RESOLVE} not-done", 'lab.resolve(key, "not-done")'),
    ),
    ("confirmed", "compensated"): Words(
        "compensate",
        "It is undone by the provider's own compensation.",
        "A person asks for it.",
        ("lab.compensate(key)",),
    ),
    ("ambiguous", "compensated"): Words(
        "compensate",
        "The ledger allows it. Nothing here does it: who undoes an effect should know that it happened.",
        "Say first what became of it.",
        (f"{RESOLVE} confirmed --receipt ID", "lab.compensate(key)"),
    ),
}
