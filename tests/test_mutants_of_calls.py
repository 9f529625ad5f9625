"""Broken ways to take an answer: no crash shows them, and a call that goes wrong does, under the right name."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from workflows import chain

from labkit.effects import ledger, policies
from labkit.errors import EffectUnknown, ProviderAway
from labkit.model import Receipt
from labkit.sim import explore
from labkit.sim.simulate import replay

PAY = chain([["bank.pay"], ["think"]])
SOUND = policies.call


def time_out_counted_as_refusal(fx, order):
    """Any error of the client library is taken for a no."""
    try:
        return SOUND(fx, order)
    except EffectUnknown:
        return Receipt(id="policy_refused", status="rejected")


def time_out_counted_as_success(fx, order):
    """`except Timeout: pass`."""
    try:
        return SOUND(fx, order)
    except EffectUnknown:
        return Receipt(id="assumed")


def nobody_there_counted_as_accepted(fx, order):
    """Fire and forget: what could not be delivered is taken for delivered."""
    try:
        return SOUND(fx, order)
    except ProviderAway:
        return Receipt(id="queued")


def retry_without_the_key(fx, order):
    """A retry decorator that builds the request anew, without the idempotency header."""
    try:
        return SOUND(fx, order)
    except EffectUnknown:
        return SOUND(fx, replace(order, key=None))


def retry_with_another_key(fx, order):
    """A key for each attempt instead of one for the effect, in the retry only."""
    try:
        return SOUND(fx, order)
    except EffectUnknown:
        return SOUND(fx, replace(order, key=f"{order.key}/again"))


def doubt_taken_for_not_done(tx, entry, error):
    """No answer is written down as `nothing happened`, so that it is simply tried again."""
    return ledger.cleared(tx, entry)


MUTANTS: list[tuple[Callable, str, str, str]] = [
    (time_out_counted_as_refusal, "dedup", "timeout_after", "no untracked effect"),
    (time_out_counted_as_refusal, "lookup", "reply_lost", "no untracked effect"),
    (time_out_counted_as_success, "dedup", "timeout_before", "no lost effect"),
    (nobody_there_counted_as_accepted, "lookup", "away", "no lost effect"),
    (retry_without_the_key, "dedup", "timeout_after", "no duplicate effect"),
    (retry_with_another_key, "dedup", "reply_lost", "no duplicate effect"),
    (doubt_taken_for_not_done, "lookup", "timeout_after", "no duplicate effect"),
    (doubt_taken_for_not_done, "neither", "reply_lost", "no duplicate effect"),
]


@pytest.mark.parametrize(("mutant", "provider", "fault", "breaks"), MUTANTS)
def test_a_mutant_that_no_crash_shows_is_caught_by_a_call_that_goes_wrong(
    monkeypatch, engine, mutant, provider, fault, breaks
):
    names = {"engine": engine, "policy": "ledger", "provider": provider}
    sound = explore(PAY, **names, call_faults=fault)
    assert not sound.broken(), str(sound)
    if mutant is doubt_taken_for_not_done:
        monkeypatch.setattr(policies.ledger, "ambiguous", mutant)
    else:
        monkeypatch.setattr(policies, "call", mutant)
    assert not explore(PAY, **names).broken(), "a crash shows it, too"
    report = explore(PAY, **names, call_faults=fault)
    [cell] = report.call_faults
    assert breaks in cell.invariants and (cell.unexpected or not cell.expected), str(report)
    assert report.counterexample.schedule == []
    assert breaks in {violation.invariant for violation in replay(report.counterexample, PAY).violations}
