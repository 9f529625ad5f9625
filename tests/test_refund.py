"""The reference workflow on its dataset: what can be processed is, what cannot be is refused before it begins."""

from __future__ import annotations

from typing import Any

import pytest
from workflows import Rig, refused

from labkit.cases.refund import refund
from labkit.cases.service_desk import record, records
from labkit.errors import InvalidInput
from labkit.scenario import Scenario, drive

OK = [case for case, row in records().items() if row["expect"] == "ok"]
REFUSED = [case for case, row in records().items() if row["expect"] == "refuse"]


def desk(case: Any, engine: str = "snapshot") -> Rig:
    """The reference workflow on one case; its tables are there."""
    rig = Rig(refund, engine)
    rig.inputs = {"case": case}
    assert rig.process()
    return rig


@pytest.mark.parametrize("case", REFUSED)
def test_a_case_that_cannot_be_processed_is_refused_naming_the_field(case):
    row, rig = record(case), desk(case)
    tenant = row["tenant"] or "acme"
    runner = rig.process(tenant=tenant if tenant in ("acme", "globex", "initech") else "acme")
    field = row["why"].split(":")[0]
    refused(rig, InvalidInput, lambda: runner.start("r", {"case": case}), f"case {case} is refused: {field} ")


def test_there_are_cases_to_refuse_and_cases_to_take():
    assert len(REFUSED) == 45 and len(OK) == 269


def finish(case: int, engine: str) -> Rig:
    """Take a case through the workflow as its tenant; check what was done outside."""
    rig, row = desk(case, engine), record(case)
    scenario = Scenario(workflow=refund, inputs={"case": case}, engine=engine)
    run = drive(scenario.runner(rig.store, rig.twin, rig.clock), "r", {"case": case})
    assert (run.status, run.tenant_id) == ("completed", row["tenant"]), case
    paid, mail, _ = [entry.request for entry in rig.twin.entries() if entry.kind == "effect"]
    assert paid == {"order": row["order_id"], "amount": row["amount"], "currency": row["currency"]}
    assert mail["to"] == row["email"] and row["customer"].strip() in mail["text"]
    kept = rig.store.rows("SELECT content FROM artifacts")
    assert (run.data.note if not kept else kept[0][0]) == row["note"]
    assert scenario.runner(rig.store, rig.twin).read("r").outcome() == run.outcome()
    return rig


def test_every_valid_case_completes():
    for case in OK:
        finish(case, "snapshot")


@pytest.mark.parametrize("case", [17, *OK[200::6]])
def test_awkward_valid_cases_complete_on_every_engine(engine, case):
    finish(case, engine)


def test_a_note_of_200_kB_is_kept_beside_the_state(engine):
    [case] = [case for case in OK if len(record(case)["note"].encode()) == 200_000]
    rig = finish(case, engine)
    [(content,)] = rig.store.rows("SELECT content FROM artifacts")
    assert len(content.encode()) == 200_000
    bodies = {"snapshot": "body FROM snapshots", "hybrid": "body FROM base_snapshots"}
    if engine in bodies:
        assert max(len(body) for (body,) in rig.store.rows(f"SELECT {bodies[engine]}")) < 4_000


@pytest.mark.parametrize(
    "inputs", [{}, {"cas": 17}, {"case": 17, "x": 1}, *({"case": bad} for bad in (0, "17", 1e6, None, True, [17]))]
)
def test_inputs_that_do_not_fit_the_workflow_are_refused(inputs):
    rig = desk(17)
    refused(rig, InvalidInput, lambda: rig.process().start("r", inputs), "case")


def test_a_case_of_another_tenant_is_refused():
    rig = desk(17)
    refused(rig, InvalidInput, lambda: rig.process(tenant="globex").start("r", {"case": 17}), "another tenant")
