"""What must hold when a call went wrong while the process lived.

The invariants are those of `labkit.check.invariants`. A call fault changes what a run is held against:

- *No duplicate effect.* An author who calls again within a step makes an effect with another key. It counts as the
  same effect when target, operation and request are those of an effect that a fault-free run makes.
- *No lost effect.* A completed run needs every effect of a fault-free run. It is free of one that the provider refused
  for good, and of what would have come after it: going another way is right, because the refusal is definite. It is
  also free of one whose provider was away, if it made another effect instead. An unclear answer frees it of nothing.
- *No untracked effect.* A run that is closed although its last word on an executed effect is an unclear answer
  leaves an effect that only the provider knows of.
- *The recovered result.* With the fault alone, the state is the author's: an `except` branch may write down what it
  met. With a crash besides, the end has to be that of the fault-free run, or that of the run with the fault and no
  crash, with the effects of that one and no others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from labkit.check.evidence import Evidence
from labkit.check.invariants import Judged, Violation, judge
from labkit.model import TERMINAL
from labkit.provider.protocol import Entry

RESULT = "the recovered result equals that of a fault-free run"
UNTRACKED = "no untracked effect"
DONE = ("confirmed", "compensated")  # what our ledger says of an effect that it knows to have happened


def judge_alone(case: Judged) -> list[Violation]:
    """What a run broke that met a call fault and no crash, held against a fault-free run."""
    case, before = _with_the_names_of(case), case
    free = set(_freed(case))
    asked = case.evidence.approvals  # an `except` branch may ask a person
    needed = [entry for entry in case.reference.outside if entry.kind != "effect" or entry.subject not in free]
    found = judge(case._replace(reference=replace(case.reference, outside=needed, approvals=asked)))
    return [each for each in found if each.invariant != RESULT] + list(_unheard(before.evidence))


def judge_crashed(case: Judged) -> list[Violation]:
    """What a run broke that met a call fault and a crash, held against one run without a crash."""
    case, before = _with_the_names_of(case), case
    more = set(case.evidence.executed()) - set(case.reference.executed())
    others = [f"{subject} was executed, which the run without a crash does not do" for subject in sorted(more)]
    return [*judge(case), *(Violation(RESULT, text) for text in others), *_unheard(before.evidence)]


def _with_the_names_of(case: Judged) -> Judged:
    """The case, with an effect that only has another key under the name that it has in the reference."""
    theirs = {entry.subject: _order(entry) for entry in case.reference.outside if entry.kind == "effect"}
    ours = case.evidence.executed()
    renamed: dict[str, str] = {}
    for entry in case.evidence.outside:
        if entry.kind == "effect" and entry.subject not in theirs:
            same = [subject for subject, order in theirs.items() if order == _order(entry)]
            left = [subject for subject in same if not ours[subject] and subject not in renamed.values()]
            if same:
                renamed[entry.subject] = (left or same)[0]
    evidence = case.evidence
    named = [replace(entry, subject=renamed.get(entry.subject, entry.subject)) for entry in evidence.outside]
    settled = [entry for entry in evidence.effects if not _given_up(evidence, entry)]
    effects = [replace(entry, subject=renamed.get(entry.subject, entry.subject)) for entry in settled]
    return case._replace(evidence=replace(evidence, outside=named, effects=effects))


def _order(entry: Entry) -> tuple[str, str, bytes]:
    return entry.target, entry.operation, msgspec.json.encode(entry.request, order="sorted")


def _given_up(evidence: Evidence, entry: Any) -> bool:
    """True for a planned entry of our ledger that never arrived, because its provider was away."""
    return entry.status == "planned" and evidence.heard.get(entry.subject) == "away"


def _freed(case: Judged) -> Iterator[str]:
    """The effects of the reference that the run need not have made."""
    evidence, done = case.evidence, case.evidence.executed()
    usual = list(case.reference.executed())
    instead = set(done) - set(usual)
    refused = {entry.subject for entry in evidence.outside if entry.kind == "refused"}
    refused |= {subject for subject, how in evidence.heard.items() if how == "away" and instead}
    turned = [subject for subject in usual if subject in refused and not done[subject]]
    if turned:
        yield from usual[usual.index(turned[0]) :]


def _unheard(evidence: Evidence) -> Iterator[Violation]:
    if evidence.status not in TERMINAL:
        return
    known = {entry.subject for entry in evidence.effects if entry.status in DONE}
    done = evidence.executed()
    for subject, how in evidence.heard.items():
        if how == "unclear" and done[subject] and subject not in known:
            text = f"{subject} was executed, its call got no clear answer, and the run was closed as {evidence.status}"
            yield Violation(UNTRACKED, text)
