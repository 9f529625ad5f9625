"""Which taps the next process of a run would pass, found out on a copy: nothing real is touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from labkit.check.windows import WINDOWS
from labkit.errors import InvalidInput, LabError
from labkit.lab.crash_points import CrashPoint, effects_of, find
from labkit.provider.protocol import Entry, FaultsImage
from labkit.provider.twin import Image
from labkit.scenario import Scenario, drive
from labkit.store.sqlite import SqliteStore
from labkit.taps import Tap, TapCounter, listening

LISTED = "labkit taps lists taps with their windows"


def foresee(
    scenario: Scenario, database: bytes = b"", outside: Sequence[Entry] = (), seen: FaultsImage | None = None
) -> list[Tap]:
    """The taps of a process that starts or resumes the scenario's run and is not disturbed.

    `database` is an image of the lab's database, `outside` the provider's ledger; empty for a first process. `seen`
    is what a provider that is told to misbehave remembers. When
    the workflow itself fails, the taps go as far as it came.
    """
    store, world = SqliteStore(), scenario.twin()
    if database:
        store.restore(database)
    world.restore(Image(tuple(outside), seen or FaultsImage()))
    taps: list[Tap] = []
    count = TapCounter()
    with listening(lambda label, phase: taps.append(count(label, phase))), scenario.memory().process():
        try:
            drive(scenario.runner(store, world), scenario.run_id, scenario.inputs, again=scenario.again)
        except LabError:
            pass  # what it passed is still the answer
        finally:
            store.close()
    return taps


def choose_tap(taps: Sequence[Tap], at: str, effect: str | None = None) -> Tap:
    """The tap that `at` means: a tap by name, or `W1` to `W5` of an effect, the first one ahead by default.

    An effect is named as in taps: `pay`, or `pay/2` for the second one of a step; `pay#2` is the second time that the
    process comes to it. `W3 of pay` says both at once. Raises InvalidInput, naming near taps, when the process would
    not pass it.
    """
    point = chosen(taps, at, effect)
    found = find(taps, point)
    assert found is not None, "a chosen point is one that the process has"
    return taps[found]


def chosen(taps: Sequence[Tap], at: str, effect: str | None = None) -> CrashPoint:
    """The point that `at` and `effect` mean, as for `choose_tap`, which raises the same errors."""
    point = asked(str(at), effect, effects_of(taps))
    if find(taps, point) is None:
        if point.effect or point.at in WINDOWS:
            raise _unreached(f"window {point.at} of {point.effect or 'any effect'}", LISTED)
        near = get_close_matches(point.at, [str(tap) for tap in taps], 3, 0.5) or [str(tap) for tap in taps[-3:]]
        raise _unreached(point.at, f"near taps: {', '.join(near)}")
    return point


def chosen_by_any(passed: Mapping[str, Sequence[Tap]], at: str, effect: str | None = None) -> CrashPoint:
    """The point that `at` and `effect` mean to several engines, by the taps of each; one of them has it.

    Raises the errors of `choose_tap` when none has it.
    """
    effects = list(dict.fromkeys(name for taps in passed.values() for name in effects_of(taps)))
    point = asked(str(at), effect, effects)
    for taps in passed.values():
        if find(taps, point) is not None:
            return point
    return chosen(next(iter(passed.values())), at, effect)


def asked(at: str, effect: str | None, effects: Sequence[str]) -> CrashPoint:
    """What `at` and `effect` say, among these `effects`. Raises InvalidInput for no point, or no effect of these."""
    point = CrashPoint.parse(at)
    if point.effect:
        at, effect = point
    at = at.upper() if at.upper() in WINDOWS else at
    if at not in WINDOWS:
        if ":" not in at:
            raise InvalidInput(
                f"{at!r} is neither a window (W1 to W5) nor a tap (such as execute_refund/call:executed#1)",
                safe="nothing was run",
                next=LISTED,
            )
        return CrashPoint(str(Tap.parse(at)))
    if effect is not None and effect not in effects:
        raise _unreached(f"an effect {effect!r}", f"effects ahead: {', '.join(effects) or 'none'}")
    return CrashPoint(at, effect or (effects[0] if effects else ""))


def _unreached(what: str, hint: str) -> InvalidInput:
    return InvalidInput(f"the next process would not pass {what}", safe="nothing was run", next=hint)
