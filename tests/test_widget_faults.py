"""The timeline's knob for call faults: the fault happens at the effect that is looked at, alone and with a crash."""

from __future__ import annotations

import pytest

from labkit import refund
from labkit.errors import InvalidInput
from labkit.provider.faults import CALL_FAULTS, Fault, faults_for
from labkit.widgets import CrashTimeline
from labkit.widgets.faulting import faults_of


def turned(widget: CrashTimeline, fault: str) -> CrashTimeline:
    """The widget with its knob at this fault."""
    widget.knobs = {**widget.knobs, "fault": fault}
    return widget


@pytest.mark.parametrize("fault", CALL_FAULTS)
def test_the_knob_does_what_the_fault_given_at_the_start_does(fault: str):
    given = faults_for(fault, "mail", "send", 1)
    options = {"engines": ("hybrid",), "policy": "keyed", "at": "load_case/commit:after#1", "case": 17, "crashed": True}
    knob = turned(CrashTimeline(refund, **options), f"{fault} of send_mail")
    fixed = CrashTimeline(refund, faults=given, **options)
    assert knob.told()["hybrid"].timeline.data() == fixed.told()["hybrid"].timeline.data()
    assert knob.told()["hybrid"].verdict == fixed.told()["hybrid"].verdict


def test_the_crash_stays_in_its_window_and_none_is_none():
    widget = CrashTimeline(refund, engines=("snapshot",), at="W3", case=17, crashed=True)
    before = widget.told()["snapshot"].timeline.data()
    assert turned(widget, "refused of execute_refund").at == "W3 of execute_refund"
    assert widget.told() == {} and "has no W3 of execute_refund: nothing was crashed" in widget.to_text()
    assert turned(widget, "").told()["snapshot"].timeline.data() == before


def test_a_fault_is_of_the_effect_that_is_named():
    calm = CrashTimeline(refund, engines=("hybrid",), case=17)._scene.rehearsals["hybrid"]
    assert faults_of("reply_lost of send_mail", calm) == (Fault("mail", "send", 1, "reply_lost"),)
    assert faults_of("", calm) == () == faults_of("away of load_case", calm)
    with pytest.raises(InvalidInput, match="call fault"):
        faults_of("away_with_it of send_mail", calm)


def test_with_faults_of_ones_own_the_knob_offers_none():
    widget = CrashTimeline(refund, engines=("hybrid",), faults=faults_for("away", "mail", "send", 1), case=17)
    assert widget.choices["fault"] == {} and list(CrashTimeline(refund, case=17).choices["fault"]) == list(CALL_FAULTS)
