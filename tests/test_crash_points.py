"""The crash that is named is the crash that happens: each engine dies at its own tap of the window, if it has one."""

from __future__ import annotations

from collections import Counter

import pytest
from crash_cases import clock, idle, loop, of, two_in_one_step

from labkit import Lab, compare, refund
from labkit.check.windows import windows
from labkit.effects.policies import POLICIES
from labkit.engines import ENGINES
from labkit.errors import InvalidInput
from labkit.lab.compare import Comparison
from labkit.lab.crash_points import CrashPoint, crash_points, effects_of, find, points
from labkit.lab.foresee import choose_tap
from labkit.taps import Tap
from labkit.widgets import CrashTimeline

CASES = {"refund": lambda: refund, "two": two_in_one_step, "loop": loop}


def said(widget: CrashTimeline) -> dict[str, tuple[str, str, Counter[str]]]:
    """What the widget shows of each engine: the tap, the verdict, and how often each effect was executed."""
    return {
        engine: (
            told.timeline.lanes[0].killed_at,
            told.verdict,
            Counter(each.subject for each in told.timeline.outside if each.kind == "effect"),
        )
        for engine, told in widget.told().items()
    }


def compared(comparison: Comparison) -> dict[str, tuple[str, str, Counter[str]]]:
    """The same of a comparison."""
    return {
        row.engine: (
            row.killed_at,
            row.verdict,
            Counter(each.subject for each in row.timeline.outside if each.kind == "effect"),
        )
        for row in comparison.rows
        if row.timeline
    }


@pytest.mark.parametrize("case", CASES)
def test_at_every_stop_the_widget_says_what_compare_says(case: str, policy: str):
    flow = CASES[case]()
    widget = CrashTimeline(flow, policy=policy, crashed=True)
    stops = [name for name, *_ in widget.scene["stops"]]
    for name in stops:
        widget.at = name
        comparison = compare(flow, at=name, policy=policy, real=False)
        assert said(widget) == compared(comparison), name
        lacking = [row.engine for row in comparison.rows if row.lacks]
        assert [text.split()[0] for text in widget.to_text().splitlines() if "nothing was crashed" in text] == lacking
    assert len(stops) > 10


@pytest.mark.parametrize(
    ("at", "policy"), [("W4 of execute_refund", "bare"), ("W5 of send_mail", "keyed"), ("W2 of close_ticket", "outbox")]
)
def test_the_widget_says_what_real_kills_lead_to(at: str, policy: str):
    widget = CrashTimeline(refund, policy=policy, at=at, crashed=True)
    assert said(widget) == compared(compare(refund, at=at, policy=policy))


@pytest.mark.parametrize("case", CASES)
def test_every_stop_is_a_window_or_a_tap_of_its_own_and_has_words_of_its_own(case: str, policy: str):
    scene = CrashTimeline(CASES[case](), policy=policy).scene
    names, words = [name for name, *_ in scene["stops"]], [words for _, words, _ in scene["stops"]]
    assert len(set(names)) == len(names) == len(set(words))
    assert all(any(tap is not None for tap in taps) for *_, taps in scene["stops"])


def test_in_w4_every_engine_dies_in_w4():
    for policy in POLICIES:
        told = CrashTimeline(refund, policy=policy, at="W4", crashed=True, case=17).told()
        assert {each.timeline.lanes[0].window for each in told.values()} == {"W4"}
        assert list(told) == list(ENGINES)


def test_an_engine_without_the_moment_says_so_and_nothing_is_killed_on_it():
    at = "load_case/record:before#1"
    comparison = compare(refund, at=at, real=False, case=17)
    assert [row.lacks for row in comparison.rows] == [f"does not pass {at}", "", ""]
    assert "snapshot does not pass load_case/record:before#1: nothing was killed" in " ".join(str(comparison).split())
    widget = CrashTimeline(refund, at=at, crashed=True, case=17)
    sentence = f"snapshot does not pass {at}: nothing was crashed"
    assert list(widget.told()) == ["event-sourced", "hybrid"]
    assert sentence in widget.to_text() and sentence in widget.to_svg()
    widget.crashed = False
    assert "nothing was crashed" not in widget.to_text() and list(widget.told()) == list(ENGINES)


def test_a_moment_that_no_engine_has_is_refused_before_anything_is_run():
    for ask in (compare, CrashTimeline):
        with pytest.raises(InvalidInput, match="would not pass window W3 of any effect"):
            ask(of("idle", idle), at="W3")
        with pytest.raises(InvalidInput, match="effects ahead: execute_refund, send_mail, close_ticket"):
            ask(refund, at="W3", effect="load_case")


def test_another_policy_keeps_the_window_and_says_when_no_engine_has_it():
    widget = CrashTimeline(refund, policy="ledger", at="W1", effect="send_mail", crashed=True, case=17)
    for policy in ("bare", "outbox", "keyed", "ledger"):
        widget.knobs = {**widget.knobs, "policy": policy}
        assert widget.at == "W1 of send_mail"
        if policy in ("bare", "keyed"):
            assert widget.told() == {} and widget.to_text().count("has no W1 of send_mail: nothing was crashed") == 3
        else:
            assert {each.timeline.lanes[0].window for each in widget.told().values()} == {"W1"}


def test_the_same_moment_is_meant_by_kill_compare_and_the_widget():
    with Lab(":memory:", engine="event-sourced", policy="bare") as lab:
        killed = lab.kill(refund, at="W5 of send_mail", case=17, real=False)
    row = compare(refund, at="W5", effect="send_mail", real=False, case=17).rows[1]
    told = CrashTimeline(refund, at="w5", effect="send_mail", crashed=True, case=17).told()["event-sourced"]
    assert killed.tap == row.killed_at == told.timeline.lanes[0].killed_at == "send_mail/record:after#1"


@pytest.mark.parametrize("case", CASES)
def test_the_moments_of_a_process_cover_its_taps(case: str, engine: str, policy: str):
    taps = CrashTimeline(CASES[case](), engines=(engine,), policy=policy)._scene.stops.taps[engine]
    known = crash_points(taps)
    assert list(known.values()) == sorted(known.values()) and set(points(taps)) == set(known)
    for point, at in known.items():
        assert find(taps, point) == at and choose_tap(taps, str(point)) == taps[at] == choose_tap(taps, str(taps[at]))
        assert windows(taps)[at] == (point.at if point.effect else "between")
        assert CrashPoint.parse(str(point)) == point and point.place


def test_the_second_visit_to_an_effect_has_a_name_of_its_own():
    taps = [Tap(f"pay/{name}", phase, nth) for nth in (1, 2) for name, phase in VISIT]
    assert effects_of(taps) == ["pay", "pay#2"]
    assert str(choose_tap(taps, "W3", "pay#2")) == "pay/call:executed#2"
    assert str(choose_tap(taps, "W2")) == "pay/call:before#1" and str(choose_tap(taps, "W5")) == "pay/commit:after#1"


VISIT = [("call", "before"), ("call", "executed"), ("call", "after"), ("commit", "before"), ("commit", "after")]


def test_a_run_that_asks_its_clock_is_never_called_invalid_for_it():
    rows = compare(clock(), at="W2", policy="ledger", real=False).rows
    assert {row.verdict for row in rows} == {"unknown"} and {row.killed_at for row in rows} == {"pay/call:before#1"}
    assert all("asks its clock or chance" in reason for row in rows for reason in row.missing)
