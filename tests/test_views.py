"""The views say what the library says: states and moves of the ledger, measured lines, cells of the matrix."""

from __future__ import annotations

import json
import re
from itertools import product
from typing import Any

import pytest

from labkit import Lab, refund
from labkit.check.cells import Cell
from labkit.check.render import mark
from labkit.effects.decision import EFFECT_STATUSES, Checkpoint, decide
from labkit.effects.ledger import MOVES
from labkit.errors import InvalidInput
from labkit.matrix import MatrixReport, matrix
from labkit.widgets import CostCurves, EffectStates, MatrixTable, WaitingBoard
from labkit.widgets.views import deaths
from labkit.widgets.views.examples import Examples
from labkit.widgets.views.machine import OF_MOVE, OF_STATE, STATES, TRANSITIONS

BEFORE_CALL = "execute_refund/call:before#1"
EVIDENCE = {"schema_version": 1, "workflow_release": "1", "durability_mode": "sync", "max_attempts": 8}
LINES = {"snapshot": (900, 1.0, 0.03, 0.0), "event-sourced": (230, 0.0, 0.04, 0.006), "hybrid": (450, 0.25, 0.07, 0.0)}
FOUND = [
    {"engine": name, "size": size, "steps": steps, "bytes": a + b * size, "ms": c + d * steps, "replayed": 7}
    for name, (a, b, c, d) in LINES.items()
    for size, steps in product((1_000, 4_000, 16_000), (51, 803))
]


@pytest.fixture(scope="module")
def report() -> MatrixReport:
    """The matrix of one engine."""
    return matrix(refund, engines=("hybrid",), inputs={"case": 17})


def test_the_states_and_moves_drawn_are_those_of_the_ledger():
    moves = {(source, to) for to, sources in MOVES.items() for source in sources}
    assert set(OF_STATE) == set(EFFECT_STATUSES) and STATES == EFFECT_STATUSES
    assert set(OF_MOVE) == set(TRANSITIONS) == moves | {("none", "planned")}
    picture = EffectStates().to_svg()
    assert set(re.findall(r'data-pick="([\w]+)&gt;([\w]+)"', picture)) == set(TRANSITIONS)
    assert set(re.findall(r'data-pick="(\w+)"', picture)) == set(EFFECT_STATUSES)


@pytest.mark.parametrize("status", EFFECT_STATUSES)
def test_the_rule_of_a_state_in_words_is_what_decide_does(status: str):
    def action(**changes: Any) -> str:
        known = {"status": "running", "effect_status": status, "effect_key": "k", "attempts": 1}
        return decide(Checkpoint(**{**EVIDENCE, **known, **changes}))

    rule = OF_STATE[status].rule
    if status == "none":
        assert "decide` itself says stop" in rule and action() == "stop"
        return
    assert rule.lower().startswith(action())
    assert ("there is a key" in rule) == (action(effect_key="") != action())
    assert ("an attempt is left" in rule) == (action(attempts=8) != action())


def test_each_crash_is_lived_and_decided_by_decide(monkeypatch: pytest.MonkeyPatch):
    asked = []
    monkeypatch.setattr(deaths, "decide", lambda evidence: asked.append(evidence.effect_status) or "stop")
    told = EffectStates().data["deaths"]
    assert {"planned", "executing", "confirmed"} == set(asked)
    assert {each["action"] for each in told["ledger/lookup"] if each["decided"]} == {"stop"}


@pytest.mark.parametrize(
    ("policy", "provider", "at", "found", "action", "end", "path"),
    [
        ("bare", "dedup", "W3", "none", "execute", 2, ""),
        ("keyed", "dedup", "W3", "none", "execute", 1, ""),
        ("keyed", "lookup", "W4", "none", "execute", 2, ""),
        ("ledger", "dedup", "W3", "executing", "reconcile", 1, "executing>executing>confirmed"),
        ("ledger", "lookup", "W3", "executing", "reconcile", 1, "executing>confirmed"),
        ("ledger", "lookup", BEFORE_CALL, "executing", "reconcile", 1, "executing>planned>executing>confirmed"),
        ("ledger", "neither", "W3", "executing", "reconcile", 1, "executing>ambiguous"),
        ("ledger", "neither", "W5", "confirmed", "advance", 1, "confirmed"),
        ("outbox", "dedup", "execute_refund/commit:after#1", "planned", "execute", 1, "planned>executing>confirmed"),
    ],
)  # fmt: skip
def test_what_a_new_process_finds_decides_and_does(
    policy: str, provider: str, at: str, found: str, action: str, end: int, path: str
):
    death = EffectStates(policy=policy, provider=provider, at=at, case=17).death()
    assert (death["found"], death["action"], death["end"]) == (found, action, end)
    assert not path or ">".join(death["path"]) == path


def test_wrong_names_are_refused_before_anything_runs():
    with pytest.raises(InvalidInput, match="policy 'ledgr'"):
        EffectStates(policy="ledgr")
    with pytest.raises(InvalidInput, match="no effect in step 'load_case'"):
        EffectStates(effect="load_case")


def test_the_lines_are_those_that_were_measured_and_cross_where_algebra_says():
    curves = CostCurves(FOUND, size=16_000, steps=1_000)
    for name, (a, b, c, d) in LINES.items():
        assert curves.fits().loc[name].tolist() == pytest.approx([a, b, c, d], abs=1e-6)
    over_rate = curves.crossings().query("over == 'rate'").set_index("lower before")
    written = (450 + 0.25 * 16_000 - 230) / 20e6
    back = (0.04 + 0.006 * 1_000 - 0.07) / 1e3
    assert over_rate.loc["event-sourced", "at"] == pytest.approx(written / back, rel=1e-2)
    assert over_rate.loc["event-sourced", "lower after"] == "hybrid"
    assert "event-sourced costs least" in curves.to_text()


def test_noise_is_no_slope_no_line_falls_below_zero_and_a_crossing_that_was_not_measured_says_so():
    noise = {1_000: -0.01, 4_000: 0.02, 16_000: 0.0}
    found = [
        {**each, "ms": each["ms"] + noise[each["size"]] + (0.005 if each["steps"] == 803 else 0)}
        for each in FOUND
        if each["engine"] != "event-sourced"
    ]
    found += [{**each, "ms": 0.001 * each["steps"] ** 1.1} for each in FOUND if each["engine"] == "event-sourced"]
    curves = CostCurves(found)
    slope = curves.fits()["ms for each step"]
    assert slope["snapshot"] == slope["hybrid"] == 0 < slope["event-sourced"]
    assert curves.fits()["ms"].min() >= 0
    (over_steps, *_) = [line for line in curves.to_text().splitlines() if line.startswith("over steps")]
    assert over_steps.endswith("(beyond what was measured)")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([], "nothing was measured"),
        ([{**FOUND[0], "engine": "paper"}], "no measurement"),
        ([{**FOUND[0], "ms": float("nan")}], "no measurement"),
        ([{name: FOUND[0][name] for name in ("engine", "size", "steps", "ms")}], "no measurement"),
        ([FOUND[0], FOUND[1]], "snapshot was measured at one size"),
    ],
)
def test_measurements_without_a_line_are_refused(found: list[dict[str, Any]], message: str):
    with pytest.raises(InvalidInput, match=message):
        CostCurves(found)


def test_each_cell_shows_what_the_central_table_shows(report: MatrixReport):
    cells = MatrixTable(report, case=17).grid.data["cells"]
    for cell in report.cells:
        said = cells[f"{cell.engine}/{cell.policy}/{cell.provider}/{cell.window}"]
        expected = mark(cell)
        assert f"{said['kind']}{said['share']}" == ("o" if expected == "ok" else expected)
    odd = Cell(engine="e", policy="p", provider="q", window="W3", schedules=4, lost=1, unexpected=1)
    odd_report = MatrixReport(workflow="refund", crashes=1, schedules=4, seconds=0, cells=[odd], unexpected=1,
                              recoveries=1, disagreements=[], counterexamples=[])  # fmt: skip
    assert "▢ never 25% !" in MatrixTable(odd_report).to_text()


def test_engines_that_say_the_same_are_one_row_of_the_table():
    report = matrix(refund, policies=("bare", "outbox"), providers=("dedup", "neither"), inputs={"case": 17})
    rows = MatrixTable(report, case=17).to_text().splitlines()[2:]
    assert [row[:23].strip() for row in rows] == [*3 * ["all 3 engines"], "snapshot", "event-sourced, hybrid"]
    assert all("neither" in row and "outbox" in row for row in rows[3:])


def test_each_cell_opens_a_crash_in_its_window_with_its_verdict(report: MatrixReport):
    examples = Examples(report, refund, {"case": 17})
    for key, cell in examples.cells.items():
        example = examples.of(key)
        assert example.told.timeline.lanes[0].window == cell.window
        assert example.told.verdict == cell.verdict, key


def test_a_chosen_cell_opens_its_counterexample_in_a_timeline(report: MatrixReport):
    table = MatrixTable(report, chosen="hybrid/bare/neither/W3", case=17)
    counterexample = next(
        each for each in report.counterexamples if (each.policy, each.provider) == ("bare", "neither")
    )
    assert table.timeline and table.timeline.at == "W3 of execute_refund"
    (told,) = table.timeline.told().values()
    assert [lane.killed_at for lane in told.timeline.lanes] == [*counterexample.schedule, ""]
    assert table.children == (table.grid, table.timeline) and "DUPLICATE" in table.to_text()
    table.grid.chosen = "hybrid/ledger/neither/W4"
    assert table.timeline.told()["hybrid"].verdict == "unknown"
    table.grid.chosen = ""
    assert table.children == (table.grid,) and table.timeline is None
    with pytest.raises(InvalidInput, match="no cell"):
        table.choose("hybrid/bare/W3")


def test_a_counterexample_of_two_crashes_is_opened_with_both():
    combination = {"engines": ("snapshot",), "policies": ("keyed",), "providers": ("neither",)}
    report = matrix(refund, **combination, inputs={"case": 17})
    report.counterexamples[0].schedule *= 2
    table = MatrixTable(report, chosen="snapshot/keyed/neither/W3", case=17)
    assert table.timeline
    lanes = table.timeline.told()["snapshot"].timeline.lanes
    assert [lane.killed_at for lane in lanes] == [*report.counterexamples[0].schedule, ""]


@pytest.mark.parametrize("name", ["states", "curves", "matrix", "board"])
def test_each_view_has_a_picture_or_table_words_and_a_page_without_a_kernel(name: str, report: MatrixReport):
    with Lab(":memory:") as lab:
        lab.start(refund, case=17)
        view = {
            "states": EffectStates,
            "curves": lambda: CostCurves(FOUND),
            "matrix": lambda: MatrixTable(report, case=17),
            "board": lambda: WaitingBoard(lab),
        }[name]()
    bundle = view._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.jupyter.widget-view+json" in data and len(data["text/plain"]) > 100
    assert "image/svg+xml" in data or "<table" in data["text/html"]
    page = view.to_html()
    local = page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|src=|@import|url\([^#]|fetch\(|XMLHttp", local)
    assert json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])["state"]["alone"] is True  # type: ignore[index]
    assert page.count("</script>") == 3
