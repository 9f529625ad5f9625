"""Which crash window a tap is in. Read from the taps that one process passed, never from an engine.

W1 before the intent is committed; W2 intent committed, not yet called; W3 executed at the provider, reply lost;
W4 reply received, result not yet committed; W5 result committed. Everything else is `between`. Where a policy keeps no
intent, W1 is the moment after the commit before, and W2 what follows until the call arrives.
"""

from __future__ import annotations

from collections.abc import Iterable

from labkit.taps import Tap

# In words that also hold for a policy that notes nothing before it calls.
MEANING = {
    "W1": "before the call is noted",
    "W2": "about to call, not yet called",
    "W3": "executed at the provider, reply lost",
    "W4": "reply received, result not yet committed",
    "W5": "result committed",
    "between": "no effect at hand",
}
WINDOWS = tuple(MEANING)
INTENT = ("intent", "attempt", "cleared")
PROVIDER_CALLS = ("call", "lookup")


def windows(taps: Iterable[Tap]) -> list[str]:
    """The window of each tap that one process passed, in order.

    The effects are those whose provider was called. The commit that leads into an effect's step is W1 of that
    effect, unless it is W5 of the effect before.
    """
    passed = list(taps)
    last_call = {tap.step: index for index, tap in enumerate(passed) if tap.operation in PROVIDER_CALLS}
    found: list[str] = []
    step, window = "", ""
    for index, tap in enumerate(passed):
        if tap.step not in last_call:
            found.append("W1" if _leads_in(passed, index, last_call) else "between")
            continue
        if tap.step != step:
            step, window = tap.step, "W1"
        window = _window(tap, window, called_later=index < last_call[tap.step])
        found.append(window)
    return found


def acknowledged(taps: Iterable[Tap]) -> list[str]:
    """The steps whose commit was acknowledged."""
    return [tap.step for tap in taps if tap.operation == "commit" and tap.phase == "after"]


def _leads_in(taps: list[Tap], index: int, effect_steps: dict[str, int]) -> bool:
    """True for the durable write after which only an effect's step comes."""
    following = next((tap.step for tap in taps[index + 1 :]), "")
    return taps[index].phase == "after" and following in effect_steps


def _window(tap: Tap, window: str, *, called_later: bool) -> str:
    if tap.operation == "call":
        return {"before": "W2", "executed": "W3", "after": "W4"}[tap.phase]
    if tap.phase == "before" or tap.operation == "lookup":
        return window
    if tap.operation == "doubt":
        return "W3"
    if tap.operation in INTENT or (tap.operation == "commit" and called_later):
        return "W2"
    return "W5"
