"""What theory expects of a crash, written from the protocols and not from the engines.

The rule table says what one crash in one window does to an effect, for each policy and provider. `Theory` derives
from it what a schedule leads to, given the calls of each step in order: an effect has neighbours, and each has its own
window. The matrix compares that, schedule by schedule, with what was observed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from labkit.check.follow import Follower, Position, Rest, Standing, rest
from labkit.check.script import Script
from labkit.check.windows import windows
from labkit.taps import Tap

CLEAN, REPEATS, AMBIGUOUS, IF_TRIED = "clean", "repeats", "ambiguous", "ambiguous if marked as tried"
_SAFE = {"W1": CLEAN, "W2": CLEAN, "W3": CLEAN, "W4": CLEAN, "W5": CLEAN, "between": CLEAN}
_TWICE = {**_SAFE, "W3": REPEATS, "W4": REPEATS}
_NOBODY_KNOWS = {**_SAFE, "W2": IF_TRIED, "W3": AMBIGUOUS, "W4": AMBIGUOUS}

RULES: dict[tuple[str, str], dict[str, str]] = {
    ("bare", "dedup"): _TWICE,  # without a key there is nothing to recognise a repeat by
    ("bare", "lookup"): _TWICE,
    ("bare", "neither"): _TWICE,
    ("keyed", "dedup"): _SAFE,  # the provider returns the first receipt
    ("keyed", "lookup"): _TWICE,  # it could be asked, but nobody asks
    ("keyed", "neither"): _TWICE,
    ("ledger", "dedup"): _SAFE,  # the intent leads to the same key again
    ("ledger", "lookup"): _SAFE,  # the provider is asked before anything is repeated
    ("ledger", "neither"): _NOBODY_KNOWS,  # stops instead of guessing
    ("outbox", "dedup"): _SAFE,
    ("outbox", "lookup"): _SAFE,
    ("outbox", "neither"): _NOBODY_KNOWS,
}
NOWHERE = Position()
TRACKS = ("ledger", "outbox")  # policies whose own database knows of an effect before it is tried


class Crashed(NamedTuple):
    """One crash of a schedule: the tap, its window in that process, and where the process stood in its script."""

    tap: Tap
    window: str
    standing: Standing


class Expected(NamedTuple):
    """What theory expects of one schedule."""

    duplicated: bool
    ambiguous: bool
    untracked: bool
    activities_repeated: int
    lost: bool = False  # no protocol here ever closes a run without its effects


FORESEEN = {
    "duplicated": ("no duplicate effect", "the recovered result equals that of a fault-free run"),
    "untracked": ("no untracked effect",),
}


def foreseen(expected: Expected) -> set[str]:
    """The invariants that theory says a schedule breaks; any other that it breaks is unexpected."""
    return {name for count, names in FORESEEN.items() if getattr(expected, count) for name in names}


class Outlook(NamedTuple):
    """What some crashes have led to so far. `lost`: a process went another way than without a crash."""

    position: Position = NOWHERE
    duplicated: bool = False
    untracked: bool = False
    made: int = 0
    reached: int = 0
    lost: bool = False


class Theory:
    """What theory expects of the crashes of one scenario.

    It is told what the run calls without a crash, whether the engine journals each call's result (else it keeps them
    with the step), and the policy. A crash inside a step is met with these rules:

    - a call whose result is not kept is made again, from the first one of the step that is not kept;
    - an activity that is made again is paid again; a step that waits is entered again, too, without any crash;
    - an effect that is met again obeys `RULES`, each effect of the step in its own window: without a ledger, its result
      counts as kept when the engine has it; with one, when the ledger has it;
    - where nobody knows what became of an effect, the run stops, and what follows in the step is not met.
    """

    def __init__(self, script: Script | None, *, journals: bool, policy: str) -> None:
        self._script, self._journals, self._policy = script, journals, policy
        self._tells = script is not None and (policy, "dedup") in RULES
        self._rests: dict[Position, Rest] = {}

    def crashes(self, taps: Sequence[Tap], position: Position = NOWHERE) -> list[Crashed]:
        """Every tap that one process passed, which began at `position`, as a crash."""
        standings = [Standing(position, lost=True)] * len(taps)
        if self._script and self._tells:
            follower = Follower(self._script, position, journals=self._journals, policy=self._policy)
            standings = follower.standings(taps)
        return [Crashed(*crash) for crash in zip(taps, windows(taps), standings, strict=True)]

    def after(self, outlook: Outlook, standing: Standing) -> Outlook:
        """What is to be expected when one more process has died where it stood."""
        position, duplicated, untracked = standing.position, outlook.duplicated, outlook.untracked
        duplicated |= any(self._rule(capability, "W4") == REPEATS for capability in standing.again)
        for effect in standing.opened if position.stopped is None else ():
            untracked |= effect.executed and self._policy not in TRACKS
            outcome = self._rule(effect.capability, effect.window)
            if outcome == AMBIGUOUS or (outcome == IF_TRIED and effect.tried):
                position = position._replace(stopped=-1 if self._policy == "outbox" else effect.call)
                break
            duplicated |= outcome == REPEATS
        return Outlook(
            position,
            duplicated,
            untracked,
            outlook.made + standing.made,
            max(outlook.reached, standing.reached),
            outlook.lost or standing.lost,
        )

    def expected(self, outlook: Outlook) -> Expected | None:
        """What should follow when the next process is left alone.

        None for a policy without rules, and for a run that has left the way it goes without a crash.
        """
        if outlook.lost or not self._tells or self._script is None:
            return None
        position = outlook.position
        if position not in self._rests:
            self._rests[position] = rest(self._script, position, journals=self._journals)
        following = self._rests[position]
        return Expected(
            duplicated=outlook.duplicated or any(self._rule(each, "W4") == REPEATS for each in following.again),
            ambiguous=position.stopped is not None,
            untracked=outlook.untracked,
            activities_repeated=outlook.made + following.made - max(outlook.reached, following.reached),
        )

    def _rule(self, capability: str, window: str) -> str:
        return RULES[self._policy, capability][window]
