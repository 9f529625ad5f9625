"""The curves of cost: what each engine keeps and how long it takes to come back, as measured, and where they cross."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import traitlets as t

from labkit.errors import InvalidInput
from labkit.widgets.views import chart
from labkit.widgets.views.costs import AGAIN, COMMITS, Engine, Setting, crossings, fitted
from labkit.widgets.views.view import SYNC, View, esm

if TYPE_CHECKING:
    import pandas as pd

RANGES = {"size": (100.0, 1e6), "steps": (10.0, 1e6), "rate": (1e-7, 1e-1)}


class Panel(NamedTuple):
    """One of the three pictures: over which slider, and what."""

    over: str
    title: str
    x: str
    value: Callable[[Engine, Setting], float]


PANELS = (
    Panel("size", "kept on disk, bytes a step", "state, characters", lambda engine, at: engine.bytes.at(at.size)),
    Panel("steps", "time to come back, ms", "steps done", lambda engine, at: engine.ms.at(at.steps)),
    Panel("rate", "all in all, seconds a step", "crashes a step", lambda engine, at: engine.cost(at)),
)


class CostCurves(View):
    """Three pictures with a slider each: bytes kept by size of the state, time to come back by steps, and their sum.

    `found` holds measurements, as records or a DataFrame: `engine`, `size` (characters of state), `steps` done,
    `bytes` kept a step, `ms` to come back. `rate` is crashes a step. `commit_ms` (of a commit), `mb_per_s` (of the
    disk) and `call_s` (of a model call) are assumptions. Raises InvalidInput when no lines can be drawn through it.
    """

    _esm = esm("chart.js", "curves.js")
    KEPT: ClassVar[tuple[str, ...]] = ("title", "data", *Setting._fields)
    size = t.Float().tag(**SYNC)
    steps = t.Float().tag(**SYNC)
    rate = t.Float().tag(**SYNC)
    commit_ms = t.Float().tag(**SYNC)
    mb_per_s = t.Float().tag(**SYNC)
    call_s = t.Float().tag(**SYNC)

    def __init__(
        self,
        found: Any,
        *,
        size: float = 16_000,
        steps: float = 1_000,
        rate: float = 1e-3,
        commit_ms: float = 0.5,
        mb_per_s: float = 20,
        call_s: float = 2,
    ) -> None:
        given = Setting(size, steps, rate, commit_ms, mb_per_s, call_s)
        if not all(number > 0 for number in given):
            raise InvalidInput(f"every number must be above 0: {given}")
        self.engines = fitted(found)
        engines = {
            engine.name: {
                "bytes": [*engine.bytes],
                "ms": [*engine.ms],
                "commits": COMMITS[engine.name],
                "again": AGAIN[engine.name],
                "measured": engine.measured,
            }
            for engine in self.engines
        }
        super().__init__(
            title="What recovery costs, and where the curves cross",
            data={"engines": engines, "ranges": {name: [*ends] for name, ends in RANGES.items()}},
            **given._asdict(),
        )

    @property
    def setting(self) -> Setting:
        """Where the sliders stand, and what is assumed."""
        return Setting(**{name: getattr(self, name) for name in Setting._fields})

    def fits(self) -> pd.DataFrame:
        """One row an engine: start and slope of its two lines."""
        import pandas as pd

        columns = ("bytes", "bytes for each character", "ms", "ms for each step")
        rows = {each.name: [*each.bytes, *each.ms] for each in self.engines}
        return pd.DataFrame.from_dict(rows, orient="index", columns=list(columns))

    def crossings(self) -> pd.DataFrame:
        """One row a crossing: over which slider, at which value, and which engine is the lower one before and after."""
        import pandas as pd

        rows = [(panel.over, x, before, after) for panel in PANELS for before, after, x in self._crossings(panel)]
        return pd.DataFrame(rows, columns=["over", "at", "lower before", "lower after"])

    def to_svg(self) -> str:
        """The three pictures as one self-contained SVG text."""
        given, named = self.setting, {engine.name: engine for engine in self.engines}
        return chart.side_by_side(
            [
                chart.Picture(
                    title=panel.title,
                    x=panel.x,
                    ends=RANGES[panel.over],
                    at=getattr(given, panel.over),
                    lines={engine.name: self._over(panel, engine) for engine in self.engines},
                    crossings=[(x, self._over(panel, named[name])(x)) for name, _, x in self._crossings(panel)],
                )
                for panel in PANELS
            ]
        )

    def to_text(self) -> str:
        """What each engine costs where the sliders stand, and where the curves cross."""
        given = self.setting
        lines = [f"state of {given.size:,.0f} characters, {given.steps:,.0f} steps done, {given.rate:g} crashes a step"]
        for engine in self.engines:
            costs = (engine.bytes.at(given.size), engine.ms.at(given.steps), engine.cost(given) * 1e3)
            shown = "{:>10,.0f} bytes a step, {:>9,.1f} ms to come back, {:>8,.2f} ms a step".format(*costs)
            lines.append(f"{engine.name:<14} {shown}")
        least = min(self.engines, key=lambda engine: engine.cost(given))
        lines.append(f"{least.name} costs least")
        lines += [
            f"over {panel.over}: up to about {x:.2g} {before} is lower than {after}, then the other way round"
            f"{' (beyond what was measured)' if self._beyond(panel, x) else ''}"
            for panel in PANELS
            for before, after, x in self._crossings(panel)
        ]
        return "\n".join(lines)

    def still(self) -> dict[str, str]:
        """The picture."""
        return {"image/svg+xml": self.to_svg()}

    def _over(self, panel: Panel, engine: Engine) -> Callable[[float], float]:
        given = self.setting
        return lambda x: panel.value(engine, given._replace(**{panel.over: x}))

    def _beyond(self, panel: Panel, x: float) -> bool:
        return panel.over != "rate" and any(engine.beyond(panel.over, x) for engine in self.engines)

    def _crossings(self, panel: Panel) -> list[tuple[str, str, float]]:
        return crossings(self.engines, lambda engine, x: self._over(panel, engine)(x), *RANGES[panel.over])
