"""A call fault that is chosen in a timeline: `timeout_after of execute_refund`, and what it makes the provider do."""

from __future__ import annotations

from labkit.effects.key import effect_of
from labkit.provider.faults import Fault, faults_for
from labkit.widgets.rehearsal import Rehearsal


def faults_of(chosen: str, calm: Rehearsal) -> tuple[Fault, ...]:
    """The faults of `NAME of EFFECT`, where `calm` is the same run without any; none for an empty text.

    Raises InvalidInput for a name that is no call fault. An effect that the run does not make has no fault.
    """
    name, _, effect = chosen.partition(" of ")
    place, _, visit = effect.partition("#")
    done = [each for each in calm.reference.evidence.outside if each.kind == "effect"]
    found = [at for at, each in enumerate(done) if effect_of(each.subject) == place]
    if not chosen or len(found) < int(visit or 1):
        return ()
    at = found[int(visit or 1) - 1]
    called = [(each.target, each.operation) for each in done[: at + 1]]
    return faults_for(name, *called[-1], called.count(called[-1]))
