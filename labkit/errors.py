"""Every error the lab raises. Each says what happened, what is safe now and what to do next."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class LabError(Exception):
    """Base of all errors: `what` happened (with ids, expected and found), what is `safe`, what to do `next`."""

    def __init__(self, what: str, *, safe: str = "", next: str = "") -> None:
        self.what, self.safe, self.next = what, safe, next
        lines = [what, f"safe now: {safe}" if safe else "", f"next: {next}" if next else ""]
        super().__init__("\n".join(line for line in lines if line))


class InvalidInput(LabError):
    """Input was refused. Nothing was written."""


class InvalidState(LabError):
    """A state cannot be stored or cannot be read: not serialisable, too large, a secret, an unknown schema."""


class UnknownRun(LabError):
    """No run of this tenant has this id."""


class UnknownStep(LabError):
    """A run points at a step that the workflow does not have."""


class StaleWrite(LabError):
    """Another owner moved the run on, or the run is closed. This owner's write was refused."""


class StepFailed(LabError):
    """An author's step raised an error of its own."""


class Drift(LabError):
    """Replay asked for another call than the journal holds: the code no longer tells the recorded story."""


class ActivityFailed(LabError):
    """An activity raised an error. A step may catch it and go on; otherwise the activity is called again later."""


class EffectRejected(LabError):
    """An effect was refused for good: by its provider, or by us. `reason` is one of `REASONS`; it is never tried again.

    `repeats_effect`: another effect of the run has the same business identity.
    """

    REASONS = ("unauthenticated", "policy_refused", "invalid_request", "budget_spent", "gone", "repeats_effect")

    def __init__(self, reason: str, what: str, *, safe: str = "", next: str = "") -> None:
        self.reason = reason
        super().__init__(what, safe=safe, next=next)


class EffectUnknown(LabError):
    """A provider did not answer clearly: the effect may or may not have happened."""


class ProviderAway(LabError):
    """Nobody was there to take a call: nothing was sent, so nothing was done, and it may be tried again."""


class Unsupported(LabError):
    """This engine, policy or provider does not offer the operation."""


def known(kind: str, name: str, names: Iterable[str]) -> str:
    """`name` when it is one of `names`; raise InvalidInput that suggests the nearest."""
    choices = list(names)
    if name in choices:
        return name
    near = get_close_matches(str(name), choices, 1, 0.6)
    raise InvalidInput(
        f"there is no {kind} {name!r}: expected one of {', '.join(choices)}",
        safe="nothing was run",
        next=f"did you mean {near[0]}?" if near else f"name one of the {len(choices)}",
    )
