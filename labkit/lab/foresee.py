"""Which taps the next process of a run would pass, found out on a copy: nothing real is touched."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from labkit.check.windows import PROVIDER_CALLS, WINDOWS, places
from labkit.errors import InvalidInput, LabError
from labkit.provider.protocol import Entry
from labkit.scenario import Scenario, drive
from labkit.store.sqlite import SqliteStore
from labkit.taps import Tap, TapCounter, listening

LAST_OF = ("W1", "W2")  # of these windows the last tap is meant by the window's name, of the others the first


def foresee(scenario: Scenario, database: bytes = b"", outside: Sequence[Entry] = ()) -> list[Tap]:
    """The taps of a process that starts or resumes the scenario's run and is not disturbed.

    `database` is an image of the lab's database, `outside` the provider's ledger; empty for a first process. When
    the workflow itself fails, the taps go as far as it came.
    """
    store, world = SqliteStore(), scenario.twin()
    if database:
        store.restore(database)
    world.ledger.restore(tuple(outside))
    taps: list[Tap] = []
    count = TapCounter()
    with listening(lambda label, phase: taps.append(count(label, phase))):
        try:
            drive(scenario.runner(store, world), scenario.run_id, scenario.inputs)
        except LabError:
            pass  # what it passed is still the answer
        finally:
            store.close()
    return taps


def choose_tap(taps: list[Tap], at: str, effect: str | None = None) -> Tap:
    """The tap that `at` means: a tap by name, or `W1` to `W5` of an effect, the first one ahead by default.

    An effect is named as in taps: `pay`, or `pay/2` for the second one of a step. Raises InvalidInput, naming near
    taps, when the process would not pass it.
    """
    at = str(at)
    at = at.upper() if at.upper() in WINDOWS else at
    if at not in WINDOWS:
        if ":" not in at:
            raise InvalidInput(
                f"{at!r} is neither a window (W1 to W5) nor a tap (such as execute_refund/call:executed#1)",
                safe="nothing was run",
                next="labkit taps lists taps with their windows",
            )
        wanted = Tap.parse(at)
        if wanted in taps:
            return wanted
        near = get_close_matches(str(wanted), [str(tap) for tap in taps], 3, 0.5) or [str(tap) for tap in taps[-3:]]
        raise _unreached(str(wanted), f"near taps: {', '.join(near)}")
    effects = list(dict.fromkeys(tap.effect for tap in taps if tap.operation in PROVIDER_CALLS))
    if effect is not None and effect not in effects:
        raise _unreached(f"an effect {effect!r}", f"effects ahead: {', '.join(effects) or 'none'}")
    named = effect or (effects[0] if effects else "")
    placed = [(tap, place) for tap, place in zip(taps, places(taps), strict=True) if place[:2] == (at, named)]
    if not placed:
        raise _unreached(f"window {at} of {named or 'any effect'}", "labkit taps lists taps with their windows")
    inside = [tap for tap, place in placed if place.visit == placed[0][1].visit]
    return inside[-1] if at in LAST_OF else inside[0]


def _unreached(what: str, hint: str) -> InvalidInput:
    return InvalidInput(f"the next process would not pass {what}", safe="nothing was run", next=hint)
