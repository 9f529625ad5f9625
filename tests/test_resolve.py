"""Effects that only a person can settle: what a person may say, when, and what the run then does."""

from __future__ import annotations

import pytest
from workflows import Rig, chain, dying

from labkit.effects.ledger import MAX_ATTEMPTS
from labkit.effects.reconcile import compensate, resolve
from labkit.errors import EffectRejected, InvalidInput
from labkit.provider.faults import Fault
from labkit.taps import Crash

PAY = [["bank.pay"], ["think"]]
KEY = "acme/small/r/0.s0"
TRACKING = pytest.mark.parametrize("policy", ["ledger", "outbox"])


def silent(calls: int) -> list[Fault]:
    """A provider that gives no clear answer to the first `calls` calls and does nothing."""
    return [Fault("bank", "pay", nth, "fail_before") for nth in range(1, calls + 1)]


def stuck(engine: str, policy: str) -> Rig:
    """A run that waits for a person: its provider can neither dedup nor answer, and said nothing once."""
    rig = Rig(chain(PAY), engine, policy, "neither", silent(1))
    run = rig.drive()
    assert run.status == "waiting_for_person"
    assert KEY in run.reason and "reconcile: look into the target system" in run.reason
    return rig


# verdict -> status of the run then, status of the entry, times executed
VERDICTS = {
    ("confirmed", "bank-by-phone"): ("completed", "confirmed", 0),
    ("not-done", ""): ("completed", "confirmed", 1),
    ("rejected", ""): ("failed", "rejected", 0),
}


@TRACKING
@pytest.mark.parametrize("verdict", VERDICTS)
def test_the_run_goes_on_as_the_person_said(engine, policy, verdict):
    rig = stuck(engine, policy)
    resolve(rig.store, "acme", KEY, *verdict)
    run = rig.drive()
    [entry] = rig.effects()
    assert (run.status, entry.status, rig.executed()["r/0.s0"]) == VERDICTS[verdict]
    assert rig.process().read("r").outcome() == run.outcome()
    if verdict[0] == "confirmed":
        assert entry.receipt_id == "bank-by-phone"


@TRACKING
@pytest.mark.parametrize("verdict", VERDICTS)
def test_a_fork_that_waits_for_the_same_effect_goes_on_too(engine, policy, verdict):
    rig = Rig(chain(PAY), engine, policy, "neither", silent(1))
    rig.crash("s0/doubt:before#1")
    moments = rig.process().parts.engine.history("r")
    rig.fork(moments[-1].state_version, "f")
    assert [rig.drive(run_id).status for run_id in ("r", "f")] == ["waiting_for_person"] * 2
    resolve(rig.store, "acme", KEY, *verdict)
    assert [rig.drive(run_id).status for run_id in ("r", "f")] == [VERDICTS[verdict][0]] * 2
    assert rig.executed()["r/0.s0"] == VERDICTS[verdict][2]


REFUSED = {
    "unknown verdict": ("acme", KEY, "perhaps", ""),
    "a receipt is missing": ("acme", KEY, "confirmed", ""),
    "a receipt too many": ("acme", KEY, "not-done", "bank-1"),
    "another tenant": ("globex", KEY, "not-done", ""),
    "unknown effect": ("acme", f"{KEY}.2", "not-done", ""),
    "SQL as a key": ("acme", "x' OR '1'='1", "not-done", ""),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_verdict_that_makes_no_sense_is_refused_and_nothing_is_written(case):
    rig = stuck("hybrid", "ledger")
    before = rig.store.image()
    with pytest.raises(InvalidInput) as refused:
        resolve(rig.store, *REFUSED[case])
    assert refused.value.safe == "nothing was written"
    assert rig.store.image() == before


@pytest.mark.parametrize(
    ("at", "status"),
    [("s0/intent:after#1", "planned"), ("s0/call:before#1", "executing"), ("s0/confirm:after#1", "confirmed")],
)
@pytest.mark.parametrize("verdict", VERDICTS)
def test_only_an_ambiguous_effect_of_an_open_run_can_be_resolved(at, status, verdict):
    rig = Rig(chain(PAY))
    rig.crash(at)
    before = rig.store.image()
    with pytest.raises(InvalidInput, match=f"is {status}, expected ambiguous"):
        resolve(rig.store, "acme", KEY, *verdict)
    assert rig.store.image() == before
    assert rig.drive().status == "completed"


def test_the_second_of_two_verdicts_is_refused(engine):
    rig = stuck(engine, "ledger")
    resolve(rig.store, "acme", KEY, "rejected")
    with pytest.raises(InvalidInput, match="is rejected, expected ambiguous"):
        resolve(rig.store, "acme", KEY, "not-done")
    assert rig.drive().status == "failed"


def test_an_effect_in_flight_when_the_run_was_cancelled_can_still_be_settled(engine):
    rig = Rig(chain(PAY), engine, provider="neither")
    rig.crash("s0/call:executed#1")
    rig.process().cancel("r", "no longer wanted")
    resolve(rig.store, "acme", KEY, "confirmed", "bank-1")
    assert [entry.status for entry in rig.effects()] == ["confirmed"]
    assert rig.process().resume("r").status == "cancelled"


@TRACKING
@pytest.mark.parametrize("capability", ["dedup", "lookup"])
def test_used_up_attempts_end_with_a_person_who_can_grant_new_ones(engine, policy, capability):
    rig = Rig(chain(PAY), engine, policy, capability, silent(MAX_ATTEMPTS))
    calls: list[str] = []
    call = rig.twin.execute
    rig.twin.execute = lambda order, executed: (calls.append(order.subject), call(order, executed))[1]
    for _ in range(3):
        assert rig.drive().status == "waiting_for_person"
    assert len(calls) == MAX_ATTEMPTS
    assert [(entry.status, entry.attempts) for entry in rig.effects()] == [("ambiguous", MAX_ATTEMPTS)]
    resolve(rig.store, "acme", KEY, "not-done")
    assert rig.drive().status == "completed"
    assert len(calls) == MAX_ATTEMPTS + 1
    assert rig.executed() == {"r/0.s0": 1}


@TRACKING
def test_a_provider_that_can_be_asked_is_asked_instead_of_called_again(engine, policy):
    rig = Rig(chain(PAY), engine, policy, "lookup")
    rig.crash("s0/call:executed#1")
    assert [entry.status for entry in rig.effects()] == ["executing"]
    assert rig.drive().status == "completed"
    assert [entry.receipt_id for entry in rig.effects()] == [rig.twin.entries()[0].receipt_id]
    assert rig.executed() == {"r/0.s0": 1}


@TRACKING
def test_an_effect_is_compensated_once(engine, policy):
    rig = Rig(chain(PAY), engine, policy)
    rig.drive()
    before = rig.store.image()
    with pytest.raises(InvalidInput, match="not confirmed"):
        compensate(rig.store, rig.twin, "globex", KEY)
    assert rig.store.image() == before and rig.outside("compensation") == 0
    entry = compensate(rig.store, rig.twin, "acme", KEY)
    assert (entry.status, entry.receipt_id) == ("compensated", "bank-1-compensated")
    with pytest.raises(InvalidInput, match="not confirmed"):
        compensate(rig.store, rig.twin, "acme", KEY)
    assert rig.outside("compensation") == 1
    assert rig.process().read("r").status == "completed"


def test_a_compensation_whose_process_died_is_made_once():
    rig = Rig(chain(PAY))
    rig.drive()
    with dying("s0/compensated:before#1"), pytest.raises(Crash):
        compensate(rig.store, rig.twin, "acme", KEY)
    assert [entry.status for entry in rig.effects()] == ["confirmed"]
    compensate(rig.store, rig.twin, "acme", KEY)
    assert rig.outside("compensation") == 1


def test_a_compensation_that_the_provider_refuses_says_what_a_person_has_to_do():
    rig = Rig(chain([["desk.close"]]))
    rig.drive()
    with rig.store.transaction("test/set") as tx:
        tx.execute("UPDATE effects SET receipt_id='desk-99'")
    with pytest.raises(EffectRejected, match="a person has to do it: call the desk"):
        compensate(rig.store, rig.twin, "acme", KEY)
    assert [entry.status for entry in rig.effects()] == ["confirmed"]


@TRACKING
def test_an_effect_that_was_undone_is_not_done_again(engine, policy):
    rig = Rig(chain(PAY), engine, policy)
    rig.crash("s0/confirm:after#1")
    compensate(rig.store, rig.twin, "acme", KEY)
    knew = engine != "snapshot" and policy == "ledger"  # the receipt was in the journal: the step had its answer
    assert rig.drive().status == ("completed" if knew else "failed")
    assert rig.executed() == {"r/0.s0": 1}
    assert [entry.status for entry in rig.effects()] == ["compensated"]
