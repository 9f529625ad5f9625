"""The recovery decision: every combination of evidence, and every kind of evidence that cannot be trusted."""

from __future__ import annotations

from itertools import product

import msgspec
import pytest

from labkit.effects.decision import Checkpoint, decide, selftest
from labkit.errors import InvalidInput

STATUSES = ["running", "waiting_for_approval", "waiting_for_timer", "waiting_for_person", "quarantined"]
STATUSES += ["completed", "cancelled", "failed"]
EFFECTS = ["none", "planned", "executing", "confirmed", "rejected", "ambiguous", "compensated"]
KEYS = {"acme/refund/r/4.pay": "key", "": "no key"}
ATTEMPTS = {(0, 3): "left", (2, 3): "left", (3, 3): "spent", (4, 3): "spent", (0, 1): "left", (1, 1): "spent"}

# (effect status, key, attempts) of a running run -> what may be done. Everything that is not here: stop.
MAY = {
    ("confirmed", "key", "left"): "advance",
    ("confirmed", "key", "spent"): "advance",
    ("confirmed", "no key", "left"): "advance",
    ("confirmed", "no key", "spent"): "advance",
    ("ambiguous", "key", "left"): "reconcile",
    ("ambiguous", "key", "spent"): "reconcile",
    ("executing", "key", "left"): "reconcile",
    ("executing", "key", "spent"): "reconcile",
    ("planned", "key", "left"): "execute",
}
GOOD = Checkpoint(
    status="running",
    effect_status="planned",
    effect_key="acme/refund/r/4.pay",
    attempts=0,
    max_attempts=3,
    schema_version=1,
    workflow_release="1.0.0",
    durability_mode="sync",
)
BAD = {
    "schema_version": [0, -1],
    "workflow_release": ["", "  "],
    "attempts": [-1],
    "max_attempts": [0, -3],
    "durability_mode": ["", "SYNC", "eventually"],
    "status": ["", "paused", "Running"],
    "effect_status": ["", "sent", "CONFIRMED"],
}


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("status", STATUSES)
def test_every_combination_is_decided_as_the_table_says(status, durability):
    for effect, (key, has), ((made, allowed), budget) in product(EFFECTS, KEYS.items(), ATTEMPTS.items()):
        checkpoint = msgspec.structs.replace(
            GOOD,
            status=status,
            effect_status=effect,
            effect_key=key,
            attempts=made,
            max_attempts=allowed,
            durability_mode=durability,
        )
        expected = MAY.get((effect, has, budget), "stop") if status == "running" else "stop"
        assert decide(checkpoint) == expected, checkpoint


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in BAD.items() for value in values])
@pytest.mark.parametrize("effect", EFFECTS)
def test_evidence_that_cannot_be_trusted_is_an_error_whatever_the_effect(effect, field, value):
    checkpoint = msgspec.structs.replace(GOOD, **{"effect_status": effect, field: value})
    with pytest.raises(InvalidInput) as refused:
        decide(checkpoint)
    assert repr(value) in refused.value.what or str(value) in refused.value.what
    assert refused.value.safe == "no effect was tried"
    assert refused.value.next


@pytest.mark.parametrize("field", Checkpoint.__struct_fields__)
def test_a_checkpoint_with_a_field_missing_or_too_many_is_not_read(field):
    complete = msgspec.to_builtins(GOOD)
    assert msgspec.convert(complete, Checkpoint) == GOOD
    for wrong in ({name: complete[name] for name in complete if name != field}, {**complete, f"{field}_2": 1}):
        with pytest.raises(msgspec.ValidationError, match=field):
            msgspec.convert(wrong, Checkpoint)


def test_the_selftest_prints_its_line():
    assert selftest() == "execute=true reconcile=true advance=true missing_key_stopped=true"
