"""Every call fault at every effect call of a run, alone and with every single crash."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from labkit.check.evidence import Evidence
from labkit.check.fault_theory import MARKS, allowed, fault_rule
from labkit.check.invariants import Violation
from labkit.effects.key import effect_of
from labkit.errors import InvalidInput
from labkit.provider.faults import CALL_FAULTS, UNCLEAR, faults_for
from labkit.scenario import Scenario, names_of
from labkit.sim.counterexample import Counterexample
from labkit.sim.lives import Life

ALL = "all"
DUPLICATED = ("duplicated", "no duplicate effect")
COUNTED = dict([DUPLICATED, ("lost", "no lost effect"), ("untracked", "no untracked effect")])
Wanted = str | Sequence[str] | None


class FaultCell(msgspec.Struct, kw_only=True):
    """What one call fault at one effect did: `schedules` are the fault alone and with each single crash.

    `alone` names what the fault did without a crash: duplicated, lost, untracked, ambiguous, or the invariant that it
    broke. `invariants` counts schedules by the invariant that they broke. `expected` is the rule of theory, empty where
    the workflow itself deals with the error. `unexpected` counts the schedules that theory did not foresee.
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

    @property
    def name(self) -> str:
        """The fault as a reader knows it."""
        return fault_name(self.fault)

    def reasons(self) -> list[str]:
        """What was broken, and how often."""
        return [f"{self.name} at {self.effect}: {rule} ({count}x)" for rule, count in self.invariants.items()]

    def left(self) -> list[str]:
        """What was left open."""
        count = self.ambiguous
        return [f"{self.name} at {self.effect}: an effect was left for a person ({count}x)"] if count else []


def fault_name(fault: str) -> str:
    """A call fault in words: `time-out after`."""
    return CALL_FAULTS[fault].split(":")[0]


def wanted(asked: Wanted) -> tuple[str, ...]:
    """The faults that `asked` names: none for None, every one for `all`. Raises InvalidInput for an unknown name."""
    if asked is None:
        return ()
    names = names_of("call fault", () if asked == ALL else asked, tuple(CALL_FAULTS))
    if not asked:
        raise InvalidInput(
            "call_faults names no fault", safe="nothing was run", next=f"all, or some of {', '.join(CALL_FAULTS)}"
        )
    return names


class Met(msgspec.Struct, kw_only=True):
    """How the lives of a scenario with one fault ended: `alone` without a crash, `crashed` with each single one.

    Each is a schedule, how many lead to the same end, the violations, and whether an effect was left for a person.
    """

    own: Life
    usual: Evidence
    alone: tuple[list[Violation], bool]
    crashed: list[tuple[tuple[str, ...], int, list[Violation], bool]]


def sweep(scenario: Scenario, usual: Evidence, faults: Sequence[str], meet: Callable[[Scenario], Met]) -> list[FaultCell]:
    """A cell for each of `faults` at each effect call of the fault-free run `usual`; `meet` lives a scenario with it."""
    return [
        _cell(with_it, subject, fault, meet(with_it))
        for target, operation, nth, subject in calls_of(usual)
        for fault in faults
        for with_it in [replace(scenario, faults=(*scenario.faults, *faults_for(fault, target, operation, nth)))]
    ]


def calls_of(usual: Evidence) -> Iterator[tuple[str, str, int, str]]:
    """Each effect call of a run: target, operation, the how many-th of these, and its subject."""
    count: Counter[tuple[str, str]] = Counter()
    for entry in usual.outside:
        if entry.kind == "effect":
            count[entry.target, entry.operation] += 1
            yield entry.target, entry.operation, count[entry.target, entry.operation], entry.subject


def _cell(scenario: Scenario, subject: str, fault: str, met: Met) -> FaultCell:
    struck = scenario.faults[-1]
    capability = scenario.twin().capability(struck.target)
    rule = fault_rule(fault, scenario.policy, capability)
    rule = None if rule is None or _dealt_with(fault, scenario.policy, met) else rule
    ends = [((), 1, *met.alone), *met.crashed]
    invariants: Counter[str] = Counter()
    unexpected = 0
    for schedule, count, violations, ambiguous in ends:
        broken = dict.fromkeys(violation.invariant for violation in violations)
        invariants.update(dict.fromkeys(broken, count))
        if rule is not None and not _foreseen(_seen(violations, ambiguous), schedule, fault, scenario.policy, capability):
            unexpected += count
    worst = next(((schedule, violations) for schedule, _, violations, _ in ends if violations), None)
    return FaultCell(
        engine=scenario.engine,
        policy=scenario.policy,
        provider=scenario.provider,
        fault=fault,
        effect=effect_of(subject),
        call=f"{struck.target}.{struck.operation}#{struck.nth}",
        schedules=sum(count for _, count, _, _ in ends),
        alone=sorted(_seen(*met.alone)),
        invariants=dict(invariants),
        ambiguous=sum(count for _, count, _, ambiguous in ends if ambiguous),
        expected=rule or "",
        unexpected=unexpected,
        counterexample=Counterexample.of(scenario, list(worst[0]), worst[1]) if worst else None,
    )


def _seen(violations: Sequence[Violation], ambiguous: bool) -> set[str]:
    names = {rule: name for name, rule in COUNTED.items()}
    return {names.get(each.invariant, each.invariant) for each in violations} | ({"ambiguous"} if ambiguous else set())


def _foreseen(seen: set[str], schedule: Sequence[str], fault: str, policy: str, capability: str) -> bool:
    rule = fault_rule(fault, policy, capability)
    if not schedule:
        return seen == ({MARKS[rule]} if rule in MARKS else set())
    consequences = {"the recovered result equals that of a fault-free run"} if "duplicated" in seen else set()
    return seen <= allowed(fault, policy, capability) | consequences


def _dealt_with(fault: str, policy: str, met: Met) -> bool:
    """True when a step caught the error: the run was neither closed by the refusal nor resumed by a worker."""
    run = met.own.evidence.run
    if fault == "refused":
        return run is None or run.status != "failed"
    raised = fault == "away" or (fault in UNCLEAR and policy in ("bare", "keyed"))
    return raised and not met.own.evidence.status.startswith("waiting") and _claims(met.own) == _claims_of(met)
