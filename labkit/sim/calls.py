"""Every call fault at every effect call of a run, alone and with every single crash."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from labkit.check.evidence import Evidence, visit_of
from labkit.check.fault_theory import MARKS, allowed, fault_rule
from labkit.check.faulted import RESULT
from labkit.check.invariants import Violation
from labkit.check.repeats import same_request
from labkit.check.theory import REPEATS, RULES
from labkit.effects.key import effect_of
from labkit.errors import InvalidInput
from labkit.own_engines import engine_class
from labkit.provider.faults import CALL_FAULTS, UNCLEAR, Fault, faults_for
from labkit.scenario import Scenario, names_of
from labkit.sim.counterexample import Counterexample
from labkit.sim.judging import Judge, committed
from labkit.sim.lives import Life, Simulation, first_life

ALL = "all"
COUNTED = {"duplicated": "no duplicate effect", "lost": "no lost effect", "untracked": "no untracked effect"}
Wanted = str | Sequence[str] | None


class FaultCell(msgspec.Struct, kw_only=True):
    """What one call fault at one effect did: `schedules` are the fault alone and with each single crash.

    `alone` names what the fault did without a crash: duplicated, lost, untracked, ambiguous, or the invariant that it
    broke. `invariants` counts schedules by the invariant that they broke. `expected` is the rule of theory, empty where
    the workflow itself deals with the error. `unexpected` counts the schedules that theory did not foresee. `questions`
    are effects that may be one, and that a run without the fault does not make.
    """

    engine: str
    policy: str
    provider: str
    fault: str
    effect: str
    call: str
    schedules: int
    alone: list[str]
    invariants: dict[str, int]
    ambiguous: int
    expected: str
    unexpected: int
    counterexample: Counterexample | None
    questions: list[str] = []

    @property
    def name(self) -> str:
        """The fault as a reader knows it."""
        return fault_name(self.fault)


def broken_by(cells: Iterable[FaultCell]) -> list[str]:
    """One reason for each fault and each invariant that it broke: how often, and at which effects."""
    return _told((cell, rule, count) for cell in cells for rule, count in cell.invariants.items())


def left_by(cells: Iterable[FaultCell]) -> list[str]:
    """One reason for each fault that left an effect for a person, and for each question that it raised."""
    waits = [(cell, "an effect was left for a person", cell.ambiguous) for cell in cells if cell.ambiguous]
    return _told([*waits, *((cell, question, 1) for cell in cells for question in cell.questions)])


def _told(found: Iterable[tuple[FaultCell, str, int]]) -> list[str]:
    times: Counter[tuple[str, str]] = Counter()
    where: dict[tuple[str, str], list[str]] = {}
    for cell, what, count in found:
        times[cell.name, what] += count
        where.setdefault((cell.name, what), []).append(cell.effect)
    return [
        f"{name}: {what} ({times[name, what]}x; at {', '.join(dict.fromkeys(effects))})"
        for (name, what), effects in where.items()
    ]


def fault_name(fault: str) -> str:
    """A call fault in words: `time-out after`."""
    return CALL_FAULTS[fault].split(":")[0]


def wanted(asked: Wanted) -> tuple[str, ...]:
    """The faults that `asked` names: none for None, every one for `all`. Raises InvalidInput for an unknown name."""
    if asked is None:
        return ()
    every = asked == ALL or (not isinstance(asked, str) and ALL in asked)
    names = names_of("call fault", () if every else asked, tuple(CALL_FAULTS))
    if not asked:
        raise InvalidInput(
            "call_faults names no fault", safe="nothing was run", next=f"all, or some of {', '.join(CALL_FAULTS)}"
        )
    return names


class End(NamedTuple):
    """How so many schedules (`times`) ended, of which `schedule` is one: what broke, and whether a person decides."""

    schedule: tuple[str, ...]
    times: int
    violations: list[Violation]
    ambiguous: bool

    def seen(self) -> set[str]:
        """What happened, by the names that a cell counts, and other invariants by their own."""
        names = {rule: name for name, rule in COUNTED.items()}
        found = {names.get(each.invariant, each.invariant) for each in self.violations}
        return found | ({"ambiguous"} if self.ambiguous else set())


def sweep(
    scenario: Scenario, usual: Evidence, faults: Sequence[str], progress: Callable[[int], None] | None = None
) -> list[FaultCell]:
    """A cell for each of `faults` at each effect call of `usual`, the run of `scenario` without a crash."""
    cells: list[FaultCell] = []
    known = same_request(usual.outside)
    for target, operation, nth, subject in calls_of(usual) if faults else ():
        for fault in faults:
            with_it = replace(scenario, faults=(*scenario.faults, *faults_for(fault, target, operation, nth, subject)))
            judge = Judge(with_it)
            cells.append(_cell(judge, usual, subject, fault))
            cells[-1].questions = [each for each in judge.questions if each not in known]
            if progress:
                progress(cells[-1].schedules)
    return cells


def ends_of(judge: Judge) -> list[End]:
    """How a scenario ends without a crash, and with every single one."""
    own = judge.reference
    ends = [End((), 1, judge.broken, _waits(own))]
    for index, count in Counter(own.image_of).items():
        image, tap = own.images[index], own.taps[own.image_of.index(index)]
        life = judge.simulation.live(image, keep_images=False)
        violations, _ = judge.judge(life, image, committed(own, index), image.untracked)
        ends.append(End((str(tap),), count, violations, _waits(life)))
    return ends


def faults_named(scenario: Scenario, named: Sequence[str]) -> tuple[Fault, ...]:
    """The faults that are `named` NAME or NAME:EFFECT, at an effect of the scenario's run, the first one by default.

    Raises InvalidInput for an unknown name, and for an effect that a run without a crash does not make.
    """
    usual = first_life(Simulation(scenario)).evidence if named else None
    calls = {effect_of(each[-1]): each for each in (calls_of(usual) if usual else ())}
    found: list[Fault] = []
    for text in named:
        name, _, effect = text.partition(":")
        if effect not in calls and (effect or not calls):
            raise InvalidInput(
                f"fault {text!r} is to strike {effect or 'an effect'}, which the run does not make",
                safe="nothing was run",
                next=f"name one of {', '.join(calls)}" if calls else "take a workflow with an effect",
            )
        found += faults_for(name, *calls[effect or next(iter(calls))])
    return tuple(found)


def calls_of(usual: Evidence) -> Iterator[tuple[str, str, int, str]]:
    """Each effect call of a run: target, operation, the how many-th of these, and its subject."""
    count: Counter[tuple[str, str]] = Counter()
    for entry in usual.outside:
        if entry.kind == "effect":
            count[entry.target, entry.operation] += 1
            yield entry.target, entry.operation, count[entry.target, entry.operation], entry.subject


def _cell(judge: Judge, usual: Evidence, subject: str, fault: str) -> FaultCell:
    scenario, ends = judge.scenario, ends_of(judge)
    struck = scenario.faults[-1]
    place = (fault, scenario.policy, judge.simulation.world.capability(struck.target))
    rule = None if _dealt_with(fault, scenario.policy, judge.reference) else fault_rule(*place)
    others = {judge.simulation.world.capability(target) for target, *_ in calls_of(usual)}
    alone = {MARKS[rule]} if rule in MARKS else set()
    if rule and fault in (*UNCLEAR, "away") and _again(judge, usual, subject):
        alone.add(MARKS[REPEATS])
    invariants: Counter[str] = Counter()
    for end in ends:
        invariants.update(dict.fromkeys((violation.invariant for violation in end.violations), end.times))
    worst = next((end for end in ends if end.violations), None)
    return FaultCell(
        engine=scenario.engine,
        policy=scenario.policy,
        provider=scenario.provider,
        fault=fault,
        effect=effect_of(subject),
        call=f"{struck.target}.{struck.operation}#{struck.nth}",
        schedules=sum(end.times for end in ends),
        alone=sorted(ends[0].seen()),
        invariants=dict(invariants),
        ambiguous=sum(end.times for end in ends if end.ambiguous),
        expected=rule or "",
        unexpected=sum(end.times for end in ends if rule and not _foreseen(end, alone, allowed(*place, others))),
        counterexample=Counterexample.of(scenario, list(worst.schedule), worst.violations) if worst else None,
    )


def _again(judge: Judge, usual: Evidence, subject: str) -> bool:
    """True when the step is entered again, and an effect that it made before this one is executed again."""
    scenario, capability = judge.scenario, judge.simulation.world.capability
    visit = [each for each in calls_of(usual) if visit_of(each[-1]) == visit_of(subject)]
    before = takewhile(lambda each: each[-1] != subject, visit)
    twice = any(RULES[scenario.policy, capability(target)]["W4"] == REPEATS for target, *_ in before)
    return twice and not engine_class(scenario.engine).journals


def _foreseen(end: End, alone: set[str], may: set[str]) -> bool:
    """Alone, a fault does what its rule says; with a crash, nothing that neither of them may do."""
    seen = end.seen()
    if not end.schedule:
        return seen == alone
    return seen <= may | ({RESULT} if "duplicated" in seen else set())


def _dealt_with(fault: str, policy: str, own: Life) -> bool:
    """True when a step caught the error: neither did the refusal close the run, nor did a worker have to resume it."""
    if fault == "refused":
        return own.evidence.status != "failed"
    passes = Counter(str(tap).partition("#")[0] for tap in own.taps)
    waits = sum(count for tap, count in passes.items() if tap.endswith("/wait:after"))
    resumed = passes["run/claim:after"] - 1 - waits + own.evidence.status.startswith("waiting")
    raised = fault == "away" or (fault in UNCLEAR and policy in ("bare", "keyed"))
    return raised and not resumed


def _waits(life: Life) -> bool:
    return life.evidence.status == "waiting_for_person"
