"""A schedule that breaks an invariant: saved as plain JSON, replayed exactly."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from labkit.check.invariants import Violation
from labkit.errors import InvalidInput
from labkit.provider.faults import Fault
from labkit.scenario import Scenario

FORMAT = "labkit-counterexample/1"
MOST_CRASHES = 20  # exploring finds at most three; a file could ask for work without end


class Counterexample(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What to run (`workflow` by name), the calls that go wrong (`faults`), the taps at which one process after another
    dies (none: no crash is needed), and what breaks."""

    format: str = FORMAT
    workflow: str
    inputs: dict[str, Any]
    engine: str
    policy: str
    provider: str
    drift: bool = False
    faults: tuple[Fault, ...] = ()
    schedule: list[str]
    violations: list[Violation]

    @classmethod
    def of(cls, scenario: Scenario, schedule: list[str], violations: list[Violation]) -> Counterexample:
        """The counterexample that `schedule` is for `scenario`."""
        return cls(
            workflow=scenario.workflow.name,
            inputs=scenario.inputs,
            engine=scenario.engine,
            policy=scenario.policy,
            provider=scenario.provider,
            drift=scenario.drift,
            faults=scenario.faults,
            schedule=schedule,
            violations=violations,
        )

    def save(self, path: str | Path) -> Path:
        """Write the file; return its path."""
        path = Path(path)
        path.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n")
        return path

    @classmethod
    def load(cls, path: str | Path) -> Counterexample:
        """Read a saved file; raise InvalidInput when it is not one."""
        try:
            found = msgspec.json.decode(Path(path).read_bytes(), type=cls)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InvalidInput(
                f"{path} is not a counterexample: {error}", next="labkit explore --out FILE writes one"
            ) from error
        if found.format != FORMAT or len(found.schedule) not in range(MOST_CRASHES + 1):
            raise InvalidInput(
                f"{path}: format {found.format!r} with {len(found.schedule)} crashes, "
                f"expected {FORMAT} with at most {MOST_CRASHES}",
                safe="nothing was run",
            )
        return found

    def __str__(self) -> str:
        broken = "; ".join(f"{violation.invariant}: {violation.text}" for violation in self.violations)
        return f"{self.engine}, {self.policy}, {self.provider}: {happens(self.faults, self.schedule)} -> {broken}"


def happens(faults: Sequence[Fault], schedule: Sequence[str]) -> str:
    """What happens under a schedule, in words: the calls that go wrong, then where a process dies."""
    told = [f"{fault.what} at call {fault.nth} of {fault.target}.{fault.operation}" for fault in faults]
    crash = [f"crash at {', then at '.join(schedule)}"] if schedule else []
    return "; ".join([*told, *crash]) or "no crash needed"
