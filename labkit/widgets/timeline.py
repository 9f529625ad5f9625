"""The crash timeline: drag a crash along a run on three engines, let it happen, and see what the next process does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Self

import anywidget
import traitlets as t
from msgspec.structs import replace

from labkit.arguments import checked
from labkit.cases import known_case
from labkit.effects.policies import POLICIES
from labkit.engines import ENGINES
from labkit.errors import LabError
from labkit.lab.crash_points import CrashPoint
from labkit.lab.facade import Lab
from labkit.lab.foresee import chosen_by_any
from labkit.lab.naming import chosen_id
from labkit.lab.view import RunView
from labkit.model import Workflow
from labkit.provider.faults import CALL_FAULTS, Fault
from labkit.scenario import AS_DECLARED, PROVIDERS, Scenario
from labkit.sim.counterexample import Counterexample
from labkit.widgets import page
from labkit.widgets.chosen import Chosen
from labkit.widgets.faulting import faults_of
from labkit.widgets.killing import kill_all
from labkit.widgets.recorded import Recorded, require_few
from labkit.widgets.rehearsal import Rehearsal, Told
from labkit.widgets.scene import Pool, Scene

SYNC: dict[str, bool] = {"sync": True}
NAMES = ("engine", "policy", "provider", "drift", "faults")  # of a scenario
SHOWN = ("choices", "knobs", "at", "at_second", "crashed", "second", "killed")  # what a page without a kernel knows


class CrashTimeline(anywidget.AnyWidget):
    """One workflow on one or more engines, a crash to be dragged, and what follows it.

    `at` is a window `W1` to `W5` of an `effect` (the first by default), or a tap; without it the crash stands in W3, or
    at the last tap where there is no effect. Each engine dies at its own tap of the window; one that has none says so.
    `crashed` says whether the recovered run is shown. `run_id` and inputs as for `Lab.start`. In a notebook it moves;
    `to_html()`, `to_svg()` and `to_text()` show the same elsewhere. Raises InvalidInput for names, inputs or a point
    that do not exist.
    """

    _esm = page.ESM
    _css = page.CSS
    scene = t.Dict().tag(**SYNC)
    choices = t.Dict().tag(**SYNC)
    knobs = t.Dict().tag(**SYNC)
    at = t.Unicode().tag(**SYNC)
    at_second = t.Unicode().tag(**SYNC)
    crashed = t.Bool(False).tag(**SYNC)
    second = t.Dict().tag(**SYNC)
    killed = t.Dict().tag(**SYNC)
    progress = t.Unicode().tag(**SYNC)

    @checked
    def __init__(
        self,
        workflow: Workflow[Any],
        *,
        engines: Iterable[str] = tuple(ENGINES),
        policy: str = "bare",
        provider: str = AS_DECLARED,
        drift: bool = False,
        faults: tuple[Fault, ...] = (),
        at: str = "",
        effect: str | None = None,
        crashed: bool = False,
        run_id: str | None = None,
        **inputs: Any,
    ) -> None:
        self.run_id = chosen_id(workflow, inputs, run_id)
        self.workflow, self.inputs = workflow, inputs or workflow.example
        self.engines, self.faults = tuple(engines), faults
        self._scenes: dict[tuple[str, str, bool, str], Scene] = {}
        self._scene = self._made(policy, provider, drift, "")
        taps, scene = self._scene.stops.taps, self._scene.data()
        at = at or ("W3" if effect or "W3 of" in str(scene["stops"]) else str(taps[self.engines[0]][-1]))
        turn, free = (
            {"policy": policy, "provider": provider, "drift": drift, "fault": ""},
            {} if faults else CALL_FAULTS,
        )
        super().__init__(
            scene=scene,
            choices={"policy": list(POLICIES), "provider": list(PROVIDERS), "fault": free, "title": self._title()},
            knobs={**turn, "second": False, "engine": ""},
            at=str(self._scene.stops.named(chosen_by_any(taps, at, effect))),
            crashed=crashed,
        )
        self.observe(self._turned, "knobs")
        self.observe(self._moved, ["at", "crashed"])
        self.on_msg(self._asked)

    @classmethod
    def of_schedule(
        cls,
        workflow: Workflow[Any],
        schedule: Sequence[str],
        *,
        engine: str = "hybrid",
        policy: str = "ledger",
        provider: str = AS_DECLARED,
        drift: bool = False,
        faults: tuple[Fault, ...] = (),
        run_id: str | None = None,
        **inputs: Any,
    ) -> Self:
        """A schedule on one engine, already crashed: a tap or two, the first process dies at the first, and so on.

        Without any tap nothing is crashed. Raises InvalidInput for more taps, and for one that no process passes.
        """
        require_few(schedule)
        names = {"policy": policy, "provider": provider, "drift": drift, "faults": faults, "run_id": run_id}
        where = {"at": schedule[0], "crashed": True} if schedule else {}
        made = cls(workflow, engines=(engine,), **names, **where, **inputs)  # type: ignore[arg-type]
        for tap in schedule[1:]:
            stops = made._scene.second_stops(made._chosen.first_deaths())
            made.at_second = str(stops.named(chosen_by_any(stops.taps, tap)))
            made.knobs = {**made.knobs, "second": True}
        return made

    @classmethod
    def of_counterexample(cls, path: str | Path | Counterexample, workflow: Workflow[Any] | None = None) -> Self:
        """The schedule that a report found or saved, as in `of_schedule`. Give a workflow of your own.

        Raises InvalidInput for a file that is no counterexample, and for more than two crashes.
        """
        found = path if isinstance(path, Counterexample) else Counterexample.load(path)
        names = {name: getattr(found, name) for name in NAMES}
        return cls.of_schedule(workflow or known_case(found.workflow), found.schedule, **names, **found.inputs)

    @classmethod
    def of_run(cls, lab: Lab, run: str | RunView, **inputs: Any) -> Self:
        """A run that `lab` recorded: its engine, policy and provider, with the crashes that its processes really had.

        The recovered run is rehearsed; a run that was not resumed yet shows what would follow. `inputs` need be given
        only where one is too long to be recorded whole. Raises UnknownRun, and InvalidInput for a run that cannot be
        shown: one with more than two crashes, or that a person's answers took another way.
        """
        found = Recorded.of(lab, run, inputs)
        scenario = found.scenario
        names = {name: getattr(scenario, name) for name in (*NAMES, "run_id")}
        made = cls.of_schedule(scenario.workflow, found.schedule, **names, **scenario.inputs)
        found.require(made.told()[scenario.engine].timeline)
        return made

    def told(self) -> dict[str, Told]:
        """What is shown, by engine: the run after its crashes, or undisturbed; none where it has no such point."""
        return self._chosen.told()

    def to_html(self, path: str | Path | None = None, *, knobs: bool = True) -> str:
        """The whole as one page that needs neither kernel nor network; written to `path` if one is given.

        With `knobs` every policy, provider and drift is worked out beforehand, which takes some seconds.
        """
        pool, scenes = Pool(), {}
        *_, fault = now = self._turn()
        for turn in product(POLICIES, PROVIDERS, (False, True), [fault]) if knobs else [now]:
            scenes[page.key(*turn[:3])] = Scene(self._rehearsals(*turn), pool).data()
        state = {name: getattr(self, name) for name in SHOWN}
        text = page.standalone(self._title(), state, scenes)
        if path is not None:
            Path(path).write_text(text, "utf-8")
        return text

    def to_svg(self) -> str:
        """What is shown, as one self-contained SVG text."""
        return page.stacked([told.timeline for told in self.told().values()], self._chosen.lacking())

    def to_text(self) -> str:
        """What is shown, as text."""
        return "\n\n".join([*(str(told.timeline) for told in self.told().values()), *self._chosen.lacking()])

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        return {**data, "image/svg+xml": self.to_svg(), "text/plain": self.to_text()}, metadata

    def _title(self) -> str:
        return " ".join(
            [self.workflow.name, ", ".join(f"{name} {value}" for name, value in self.inputs.items())]
        ).strip()

    def _turn(self) -> tuple[str, str, bool, str]:
        return self.knobs["policy"], self.knobs["provider"], bool(self.knobs["drift"]), self.knobs["fault"]

    def _rehearsals(self, policy: str, provider: str, drift: bool, fault: str) -> dict[str, Rehearsal]:
        calm = self._made(policy, provider, drift, "").rehearsals[self.engines[0]] if fault else None
        faults = self.faults + (faults_of(fault, calm) if calm else ())
        names = {"policy": policy, "provider": provider, "run_id": self.run_id, "faults": faults}
        scenario = Scenario(workflow=self.workflow, inputs=self.inputs, drift=drift, **names)  # type: ignore[arg-type]
        return {engine: Rehearsal(replace(scenario, engine=engine)) for engine in self.engines}

    def _made(self, policy: str, provider: str, drift: bool, fault: str) -> Scene:
        if (turn := (policy, provider, drift, fault)) not in self._scenes:
            self._scenes[turn] = Scene(self._rehearsals(*turn))
        return self._scenes[turn]

    @property
    def _chosen(self) -> Chosen:
        """The crash as it is chosen now."""
        shown = [self.knobs["engine"]] if self.knobs["engine"] else self.engines
        second = CrashPoint.parse(self.at_second) if self.knobs["second"] and self.at_second else None
        return Chosen(self._scene, shown, self.crashed, CrashPoint.parse(self.at), second)

    def _turned(self, change: Any) -> None:
        """A knob was turned: another scene, where the crash stays in its window, or what a second crash leads to."""
        scene = self._made(*self._turn())
        if scene is not self._scene:
            at = str(scene.kept(self._scene, CrashPoint.parse(self.at)))
            with self.hold_sync():
                self._scene, self.scene, self.at = scene, scene.data(), at
        self._moved(change)

    def _moved(self, change: Any) -> None:
        """Work out what a second crash leads to; it strikes where the first does until it is moved, if it can there."""
        if not (self.knobs["second"] and self.crashed):
            return
        found = self._scene.second(self._scene.deaths(CrashPoint.parse(self.at)))
        names = [name for name, *_ in found["stops"]]
        with self.hold_sync():
            if names and not self.at_second:
                self.at_second = self.at if self.at in names else names[0]
            self.second = {"for": self._name(), **found}

    def _name(self) -> str:
        """Which crash this is, in which setting: what an answer is for."""
        fault = self.knobs["fault"]
        return f"{page.key(*self._turn()[:3])}{fault and f'|{fault}'} {self.at}"

    def _asked(self, _: Any, message: Any, buffers: Any) -> None:
        """The button of the real kill was pressed."""
        if message != {"do": "kill"}:
            return
        try:
            name = f"{self._name()} {self.at_second}"
            self.killed = {"for": name, **kill_all(self._scene, self._chosen.deaths(), self._say)}
            self._say("")
        except (LabError, OSError) as failure:
            self._say(f"not killed: {failure}")

    def _say(self, text: str) -> None:
        self.progress = text
