"""What a run repeats when nothing crashes: no crash may be blamed for that."""

from __future__ import annotations

from labkit.check.evidence import Evidence
from labkit.check.invariants import Judged, Violation, judge

REPEATS = ("no duplicate effect", "an effect happens once for its business identity")


def repeated_without_crash(reference: Evidence) -> list[Violation]:
    """The effects that the run without a crash makes more than once."""
    return [each for each in judge(Judged(reference, reference)) if each.invariant in REPEATS]


def explained(violations: list[Violation], reference: Evidence) -> list[Violation]:
    """The same, each with a word about the approval whose step has run again, where that repeated an effect."""
    return [
        Violation(each.invariant, f"{each.text}{_after_approval(each.text, reference)}")
        if each.invariant == "no duplicate effect"
        else each
        for each in violations
    ]


def _after_approval(text: str, reference: Evidence) -> str:
    """Why an effect was executed again: a step runs again from its top once its question is answered."""
    subject = text.partition(" ")[0]
    for asked in reference.approvals:
        position, step = asked.request_id.removeprefix(f"{asked.run_id}.").split(".")[:2]
        if f"{subject}.".startswith(f"{asked.run_id}/{position}.{step}."):
            return f": after approval {asked.request_id} alone, its step runs again from its top"
    return ""
