"""An owner that lost its run to another process does no more harm, whatever the other one did or left undone."""

from __future__ import annotations

from contextlib import suppress

import pytest
from workflows import Rig, chain, taps_of

from labkit.errors import StaleWrite
from labkit.taps import TapCounter, listening

PAY = [["bank.pay"], ["think"]]


@pytest.mark.parametrize("policy", ["keyed", "ledger", "outbox"])
def test_an_owner_that_lost_its_run_does_no_more_harm(engine, policy):
    """At every tap of a slow owner that holds no lock, another process takes the run over and finishes it."""
    expected = Rig(chain(PAY), engine, policy).drive().outcome()
    places = [at for at in taps_of(lambda: Rig(chain(PAY), engine, policy)) if ":after" in at or "/call:" in at]
    for at in places:
        rig, count = Rig(chain(PAY), engine, policy), TapCounter()
        others: list[str] = []

        def take_over(label, phase, rig=rig, count=count, others=others, at=at):
            if not others and str(count(label, phase)) == at:
                others.append("began")
                others.append(rig.drive().status)

        with listening(take_over), suppress(StaleWrite):
            rig.drive()
        assert others == ["began", "completed"], at
        assert rig.process().read("r").outcome() == expected, at
        assert rig.executed() == {"r/0.s0": 1}, at


@pytest.mark.parametrize(
    ("at", "other_dies_at", "entries"),
    [("run/claim:after#1", "s0/intent:before#1", []), ("s0/intent:after#1", "s0/call:executed#1", ["executing"])],
)
def test_a_stale_owner_does_not_try_what_the_new_one_has_begun(engine, at, other_dies_at, entries):
    rig, count = Rig(chain(PAY), engine, provider="neither"), TapCounter()
    others: list[bool] = []

    def take_over(label, phase):
        if not others and str(count(label, phase)) == at:
            others.append(False)
            others.append(rig.crash(other_dies_at))

    with listening(take_over), pytest.raises(StaleWrite, match="fence"):
        rig.drive()
    assert others == [False, True]
    assert [entry.status for entry in rig.effects()] == entries
    assert rig.outside("effect") == len(entries)
