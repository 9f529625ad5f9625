"""What theory expects of a call fault, on top of the rules for a crash: a lost answer is as good as a lost process.

The rules are for a workflow that lets the error pass, so that a worker resumes the run. What an `except` branch makes
of it is the author's, and no rule foresees it.
"""

from __future__ import annotations

from collections.abc import Iterable

from labkit.check.theory import AMBIGUOUS, CLEAN, IF_TRIED, REPEATS, RULES

MARKS = {REPEATS: "duplicated", AMBIGUOUS: "ambiguous"}


def fault_rule(fault: str, policy: str, provider: str) -> str | None:
    """What one `fault` does to the effect at hand: clean, repeats or ambiguous; None for a policy without rules."""
    rules = RULES.get((policy, provider))
    if rules is None:
        return None
    if fault in ("timeout_after", "reply_lost"):
        return rules["W3"]  # done, and nobody heard of it: as when the process had died
    if fault == "timeout_before":
        return AMBIGUOUS if rules["W2"] == IF_TRIED else CLEAN  # the caller cannot tell it from the two above
    if fault == "reply_twice":  # only a provider that recognises a key can help: the caller notices nothing
        return CLEAN if provider == "dedup" and policy != "bare" else REPEATS
    return CLEAN  # refused, away: the caller knows that nothing was done


def allowed(fault: str, policy: str, provider: str, others: Iterable[str] = ()) -> set[str]:
    """What may come of the fault with one crash besides, which may strike an effect at one of the `others`, too: what
    each of them may do, and nothing else."""
    rules = [rule for each in {provider, *others} for rule in RULES[policy, each].values()]
    found = {MARKS[each] for each in (fault_rule(fault, policy, provider), *rules) if each in MARKS}
    found |= {"ambiguous"} if IF_TRIED in rules else set()
    return found | ({"untracked"} if policy in ("bare", "keyed") else set())
