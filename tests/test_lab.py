"""What the lab promises: runs wait and go on, kills are real, looking changes nothing, a refusal writes nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import labkit
from labkit import Lab, refund
from labkit.check.evidence import Evidence
from labkit.errors import InvalidInput, LabError, UnknownRun
from labkit.lab.naming import run_id_of

PAYMENT = "acme/refund/refund-17/4.execute_refund"
MAIL = "acme/refund/refund-17/5.send_mail"


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(":memory:") as made:
        yield made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lab.db"


def outside(lab: Lab) -> list[tuple[str, str]]:
    frame = lab.provider()
    return [(row.target, row.receipt_id) for row in frame.itertuples() if row.kind == "effect"]


def test_a_run_waits_for_the_manager_and_says_how_to_approve(lab: Lab):
    run = lab.start(refund, case=17)
    assert run.status == "waiting_for_approval" and run.id == "refund-17"
    assert "lab.approve('refund-17')" in str(run) and "lab.approve" in run._repr_html_()
    assert outside(lab) == []


def test_a_decision_is_kept_and_the_run_goes_on_with_it(lab: Lab):
    run = lab.start(refund, case=17)
    assert lab.approve(run, verdict="edited", changes={"amount": "20.00"}).status == "running"
    done = lab.resume(run)
    assert done.status == "completed" and str(done.state.amount) == "20.00"
    assert dict(outside(lab))["payments"] == "payments-1"


def test_the_same_decision_twice_is_harmless_and_another_one_is_refused(lab: Lab):
    run = lab.start(refund, case=17)
    lab.approve(run)
    lab.approve(run)
    assert lab.resume(run).status == lab.approve(run).status == "completed"
    for other in ({"verdict": "rejected"}, {"by": "mia"}, {"verdict": "edited", "changes": {"amount": "20.00"}}):
        with pytest.raises(InvalidInput, match="asks for no approval: it was approved by manager"):
            lab.approve(run, **other)
    assert len(outside(lab)) == 3


def test_a_rejected_refund_pays_nothing(lab: Lab):
    lab.approve(lab.start(refund, case=17), verdict="rejected", by="mia")
    assert lab.resume("refund-17").status == "cancelled" and outside(lab) == []


def test_looking_changes_nothing(lab: Lab):
    run = lab.start(refund, case=17)
    before = lab.history(run).to_dict()
    for look in (lab.run, lab.history, lab.effects, lab.timeline, lab.evidence):
        look(run)
    lab.runs(), lab.provider()
    assert lab.history(run).to_dict() == before and lab.run(run).status == "waiting_for_approval"


@pytest.mark.parametrize(
    ("inputs", "options"),
    [
        ({"case": 9999}, {}),
        ({"casus": 17}, {}),
        ({"case": 17}, {"run_id": "../../escaped"}),
        ({"case": 17}, {"run_id": "x'; DROP TABLE runs"}),
    ],
)
def test_bad_input_is_refused_and_nothing_is_written(inputs: dict, options: dict, path: Path):
    with Lab(path) as lab:
        with pytest.raises(InvalidInput):
            lab.start(refund, **options, **inputs)
        with pytest.raises(InvalidInput):
            lab.kill(refund, at="W3", **options, **inputs)
        assert lab.runs().empty
    assert {each.name for each in path.parent.rglob("*")} == {"lab.db"}


def test_a_name_that_does_not_exist_makes_no_file_and_suggests_the_nearest(path: Path):
    for options in ({"engine": "snapshit"}, {"policy": "leger"}, {"provider": "dedupe"}):
        with pytest.raises(InvalidInput, match=r"did you mean (snapshot|ledger|dedup)"):
            Lab(path, **options)
    assert not path.exists()


def test_what_is_no_path_workflow_or_tap_is_called_so(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for path in (None, "", 7):
        with pytest.raises(InvalidInput, match=r"is no path|expected str or Path"):
            Lab(path)
    killing, opening = lambda given: lab.kill(given, at="W3", real=False), lambda given: Lab("new.db", workflows=given)
    for ask in (lab.start, killing, opening):
        with pytest.raises(InvalidInput, match="expected a workflow"):
            ask("refund")
    with pytest.raises(InvalidInput, match="neither a window"):
        lab.kill(refund, at=None, real=False)
    assert lab.runs().empty and list(tmp_path.iterdir()) == []


def test_a_closed_lab_says_so(path: Path):
    with Lab(path) as lab:
        lab.start(refund, case=17)
    lab.close()
    for ask in (lab.runs, lab.provider, lambda: lab.run("refund-17"), lambda: lab.start(refund, case=30)):
        with pytest.raises(InvalidInput, match="is closed"):
            ask()


def test_a_run_with_other_inputs_or_nothing_ahead_is_not_killed(lab: Lab):
    lab.start(refund, case=20, approve=True)
    with pytest.raises(InvalidInput, match="begun with inputs case:20, not case:21"):
        lab.kill(refund, at="W3", real=False, run_id="refund-20", case=21)
    for at in ("W3", "execute_refund/call:executed"):
        with pytest.raises(InvalidInput, match="refund-20 is completed"):
            lab.kill(refund, at=at, real=False, case=20)


def test_a_run_id_is_used_once(lab: Lab):
    lab.start(refund, case=17, approve=True)
    with pytest.raises(InvalidInput, match="refund-17 is taken"):
        lab.start(refund, case=17)
    assert len(outside(lab)) == 3 and len(lab.timeline("refund-17").lanes) == 1


def test_another_tenants_run_is_not_there(path: Path):
    with Lab(path) as lab:
        lab.start(refund, case=17)
    with Lab(path, tenant="globex") as other:
        assert other.runs().empty
        for ask in (other.run, other.resume, other.history, other.effects, other.approve, other.cancel):
            with pytest.raises(UnknownRun):
                ask("refund-17")


def test_an_unknown_run_is_told_with_those_that_are_there(lab: Lab):
    lab.start(refund, case=17)
    with pytest.raises(UnknownRun, match="refund-17"):
        lab.resume("refund-71")


def test_a_run_keeps_its_engine_and_policy_whatever_the_lab_is_opened_with(path: Path):
    with Lab(path, engine="snapshot", policy="bare") as lab:
        lab.start(refund, case=17)
    with Lab(path, engine="hybrid", policy="ledger") as lab:
        assert lab.run("refund-17").engine == "snapshot"
        lab.approve("refund-17")
        assert lab.resume("refund-17").run.policy == "bare"


def test_an_ambiguous_mail_waits_until_a_person_resolves_it(lab: Lab):
    lab.kill(refund, at="W3", effect="send_mail", case=17, real=False)
    run = lab.resume("refund-17")
    assert run.status == "waiting_for_person" and "lab.resolve" in run.next
    with pytest.raises(InvalidInput, match=MAIL):
        lab.resolve(MAIL + "x", "not-done")
    lab.resolve(MAIL, "confirmed", "mail-1")
    assert lab.resume("refund-17").status == lab.resolve(MAIL, "confirmed", "mail-1").status == "completed"
    for verdict, receipt in (("not-done", ""), ("rejected", ""), ("confirmed", "mail-2")):
        with pytest.raises(InvalidInput, match="is confirmed, expected ambiguous"):
            lab.resolve(MAIL, verdict, receipt)
    assert [target for target, _ in outside(lab)] == ["payments", "mail", "tickets"]


def test_a_confirmed_effect_can_be_compensated_at_its_provider(lab: Lab):
    lab.start(refund, case=17, approve=True)
    lab.compensate(PAYMENT)
    assert "compensation" in set(lab.provider()["kind"])
    effects = lab.effects("refund-17").set_index("effect_key")
    assert effects.loc[PAYMENT, "status"] == "compensated"


def test_a_cancelled_run_stays_cancelled(lab: Lab):
    run = lab.cancel(lab.start(refund, case=17))
    assert run.status == "cancelled" and lab.resume(run).status == "cancelled"
    assert outside(lab) == []


def test_a_fork_executes_nothing(lab: Lab):
    lab.start(refund, case=17, approve=True)
    before = lab.provider().to_dict()
    at = int(lab.history("refund-17")["state_version"].iloc[-4])
    fork = lab.fork("refund-17", at, "refund-17-again")
    assert fork.status == "running" and lab.provider().to_dict() == before


def test_a_database_of_another_program_is_left_alone(path: Path):
    path.write_bytes(b"not a database, but somebody's file")
    with pytest.raises(LabError):
        Lab(path)
    assert path.read_bytes() == b"not a database, but somebody's file"


def test_evidence_of_a_run_is_about_that_run_alone(lab: Lab):
    lab.start(refund, case=17, approve=True)
    lab.start(refund, case=30, approve=True)
    found = lab.evidence("refund-30")
    assert isinstance(found, Evidence) and len(found.executed()) == 3


def test_a_run_id_is_made_of_what_an_id_may_hold():
    assert run_id_of(refund, {"case": 17}) == "refund-17"
    assert run_id_of(refund, {"case": "../../x y"}) == "refund-..-..-x-y"


def test_importing_labkit_costs_nothing_until_a_name_is_used():
    code = (
        "import sys, labkit; heavy = {'pandas', 'apsw', 'httpx', 'msgspec'} & set(sys.modules); sys.exit(bool(heavy))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    assert all(hasattr(labkit, name) for name in labkit.__all__)
    with pytest.raises(AttributeError, match="no attribute 'lab0'"):
        _ = labkit.lab0
