"""A run that a lab recorded opens in the crash timeline as it went, or is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.cases.refund import refund
from labkit.errors import InvalidInput, UnknownRun
from labkit.lab.facade import Lab
from labkit.model import Context, State, Workflow
from labkit.provider.faults import Fault
from labkit.widgets import CrashTimeline


def lanes(widget: CrashTimeline) -> list[str]:
    """Where each process that the widget shows died; empty for the last."""
    (told,) = widget.told().values()
    return [lane.killed_at for lane in told.timeline.lanes]


def test_a_process_that_was_really_killed_is_shown_where_it_died(tmp_path: Path):
    with Lab(tmp_path / "lab.db", engine="snapshot", policy="bare", provider="neither") as lab:
        killed = lab.kill(refund, case=17, at="W4")
        run = lab.resume("refund-17")
        widget = CrashTimeline.of_run(lab, run)
        recorded = lab.timeline(run)
    assert killed.exit_status == -9 and widget.crashed and lanes(widget) == [killed.tap, ""]
    assert (
        widget.knobs["policy"] == "bare" and widget.knobs["provider"] == "neither" and widget.engines == ("snapshot",)
    )
    (told,) = widget.told().values()
    assert told.timeline.findings == recorded.findings and told.timeline.title == recorded.title


def test_two_deaths_are_shown_and_a_third_is_refused():
    with Lab(":memory:", policy="keyed") as lab:
        for at in ("W3", "W4"):
            lab.kill(refund, run_id="mine", case=17, at=at, real=False)
        widget = CrashTimeline.of_run(lab, "mine")
        assert lanes(widget) == ["execute_refund/call:executed#1", "execute_refund/call:after#1", ""]
        lab.kill(refund, run_id="mine", case=17, at="W3", real=False)
        with pytest.raises(InvalidInput, match="3 crashes"):
            CrashTimeline.of_run(lab, "mine")


def test_a_death_after_an_approval_by_another_process_keeps_its_place(tmp_path: Path):
    with Lab(tmp_path / "lab.db") as lab:
        lab.start(refund, case=17)
    with Lab(tmp_path / "lab.db") as lab:
        lab.approve("refund-17")
        killed = lab.kill(refund, case=17, at="run/claim:after#1", real=False)
        widget = CrashTimeline.of_run(lab, "refund-17")
    assert killed.tap == "run/claim:after#1" and lanes(widget) == ["run/claim:after#2", ""], "counted as one process"


def test_a_run_without_a_crash_opens_uncrashed():
    with Lab(":memory:") as lab:
        widget = CrashTimeline.of_run(lab, lab.start(refund, case=17))
    assert not widget.crashed and lanes(widget) == [""] and widget.at == "W3 of execute_refund"


def test_what_a_person_decided_cannot_be_rehearsed_and_is_refused():
    with Lab(":memory:") as lab:
        lab.kill(refund, at="W3", effect="send_mail", case=17, real=False)
        assert lanes(CrashTimeline.of_run(lab, lab.resume("refund-17"))) == ["send_mail/call:executed#1", ""]
        lab.resolve("acme/refund/refund-17/5.send_mail", "confirmed", "mail-1")
        lab.resume("refund-17")
        with pytest.raises(InvalidInput, match=r"another way.*process 2: run/resolve:before#1") as refused:
            CrashTimeline.of_run(lab, "refund-17")
    assert "lab.timeline(run)" in refused.value.next


def test_an_approval_that_changed_the_amount_is_noticed():
    with Lab(":memory:") as lab:
        lab.start(refund, case=17)
        lab.approve("refund-17", verdict="edited", changes={"amount": "20.00"})
        lab.resume("refund-17")
        with pytest.raises(InvalidInput, match=r"the provider: effect of .*20.00.* a rehearsal has .*49.90"):
            CrashTimeline.of_run(lab, "refund-17")


def test_faults_of_the_lab_happen_in_the_rehearsal_too():
    refused = Fault(target="payments", operation="refund", nth=1, what="refuse")
    with Lab(":memory:", faults=(refused,)) as lab:
        lab.kill(refund, at="policy_check/commit:after#1", case=17, real=False)
        (told,) = CrashTimeline.of_run(lab, lab.resume("refund-17", approve=True)).told().values()
    assert told.timeline.status == "failed"


def echo(version: str) -> Workflow[State]:
    flow: Workflow[State] = Workflow("echo", version=version, state=State, begin=lambda text: State())

    @flow.step
    def say(ctx: Context, state: State) -> None:
        """Nothing to do."""

    return flow


def test_a_run_without_an_effect_opens_at_its_last_tap():
    with Lab(":memory:") as lab:
        widget = CrashTimeline.of_run(lab, lab.start(echo("1"), text="hello"))
    assert not widget.crashed and lanes(widget) == [""] and widget.at == "say/commit:after#1"


def test_long_inputs_must_be_given_again_and_another_version_is_refused(tmp_path: Path):
    with Lab(tmp_path / "lab.db") as lab:
        killed = lab.kill(echo("1"), run_id="long", at="say/commit:after#1", text="x" * 300, real=False)
        with pytest.raises(InvalidInput, match="only the beginning of input text"):
            CrashTimeline.of_run(lab, "long")
        assert lanes(CrashTimeline.of_run(lab, "long", text="x" * 300)) == [killed.tap, ""]
        with pytest.raises(InvalidInput, match="begun with inputs"):
            CrashTimeline.of_run(lab, "long", text="y" * 300)
    with Lab(tmp_path / "lab.db", workflows=[echo("2")]) as lab:
        with pytest.raises(InvalidInput, match="version 1, the code here is 2"):
            CrashTimeline.of_run(lab, "long")
        with pytest.raises(UnknownRun):
            CrashTimeline.of_run(lab, "short")
