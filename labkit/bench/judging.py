"""What a trial shows, against a fault-free run of the same scenario and against theory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from labkit.bench.launch import last_words
from labkit.bench.trial import Trial
from labkit.check.alone import repeated_without_crash
from labkit.check.cells import Observed
from labkit.check.evidence import Evidence
from labkit.check.invariants import Judged, Violation
from labkit.check.theory import Crashed, Expected, Outlook, Theory
from labkit.check.windows import acknowledged
from labkit.errors import LabError
from labkit.scenario import Scenario
from labkit.sim.called import Called
from labkit.sim.lives import Simulation
from labkit.sim.oracle import Oracle
from labkit.sim.script import theory_of
from labkit.values import Values


class Reference(NamedTuple):
    """A fault-free run: its evidence, each of its taps as a possible crash, and what `theory` expects of it.

    `oracle` knows what a run without a crash does with other answers, or with calls that go wrong.
    """

    evidence: Evidence
    crashes: list[Crashed]
    theory: Theory
    oracle: Oracle | Called

    @property
    def by_itself(self) -> list[Violation]:
        """What this run breaks though nothing crashes."""
        return repeated_without_crash(self.evidence)


class Outcome(msgspec.Struct, kw_only=True, frozen=True):
    """What became of one trial. `observed`, `expected` and `violations` mean something only when `kind` is `judged`.

    `not reached`: a process came to its end without dying where it should; `error`: it ended in another way, and
    `said` says how in a line, `detail` with what it printed last. `window` is that of the first crash, `seconds`
    wall time.
    """

    id: str
    engine: str
    policy: str
    provider: str
    window: str
    schedule: list[str]
    kind: Literal["judged", "not reached", "error"]
    seconds: float
    said: str = ""
    detail: str = ""
    observed: Observed | None = None
    expected: Expected | None = None
    violations: list[Violation] = []


def reference_of(scenario: Scenario, trial: Trial, kept: Path | None = None) -> Reference:
    """The reference that a trial of `scenario` without a crash is.

    Raises LabError when the run does not even work without a crash; `kept` is the file that keeps what it printed.
    """
    life, evidence = trial.lives[0], trial.evidence
    if evidence is None or evidence.run is None:
        raise LabError(
            f"the workflow fails without any crash, with exit status {life.status}: {last_words(life.output)}",
            safe=f"no trial was started{f'; all that it printed is in {kept}' if kept else ''}",
            next=f"make it run first: labkit run WORKFLOW{'' if kept else '; --keep FOLDER keeps all that it prints'}",
        )
    theory = theory_of(scenario)
    return Reference(
        evidence=evidence,
        crashes=theory.crashes(life.passed),
        theory=theory,
        oracle=Called(scenario, Simulation(scenario)) if scenario.faults else Oracle(scenario, life.values.returned),
    )


def outcome_of(
    id: str, scenario: Scenario, crashes: Sequence[Crashed], trial: Trial, reference: Reference, seconds: float
) -> Outcome:
    """Judge a trial whose processes were to die at `crashes`."""
    outcome = Outcome(
        id=id,
        engine=scenario.engine,
        policy=scenario.policy,
        provider=scenario.provider,
        window=crashes[0].window,
        schedule=[str(crash.tap) for crash in crashes],
        kind="judged",
        seconds=seconds,
    )
    last = trial.lives[-1]
    if trial.evidence is None:
        kind = "error" if last.failed else "not reached"
        how = f"process {len(trial.lives)} ended with status {last.status}"
        said = f"{how}: {last_words(last.output)}" if last.failed else f"{how} and never came to {last.tap}"
        detail = f"{how}, its tap is {last.tap}\n{last.output}".strip()
        return msgspec.structs.replace(outcome, kind=kind, said=said, detail=detail)
    violations, observed = judge_trial(scenario, trial, trial.evidence, reference)
    outlook = reduce(reference.theory.after, (crash.standing for crash in crashes), Outlook())
    expected = reference.theory.expected(outlook)
    return msgspec.structs.replace(outcome, observed=observed, expected=expected, violations=violations)


def judge_trial(
    scenario: Scenario, trial: Trial, evidence: Evidence, reference: Reference
) -> tuple[list[Violation], Observed]:
    """The invariants that a trial broke, and its five counts."""
    *dead, last = trial.lives
    untracked = frozenset(subject for life in trial.lives for subject in life.found.untracked)
    judged = Judged(
        evidence=evidence,
        reference=reference.evidence,
        at_crash=last.found.status,
        acknowledged=Counter(step for life in dead for step in acknowledged(life.passed)),
        again=Counter(acknowledged(last.passed)),
        commits=Counter(acknowledged([crash.tap for crash in reference.crashes])),
        untracked=untracked,
        since=last.found.outside,
    )
    values = Values()
    for life in trial.lives:
        values = values.following(life.values)
    violations = reference.oracle.judge(judged, values)
    by_itself = reference.by_itself  # no crash is blamed for what happens without one
    violations = [each for each in violations if each not in by_itself]
    return violations, Observed.of(evidence, untracked, violations)
