"""Every single crash of a recorded trajectory: calls made twice, lost or left ambiguous, model calls paid again."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import msgspec

from labkit.check.evidence import Evidence, step_of
from labkit.check.invariants import Judged, judge
from labkit.check.verdict import missing, verdict
from labkit.scenario import Scenario
from labkit.sim.lives import Image, Life, Simulation, first_life
from labkit.trajectory.accidents import Happened, what_happened
from labkit.trajectory.model import Trajectory
from labkit.trajectory.workflow import as_workflow, ask_model, plan

MODEL = ask_model.__name__


class CallCount(msgspec.Struct):
    """A call, by the name of its step, and in how many schedules it happened to it."""

    call: str
    schedules: int


class Repeated(msgspec.Struct):
    """Model calls that were paid again: the most after one crash, and the sum over all schedules."""

    max: int = 0
    total: int = 0


class Row(msgspec.Struct, kw_only=True):
    """One trajectory on one engine under one policy, crashed once at every tap: `schedules` of them.

    `calls` are tool calls, `effects` those that were made and change the world. `duplicated` calls were executed twice,
    `lost` ones never although the run is completed, `ambiguous` ones wait for a person, `untracked` ones were known to
    nobody but the provider at the crash. `in_doubt` ones the recording itself leaves in doubt, before any crash.
    `invariants` counts the schedules that broke each.

    `verdict` is `invalid` if any was broken, or if the recording itself holds a duplicate; `unknown` if an effect was
    left ambiguous, or the recording leaves something open; else `valid`. `reasons` says why it is not valid.
    """

    trajectory: str
    engine: str
    policy: str
    provider: str
    calls: int
    effects: int
    schedules: int
    duplicated: list[CallCount]
    lost: list[CallCount]
    ambiguous: list[CallCount]
    untracked: list[CallCount]
    in_doubt: list[str]
    model_calls_repeated: Repeated
    invariants: dict[str, int]
    verdict: str
    reasons: list[str]


class Harm(NamedTuple):
    """What one crash led to: the steps of the calls concerned, model calls paid again, invariants broken."""

    duplicated: set[str]
    lost: set[str]
    ambiguous: set[str]
    untracked: set[str]
    model_calls: int
    invariants: set[str]


def crash_everywhere(
    trajectory: Trajectory, effects: set[str], engine: str, policy: str, provider: str, happened: Happened | None = None
) -> Row:
    """Crash the trajectory at every tap, one tap a schedule, and recover each time in a fresh process.

    `happened` is what its recording holds; without it, the recording is read for it, and two effects are never one.
    """
    happened = happened or what_happened(trajectory, effects)
    workflow = as_workflow(trajectory, effects, provider)
    simulation = Simulation(Scenario(workflow=workflow, inputs={}, engine=engine, policy=policy))
    reference = first_life(simulation)
    counts, repeated = _counted(simulation, reference)
    called = {name: [CallCount(*item) for item in sorted(count.items())] for name, count in counts.items()}
    broken = dict(sorted(counts["invariants"].items()))
    planned = [each for each in plan(trajectory, effects) if each.call and each.kind == "effect"]
    wrong, doubt = _reasons(broken, called["ambiguous"], happened)
    doubt += missing(reference.evidence, reference.taps)
    return Row(
        trajectory=trajectory.id,
        engine=engine,
        policy=policy,
        provider=provider,
        calls=len(trajectory.calls),
        effects=len(planned),
        schedules=len(reference.taps),
        duplicated=called["duplicated"],
        lost=called["lost"],
        ambiguous=called["ambiguous"],
        untracked=called["untracked"],
        in_doubt=[each.step for each in planned if each.call and each.call.in_doubt],
        model_calls_repeated=repeated,
        invariants=broken,
        verdict=verdict(wrong, doubt),
        reasons=wrong + doubt,
    )


def _counted(simulation: Simulation, reference: Life) -> tuple[dict[str, Counter[str]], Repeated]:
    """In how many schedules each harm came to each call, and model calls were paid again."""
    counts = {name: Counter[str]() for name in ("duplicated", "lost", "ambiguous", "untracked", "invariants")}
    repeated = Repeated()
    # Taps between which nothing durable changed leave the same image, so one recovery answers for all of them.
    for index, schedules in sorted(Counter(reference.image_of).items()):
        image = reference.images[index]
        harm = harm_of(simulation.live(image, keep_images=False), image, reference)
        for name, count in counts.items():
            count.update(dict.fromkeys(getattr(harm, name), schedules))
        repeated.max = max(repeated.max, harm.model_calls)
        repeated.total += harm.model_calls * schedules
    return counts, repeated


def _reasons(broken: dict[str, int], ambiguous: list[CallCount], happened: Happened) -> tuple[list[str], list[str]]:
    """What is wrong in a row, and what is in doubt."""
    wrong = [f"{name}: broken in {times:,} schedule{'' if times == 1 else 's'}" for name, times in broken.items()]
    wrong += [
        f"the recording itself makes {each.calls[0].call} {len(each.calls)} times" for each in happened.duplicates
    ]
    doubt = [f"ambiguous after a crash: {', '.join(each.call for each in ambiguous)}"] if ambiguous else []
    doubt += happened.open
    return wrong, doubt


def harm_of(life: Life, image: Image, reference: Life) -> Harm:
    """What a crash that left `image` led to, when `life` recovered from it and `reference` never crashed."""
    untracked = {step_of(subject) for subject in image.untracked}
    found, whole = life.evidence, reference.evidence
    if life.error:
        return Harm(set(), set(), set(), untracked, 0, {"every recovery ends"})
    lost = whole.executed() - found.executed() if found.status == "completed" else Counter[str]()
    judged = Judged(evidence=found, reference=whole, at_crash=image.status, untracked=image.untracked)
    return Harm(
        duplicated={step_of(subject) for subject in found.duplicated()},
        lost={step_of(subject) for subject in lost},
        ambiguous={entry.step for entry in found.effects if entry.status == "ambiguous"},
        untracked=untracked,
        model_calls=_model_calls_repeated(found),
        invariants={violation.invariant for violation in judge(judged)},
    )


def _model_calls_repeated(evidence: Evidence) -> int:
    calls = [entry.subject for entry in evidence.outside if entry.kind == "activity" and entry.operation == MODEL]
    return len(calls) - len(set(calls))
