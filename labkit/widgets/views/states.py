"""The states of an effect: a process dies around it; what the next one finds, which rule it follows, what it does."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import traitlets as t
from msgspec.structs import replace

from labkit.cases.refund import refund
from labkit.effects.policies import POLICIES
from labkit.errors import InvalidInput
from labkit.lab.foresee import choose_tap
from labkit.model import CAPABILITIES, Workflow
from labkit.scenario import Scenario
from labkit.widgets.views import diagram
from labkit.widgets.views.deaths import Deaths
from labkit.widgets.views.machine import OF_MOVE, OF_STATE
from labkit.widgets.views.view import SYNC, View, esm


class EffectStates(View):
    """The state machine of the effect ledger, with a crash in it.

    `policy` and `provider` (dedup, lookup, neither) are knobs; `at` is a tap of the effect's step, or a window `W1` to
    `W5`; `effect` names the step, by default the first one with an effect. Inputs as for `Lab.start`. `chosen` is a
    state ("planned") or a move ("planned>executing") whose rule is shown. Raises InvalidInput for what does not exist.
    """

    _esm = esm("states.js")
    KEPT: ClassVar[tuple[str, ...]] = ("title", "data", "policy", "provider", "at", "chosen")
    policy = t.Unicode().tag(**SYNC)
    provider = t.Unicode().tag(**SYNC)
    at = t.Unicode().tag(**SYNC)
    chosen = t.Unicode("").tag(**SYNC)

    def __init__(
        self,
        workflow: Workflow[Any] = refund,
        *,
        policy: str = "ledger",
        provider: str = "lookup",
        at: str = "W3",
        engine: str = "hybrid",
        effect: str | None = None,
        **inputs: Any,
    ) -> None:
        if policy not in POLICIES or provider not in CAPABILITIES:
            raise InvalidInput(
                f"policy {policy!r} with provider {provider!r}: expected one of {', '.join(POLICIES)} "
                f"with one of {', '.join(CAPABILITIES)}",
                safe="nothing was run",
            )
        base = Scenario(workflow=workflow, inputs=inputs or workflow.example, engine=engine)
        known = {
            f"{named}/{able}": Deaths(replace(base, policy=named, provider=able), effect)
            for named in POLICIES
            for able in CAPABILITIES
        }
        here = known[f"{policy}/{provider}"]
        super().__init__(
            title=f"{workflow.name}: the states of the effect in {here.effect}",
            data={
                "deaths": {name: deaths.all() for name, deaths in known.items()},
                "states": {name: said._asdict() for name, said in OF_STATE.items()},
                "moves": {">".join(move): said._asdict() for move, said in OF_MOVE.items()},
                "policies": list(POLICIES),
                "providers": list(CAPABILITIES),
                "pictures": [diagram.draw(), diagram.draw(downwards=True)],
            },
            policy=policy,
            provider=provider,
            at=str(choose_tap(here.rehearsal.first.life.taps, at, here.effect)),
        )

    def death(self) -> dict[str, Any]:
        """The crash shown: what is found (`found`, `then`), decided (`action`), done (`did`, `path`), and the end."""
        all_: list[dict[str, Any]] = self.data["deaths"][f"{self.policy}/{self.provider}"]
        return next((each for each in all_ if each["tap"] == self.at), all_[0])

    def to_svg(self) -> str:
        """The states with what happens after the crash, as one self-contained SVG text."""
        path = self.death()["path"]
        return diagram.draw(found=path[0], end=path[-1], walked=list(pairwise(path)))

    def to_text(self) -> str:
        """What happens after the crash, in words."""
        death = self.death()
        rule = (
            OF_STATE[death["found"]].rule if death["tracked"] else "No ledger: nobody decides, the code just runs on."
        )
        return "\n".join(
            f"{name:<10} {text}"
            for name, text in (
                ("setting", f"policy {self.policy}, provider {self.provider}"),
                ("killed at", f"{death['tap']} ({death['window']})"),
                ("finds", f"{death['found']}; the provider has done it {death['then']} time(s)"),
                ("rule", rule),
                ("does", f"{death['action']}: {', '.join(death['did']) or 'nothing more in this step'}"),
                ("states", " > ".join(death["path"])),
                ("ends", f"{death['status']}, done {death['end']} time(s): {death['verdict']}"),
            )
        )

    def still(self) -> dict[str, str]:
        """The picture."""
        return {"image/svg+xml": self.to_svg()}
