"""Code that changed under a running run is noticed, and both sides are named."""

from __future__ import annotations

from typing import Any

import pytest
from workflows import Rig, think, workflow

from labkit.errors import Drift


def old_story(ctx, state):
    """A step that thinks, pays and goes on to `second`."""
    state.log.append(ctx.activity(think, "it"))
    state.log.append(ctx.effect("bank", "pay", {}).id)
    return "second"


def second(ctx, state):
    """A step that asks."""
    ctx.approval("boss", "?")


def third(ctx, state):
    """A step that only thinks."""
    ctx.activity(think, "third")


def swapped(ctx, state):
    """`old_story` with the effect first."""
    ctx.effect("bank", "pay", {})
    ctx.activity(think, "it")
    return "second"


def elsewhere(ctx, state):
    """`old_story` that goes on to `third`."""
    old_story(ctx, state)
    return "third"


def shorter(ctx, state):
    """`old_story` without the effect."""
    ctx.activity(think, "it")
    return "second"


def longer(ctx, state):
    """`old_story` with one call more."""
    old_story(ctx, state)
    ctx.now()
    return "second"


CHANGES = {  # new code -> what the journal holds, what the code asks for
    swapped: ("activity story/think", "effect story/bank.pay"),
    elsewhere: ("completed story/second", "completed story/third"),
    shorter: ("effect story/bank.pay", "completed story/second"),
    longer: ("completed story/second", "now story/now"),
}


def story(code: Any, engine: str) -> Rig:
    """A rig whose first step, `story`, is this code."""

    def story(ctx, state):
        return code(ctx, state)

    return Rig(workflow(story, second, third), engine)


@pytest.mark.parametrize("code", CHANGES, ids=lambda code: code.__name__)
@pytest.mark.parametrize("engine", ["event-sourced", "hybrid"])
def test_changed_code_is_noticed_and_both_sides_are_named(engine, code):
    rig = story(old_story, engine)
    rig.crash("second/wait:before#1")
    rig.workflow = story(code, engine).workflow
    journal, outside = rig.process().parts.engine.history("r"), rig.twin.entries()
    held, asked = CHANGES[code]
    for act in (rig.process().read, rig.process().resume):
        with pytest.raises(Drift) as drift:
            act("r")
        assert f"holds {held}" in drift.value.what and f"asks for {asked}" in drift.value.what
    assert rig.process().parts.engine.history("r") == journal
    assert rig.twin.entries() == outside
