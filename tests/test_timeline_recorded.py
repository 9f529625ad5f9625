"""A recorded run as a list of calls: order, marks and words, in text, in the picture and as data."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from command import answer, labkit, refused

from labkit.timeline.recorded import SIGNS, RecordedTimeline, timelines
from labkit.timeline.recorded_svg import SHAPES, draw
from labkit.trajectory.identity import same_effects
from labkit.trajectory.model import OUTCOMES, Stray, ToolCall, Trajectory, Turn

DESK = Path(__file__).resolve().parent.parent / "datasets" / "trajectory_refund_desk.jsonl"


def recorded() -> Trajectory:
    """A run with a call of each outcome, two of them one effect, a read, and a stray result between them."""
    calls = [ToolCall(id=f"c{n}", name="pay", arguments={"n": n}, outcome=each) for n, each in enumerate(OUTCOMES)]
    calls += [ToolCall(id="c8", name="pay", arguments={"n": 0.0}, outcome="answered")]
    calls += [ToolCall(id="c9", name="look", arguments={}, outcome="answered")]
    for number, call in enumerate(calls):
        call.place = f"messages[{2 * number}].tool_calls[0]"
    stray = Stray(place="messages[3]", id="gone", name="pay", text="<paid> & gone")
    return Trajectory(id="<run>", turns=[Turn(text="", calls=[call]) for call in calls], strays=[stray])


def test_each_call_and_each_stray_has_a_line_in_order_with_a_sign_and_a_word() -> None:
    timeline = RecordedTimeline.of(recorded(), {"pay"})
    marks = [beat.mark for beat in timeline.beats]
    assert marks == ["answered", "failed", "stray", *["in doubt"] * 4, "never made", "answered", "answered"]
    assert [beat.number for beat in timeline.beats] == list(range(1, 11))
    assert [beat.twice for beat in timeline.beats if beat.twice] == [[9], [1]]
    assert [beat.effect for beat in timeline.beats] == [True] * 9 + [False]
    told = str(timeline)
    for word in ("IN DOUBT", "NOBODY ASKED", "never made", "TWICE? see 9", "failed", "no result"):
        assert word in told
    assert len(set(SIGNS.values())) == len(SIGNS) == len(set(SHAPES.values())) and SIGNS.keys() == SHAPES.keys()


def test_what_is_known_to_be_one_effect_is_called_a_duplicate() -> None:
    run = recorded()
    timeline = RecordedTimeline.of(run, {"pay"}, same_effects(["n"], [run], {"pay"}))
    assert "DUPLICATE see 9" in str(timeline) and "TWICE?" not in str(timeline)


def test_the_picture_is_one_svg_that_says_all_of_it_without_colour() -> None:
    timeline = RecordedTimeline.of(recorded(), {"pay"})
    root = ET.fromstring(timeline.svg())
    said = "".join(root.itertext())
    for beat in timeline.beats:
        assert beat.call in said and beat.words[:20] in said
    assert "IN DOUBT" in root.attrib["aria-label"]
    sizes = [float(size) for size in re.findall(r"font(?:-size)?:(\d+(?:\.\d+)?)px", timeline.svg())]
    assert sizes and min(sizes) >= 12
    assert ET.fromstring(draw([])) is not None
    assert "the same as text" in timeline._repr_html_()


def test_only_runs_in_which_something_stands_out_are_drawn_or_else_all() -> None:
    travel = DESK.with_name("trajectory_travel.jsonl")
    assert len(timelines([travel], ["book_hotel"])) == 3
    drawn = timelines([DESK], ["issue_refund", "send_mail"])
    assert [each.trajectory for each in drawn] == ["refund-desk-3"]
    assert len(timelines([DESK])) >= 1


def test_the_command_shows_it_writes_it_and_takes_no_other_file_for_it(tmp_path: Path) -> None:
    picture, other = tmp_path / "runs.svg", tmp_path / "other.txt"
    crashed = ["--effect", "issue_refund", "--effect", "send_mail", "--engine", "hybrid", "--policy", "ledger"]
    told = labkit("trajectory", DESK, *crashed, "--timeline", "--out", picture).stdout
    assert "IN DOUBT: timed out" in told and "Taken as reads, which may be repeated: ask_manager (" in told
    assert told.index("What has happened") < told.index("What one crash would do")
    assert ET.fromstring(picture.read_text("utf-8")) is not None
    looked = labkit("trajectory", DESK)
    assert looked.exit_code == 0 and "Tools called: ask_manager (" in looked.stdout and "--timeline" in looked.stdout
    data = answer(labkit("trajectory", DESK, "--timeline", "--json"))
    assert next(iter(data)) == "happened" and {"tools", "timelines"} <= data.keys()
    other.write_text("mine", "utf-8")
    for wrong in (["--engine", "hybrid"], ["--provider", "dedup"], ["--same-effect", "nothing"], ["--out", other]):
        assert "next: " in refused(labkit("trajectory", DESK, *wrong, "--json"))
    assert other.read_text("utf-8") == "mine"


@pytest.mark.parametrize("rule", ["order_id", "issue_refund:order_id"])
def test_the_rule_of_the_command_makes_a_finding_of_a_question(rule: str) -> None:
    named = ["trajectory", str(DESK), "--effect", "issue_refund", "--same-effect", rule, "--engine", "hybrid"]
    found = answer(labkit(*named, "--policy", "ledger", "--json"))
    repeated = [each for run in found["happened"] for each in run["repeated"]]
    assert all(each["same"] == rule for each in repeated) and not any(run["in_doubt"] for run in found["happened"][:2])
