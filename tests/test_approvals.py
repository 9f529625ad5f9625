"""Approvals: asked once, used once, decided once, by the right tenant, whenever a process dies."""

from __future__ import annotations

import pytest
from workflows import Rig, chain, taps_of, workflow

from labkit.cases.refund import refund
from labkit.coordination import approvals
from labkit.errors import InvalidInput, InvalidState
from labkit.model import ActivityCall, Decision

ASK = [["think"], ["think", "ask", "bank.pay"], ["think"]]


def asked(rig: Rig, run_id: str = "r") -> list[approvals.Approval]:
    """What run `run_id` has asked so far."""
    return approvals.of_run(rig.store, run_id)


def waiting(rig: Rig) -> approvals.Approval:
    """The one open question of run r, after a process ran until it had to wait."""
    rig.process().start("r", rig.inputs)
    [question] = asked(rig)
    assert question.status == "requested" and question.answer() is None
    return question


def decide(rig: Rig, request_id: str, verdict: str, tenant: str = "acme", **changes: object) -> None:
    """Mia's decision."""
    approvals.decide(rig.store, tenant, request_id, Decision(verdict=verdict, by="mia", changes=changes))


def test_a_run_waits_across_processes_and_asks_once(engine, policy):
    rig = Rig(chain(ASK), engine, policy)
    question = waiting(rig)
    assert (question.role, question.question) == ("boss", "1.1?")
    image = rig.store.image()
    for _ in range(3):
        run = rig.process().resume("r")
        assert (run.status, run.reason) == ("waiting_for_approval", "boss decides: 1.1?")
    assert rig.store.image() == image and rig.outside("effect") == 0
    decide(rig, question.request_id, "approved")
    assert rig.process().resume("r").status == "completed"
    assert [(each.status, each.used) for each in asked(rig)] == [("approved", 1)]


@pytest.mark.parametrize("policy", ["bare", "ledger", "outbox"])
def test_asked_once_and_used_once_wherever_a_process_dies(engine, policy):
    def asking() -> Rig:
        return Rig(chain([["think", "ask", "think"]]), engine, policy)

    expected = asking().drive().outcome()
    for at in taps_of(asking):
        rig = asking()
        rig.crash(at)
        assert rig.drive().outcome() == expected, at
        assert [(each.request_id, each.used) for each in asked(rig)] == [("r.0.s0", 1)], at


def test_a_decision_that_was_taken_survives_the_process_that_heard_it(engine):
    rig = Rig(chain(ASK), engine)
    decide(rig, waiting(rig).request_id, "rejected")
    rig.crash("s1/record:before#1" if engine != "snapshot" else "s1/commit:before#1")
    assert rig.process().resume("r").data.log[2] == "rejected"


def test_two_questions_of_one_step_are_asked_one_after_the_other(engine):
    def both(ctx, state):
        state.log += [ctx.approval(role, f"{role}?").by for role in ("first", "second")]

    rig = Rig(workflow(both), engine)
    rig.process().start("r", {})
    for role in ("first", "second"):
        [question] = [each for each in asked(rig) if each.status == "requested"]
        assert question.role == role
        approvals.decide(rig.store, "acme", question.request_id, Decision(verdict="approved", by=f"the {role}"))
        run = rig.process().resume("r")
    assert run.data.log == ["the first", "the second"]
    assert [each.used for each in asked(rig)] == [1, 1]


def test_a_step_that_comes_round_again_asks_again(engine):
    def ask(ctx, state):
        state.log.append(ctx.approval("boss", "again?").verdict)
        return "ask" if len(state.log) < 3 else None

    rig = Rig(workflow(ask), engine)
    assert rig.drive().data.log == ["approved"] * 3
    assert [each.used for each in asked(rig)] == [1, 1, 1]


def test_a_fork_from_before_the_question_asks_for_itself(engine):
    rig = Rig(chain(ASK), engine)
    rig.drive()
    rig.fork(0, "f")
    assert rig.drive("f").status == "completed"
    assert [each.used for each in asked(rig) + asked(rig, "f")] == [1, 1]
    rig.fork(rig.process().parts.engine.history("r")[-2].state_version, "late")
    assert rig.drive("late").status == "completed"
    assert asked(rig, "late") == []


REFUSED = {
    "another tenant": {"tenant": "globex"},
    "unknown question": {"request_id": "r.9.s9"},
    "SQL as a question": {"request_id": "' OR 1=1 --"},
    "no verdict": {"verdict": ""},
    "a status as verdict": {"verdict": "requested"},
    "expired is no decision": {"verdict": "expired"},
    "changes without edited": {"verdict": "approved", "amount": 5},
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_decision_that_makes_no_sense_is_refused_and_nothing_is_written(case):
    rig = Rig(chain(ASK))
    sensible = {"request_id": waiting(rig).request_id, "verdict": "approved"}
    image = rig.store.image()
    with pytest.raises(InvalidInput) as refused:
        decide(rig, **{**sensible, **REFUSED[case]})
    assert refused.value.safe == "nothing was written"
    assert rig.store.image() == image


@pytest.mark.parametrize("second", ["approved", "rejected"])
@pytest.mark.parametrize("resumed", [False, True])
def test_a_question_is_decided_once(engine, resumed, second):
    rig = Rig(chain(ASK), engine)
    question = waiting(rig)
    decide(rig, question.request_id, "approved")
    if resumed:
        rig.process().resume("r")
    with pytest.raises(InvalidInput, match="is approved, expected requested"):
        decide(rig, question.request_id, second)
    run = rig.process().resume("r")
    assert run.data.log[2] == "approved"
    assert [each.used for each in asked(rig)] == [1]


def test_nothing_is_left_to_decide_about_a_closed_run(engine):
    rig = Rig(chain(ASK), engine)
    question = waiting(rig)
    rig.process().cancel("r", "no longer wanted")
    with pytest.raises(InvalidInput, match="r is cancelled"):
        decide(rig, question.request_id, "approved")
    assert [each.status for each in asked(rig)] == ["requested"]
    assert rig.process().resume("r").status == "cancelled"


def test_a_decision_with_a_secret_or_an_object_is_not_stored():
    for changes in ({"note": "sk-" + "a1" * 12}, {"note": object()}):
        rig = Rig(chain(ASK))
        question = waiting(rig)
        with pytest.raises(InvalidState, match="decision of approval"):
            decide(rig, question.request_id, "edited", **changes)
        assert asked(rig) == [question]


def drifting(call: ActivityCall) -> str:
    """A model that asks for more when it is asked again."""
    return "49.90" if call.number == 1 else "9999.00"


def test_a_decision_is_about_its_question_and_no_other(engine):
    def ask(ctx, state):
        state.extra = ctx.activity(drifting)
        ctx.approval("boss", f"pay {state.extra}?")
        ctx.effect("bank", "pay", {"amount": state.extra})

    rig = Rig(workflow(ask), engine)
    assert waiting(rig).question == "pay 49.90?"
    decide(rig, "r.0.ask", "approved")
    if engine == "snapshot":  # the step runs again from its top, and the model answers differently
        with pytest.raises(InvalidInput, match=r"asks boss 'pay 49.90\?', now the step asks boss 'pay 9999.00\?'"):
            rig.process().resume("r")
        assert rig.outside("effect") == 0 and asked(rig)[0].used == 0
    else:
        rig.process().resume("r")
        assert [entry.request for entry in rig.twin.entries() if entry.kind == "effect"] == [{"amount": "49.90"}]


def refunding(engine: str) -> Rig:
    """The reference workflow on case 17, 49.90 EUR."""
    rig = Rig(refund, engine)
    rig.inputs = {"case": 17}
    return rig


@pytest.mark.parametrize("amount", ["12.50", "49.90", 1])
def test_an_edit_changes_what_is_done(engine, amount):
    rig = refunding(engine)
    decide(rig, waiting(rig).request_id, "edited", amount=amount)
    assert rig.process().resume("r").status == "completed"
    [paid] = [entry.request["amount"] for entry in rig.twin.entries() if entry.target == "payments"]
    assert paid == str(amount)


@pytest.mark.parametrize("changes", [{"amount": "9999"}, {"amount": "0"}, {"amount": "much"}, {"to": "me"}])
def test_an_unfit_edit_is_asked_about_again_and_pays_nothing(engine, changes):
    rig = refunding(engine)
    decide(rig, waiting(rig).request_id, "edited", **changes)
    assert rig.process().resume("r").status == "waiting_for_approval"
    assert rig.outside("effect") == 0
    [question] = [each for each in asked(rig) if each.status == "requested"]
    decide(rig, question.request_id, "approved")
    assert rig.process().resume("r").status == "completed"
    assert set(rig.executed().values()) == {1}


def test_a_rejection_closes_the_run_without_an_effect(engine, policy):
    rig = refunding(engine)
    rig.policy = policy
    decide(rig, waiting(rig).request_id, "rejected")
    run = rig.process().resume("r")
    assert (run.status, run.reason) == ("cancelled", "rejected by mia")
    assert rig.outside("effect") == 0
    assert rig.process().read("r").outcome() == run.outcome()
