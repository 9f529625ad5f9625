"""The crash timeline says at every tap what the explorer says, and stands without a notebook."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from labkit.cases.refund import refund
from labkit.check.windows import windows
from labkit.errors import InvalidInput
from labkit.model import Context, State, Target, Workflow
from labkit.sim import explore
from labkit.widgets import CrashTimeline

TALLIED = ("duplicated", "ambiguous", "lost", "activities_repeated")


def outcomes(widget: CrashTimeline, engine: str) -> list[tuple[str, dict[str, Any]]]:
    """For each tap of the undisturbed run: its window, and what follows a crash there, numbers looked up."""
    scene: Any = widget.scene
    pool, found = scene["pool"], scene["engines"][engine]
    taps = [window for number, _ in found["first"] for window in pool[number]["windows"]]
    told = [found["outcomes"][number] for number in found["crash"]]
    looked_up = [
        {**each, **{name: [pool[number] for number in each[name]] for name in ("broken", "outside", "effects")}}
        for each in told
    ]
    return list(zip(taps, looked_up, strict=True))


def tally(outcome: dict[str, Any]) -> dict[str, int]:
    marks = Counter(row["mark"] for row in outcome["outside"])
    return {
        "duplicated": int(marks["duplicate"] > 0),
        "ambiguous": int(outcome["status"] == "waiting_for_person"),
        "lost": int(bool(outcome["lost"])),
        "activities_repeated": marks["again"],
    }


@pytest.mark.parametrize("provider", ["as-declared", "neither"])
def test_each_tap_has_the_verdict_of_the_explorer(engine: str, policy: str, provider: str):
    widget = CrashTimeline(refund, engines=(engine,), policy=policy, provider=provider, case=17)
    report = explore(refund, engine=engine, policy=policy, provider=provider, case=17)
    told = outcomes(widget, engine)
    assert len(told) == report.schedules
    broken = Counter(name for _, each in told for name in {name for name, _ in each["broken"]})
    assert broken == report.violations
    for cell in report.cells:
        here = [tally(each) for window, each in told if window == cell.window]
        assert len(here) == cell.schedules
        for name in TALLIED:
            assert sum(each[name] for each in here) == getattr(cell, name), (cell.window, name)


def test_every_two_crashes_have_the_verdict_of_the_explorer():
    widget = CrashTimeline(refund, engines=("snapshot",), policy="keyed", case=17)
    first = widget._scene.rehearsals["snapshot"].first
    told = [each for _, each in outcomes(widget, "snapshot")]
    for at in range(len(first.life.taps)):
        second = widget._scene.second({"snapshot": (first, at)})
        found, pool = second["engines"]["snapshot"], second["pool"]
        each = [found["outcomes"][number] for number in found["crash"]]
        told += [{**outcome, "broken": [pool[number] for number in outcome["broken"]]} for outcome in each]
    report = explore(refund, engine="snapshot", policy="keyed", crashes=2, case=17)
    assert len(told) == report.schedules
    assert Counter(name for each in told for name in {name for name, _ in each["broken"]}) == report.violations


def test_a_second_crash_is_told_for_where_the_first_stands():
    widget = CrashTimeline(refund, engines=("hybrid",), policy="keyed", case=17, crashed=True)
    widget.knobs = {**widget.knobs, "second": True}
    assert widget.second["for"] == "keyed|as-declared|false W3 of execute_refund"
    widget.at, widget.at_second = "W3 of send_mail", "W3 of close_ticket"
    assert widget.second["for"].endswith(widget.at)
    lanes = widget.told()["hybrid"].timeline.lanes
    assert [lane.killed_at for lane in lanes] == ["send_mail/call:executed#1", "close_ticket/call:executed#1", ""]


def test_the_windows_are_those_of_the_explorer(engine: str):
    widget = CrashTimeline(refund, engines=(engine,), policy="ledger", case=17)
    life = widget._scene.rehearsals[engine].first.life
    assert [window for window, _ in outcomes(widget, engine)] == windows(life.taps)


def test_a_turned_knob_keeps_the_crash_in_its_window():
    widget = CrashTimeline(refund, engines=("snapshot",), policy="ledger", at="execute_refund/intent:after#1", case=17)
    widget.knobs = {**widget.knobs, "policy": "bare"}
    assert widget.at == "W2 of execute_refund" and widget.told()["snapshot"].timeline.policy == "bare"


def test_an_exported_notebook_shows_a_picture_and_its_words():
    widget = CrashTimeline(refund, case=17, crashed=True)
    data, _ = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    picture = ElementTree.fromstring(data["image/svg+xml"])
    assert len(picture.findall("{*}svg")) == 3 and "executed 2 times" in picture.get("aria-label", "")
    assert picture.find("{*}rect").get("fill") == "#fff", "an image does not know whether its page is dark"  # type: ignore[union-attr]
    assert data["image/svg+xml"].count(">DUPLICATE</text>") == 3 == data["text/plain"].count("(DUPLICATE)")


def test_the_page_fetches_nothing_and_holds_every_answer(tmp_path: Path):
    widget = CrashTimeline(refund, engines=("snapshot",), case=17)
    page = widget.to_html(tmp_path / "page.html", knobs=False)
    assert (tmp_path / "page.html").read_text("utf-8") == page
    assert not re.search(r"https?:|src=|@import|url\([^#]|fetch\(|XMLHttp", page)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])  # type: ignore[index]
    assert data["scenes"]["bare|as-declared|false"]["engines"]["snapshot"]["crash"]


def test_nothing_that_a_workflow_says_ends_the_script_of_the_page():
    evil = "</script><script>alert(1)</script><!--"
    targets = {"shop": Target(capability="dedup")}
    flow: Workflow[State] = Workflow("evil", version="1", state=State, begin=State, targets=targets)

    def pay(ctx: Context, state: State) -> None:
        ctx.effect("shop", "pay", {"amount": evil})

    flow.step(pay)
    page = CrashTimeline(flow, engines=("hybrid",)).to_html(knobs=False)
    assert "alert(1)" in page and "<script>alert" not in page and page.count("</script>") == 3


def test_a_counterexample_opens_at_its_crash_on_its_engine(tmp_path: Path):
    report = explore(refund, engine="event-sourced", policy="bare", crashes=1, case=17)
    assert report.counterexample
    widget = CrashTimeline.of_counterexample(report.counterexample.save(tmp_path / "found.json"))
    told = widget.told()
    assert list(told) == ["event-sourced"] and widget.at == "W3 of execute_refund"
    assert told["event-sourced"].verdict == "invalid"
    assert told["event-sourced"].timeline.lanes[0].killed_at == report.counterexample.schedule[0]
    broken = [each.invariant for each in report.counterexample.violations]
    assert [each.invariant for each in told["event-sourced"].violations] == broken != []


def test_a_counterexample_of_two_crashes_shows_both(tmp_path: Path):
    report = explore(refund, engine="hybrid", policy="bare", crashes=1, case=17)
    assert report.counterexample
    two = [report.counterexample.schedule[0], "execute_refund/call:executed#1"]
    report.counterexample.schedule = two
    widget = CrashTimeline.of_counterexample(report.counterexample.save(tmp_path / "found.json"))
    lanes = widget.told()["hybrid"].timeline.lanes
    assert [lane.killed_at for lane in lanes] == [*two, ""]
    report.counterexample.schedule = [*two, two[1]]
    with pytest.raises(InvalidInput, match="3 crashes"):
        CrashTimeline.of_counterexample(report.counterexample.save(tmp_path / "found.json"))


def test_a_schedule_as_plain_data_opens_at_its_crashes():
    schedule = ["execute_refund/call:executed#1", "send_mail/call:executed#1"]
    widget = CrashTimeline.of_schedule(refund, schedule, engine="snapshot", policy="bare", case=17)
    told = widget.told()["snapshot"]
    assert widget.crashed and [lane.killed_at for lane in told.timeline.lanes] == [*schedule, ""]
    assert [each.mark for each in told.timeline.findings] == ["duplicate", "duplicate"] and told.verdict == "invalid"
    with pytest.raises(InvalidInput, match="would not pass load_case"):
        CrashTimeline.of_schedule(refund, [schedule[0], "load_case/commit:after#1"], case=17)


def test_a_real_kill_ends_as_the_simulated_one():
    widget = CrashTimeline(refund, engines=("hybrid",), case=17)
    said: list[str] = []
    widget.observe(lambda change: said.append(change["new"]), "progress")
    widget._asked(widget, {"do": "kill"}, [])
    real = widget.killed["engines"]["hybrid"]
    widget.crashed = True
    told = widget.told()["hybrid"]
    assert [status for _, status in real["ended"]] == [-9]
    assert (real["status"], real["verdict"]) == (told.timeline.status, told.verdict) == ("completed", "invalid")
    assert [name for name, _ in (widget.killed["pool"][n] for n in real["broken"])] == [
        each.invariant for each in told.violations
    ]
    assert said[0] == "hybrid: killing a process at execute_refund/call:executed#1" and said[-1] == ""


def test_a_wrong_tap_or_engine_is_refused():
    with pytest.raises(InvalidInput, match="would not pass"):
        CrashTimeline(refund, at="execute_refund/cal:executed#1", case=17)
    with pytest.raises(InvalidInput, match="no engine"):
        CrashTimeline(refund, engines=("hybird",), case=17)
