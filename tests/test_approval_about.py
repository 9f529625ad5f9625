"""An approval is bound to what it is about: that is shown to the person, stored, and compared when it is used."""

from __future__ import annotations

import pytest
from test_approvals import asked, decide, drifting, waiting
from workflows import Rig, workflow

from labkit.errors import InvalidInput, InvalidState

SHOWN = r'about \{"amount":"49.90".*now the step asks .* about \{"amount":"9999.00"'


def test_a_decision_is_about_what_was_shown_and_nothing_else(engine):
    """The question says nothing of the amount; what it is about does."""

    def ask(ctx, state):
        state.extra = ctx.activity(drifting)
        ctx.approval("boss", "pay?", {"amount": state.extra, "order": "AB-1"})
        ctx.effect("bank", "pay", {"amount": state.extra})

    rig = Rig(workflow(ask), engine)
    question = waiting(rig)
    assert question.subject == {"amount": "49.90", "order": "AB-1"}
    assert rig.process().read("r").reason == 'boss decides: pay? about {"amount":"49.90","order":"AB-1"}'
    decide(rig, "r.0.ask", "approved")
    if engine == "snapshot":
        with pytest.raises(
            InvalidInput, match=r'about \{"amount":"49.90".*now the step asks .* about \{"amount":"9999.00"'
        ):
            rig.process().resume("r")
        assert rig.outside("effect") == 0 and asked(rig)[0].used == 0
    else:
        assert rig.process().resume("r").status == "completed"


WRONG = {
    "role": (None, "pay?", None),
    "question": ("boss", 42, None),
    "about": ("boss", "pay?", ["amount"]),
}


@pytest.mark.parametrize("argument", WRONG)
def test_an_approval_with_an_argument_of_a_wrong_type_asks_nothing(engine, argument):
    def ask(ctx, state):
        ctx.approval(*WRONG[argument])

    rig = Rig(workflow(ask), engine)
    with pytest.raises(InvalidInput, match=f"ctx.approval got {argument}"):
        rig.process().start("r", {})
    assert asked(rig) == []


def test_what_cannot_be_stored_or_holds_a_secret_is_not_asked_about(engine):
    for about in ({"client": object()}, {"note": "sk-" + "a1" * 12}):

        def ask(ctx, state, about=about):
            ctx.approval("boss", "pay?", about)

        rig = Rig(workflow(ask), engine)
        with pytest.raises(InvalidState, match=r"what approval r\.0\.ask is about"):
            rig.process().start("r", {})
        assert asked(rig) == []
