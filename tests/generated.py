"""Workflows made up by Hypothesis: one to four steps, up to four calls each, a loop, an early end."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from hypothesis import strategies as st
from workflows import Notes, make_call, workflow

from labkit.model import Context, Done, Workflow

EFFECTS = ("bank.pay", "desk.open", "post.send")
CALLS = ("think", "fail", "keep", "now", "random", "ask", "sleep", "nap", *EFFECTS)


class Shape(NamedTuple):
    """What each step calls, in order; after the last one the run goes back once to step `back`, if there is one.

    The run ends early, as cancelled, after step `end`, if there is one.
    """

    steps: tuple[tuple[str, ...], ...]
    back: int | None = None
    end: int | None = None

    def workflow(self) -> Workflow[Notes]:
        """The workflow of this shape."""
        last = len(self.steps) - 1

        def step_of(number: int) -> Callable[..., Any]:
            def step(ctx: Context, state: Notes) -> Any:
                for nth, call in enumerate(self.steps[number]):
                    state.log.append(make_call(ctx, call, f"{number}.{nth}.{state.extra}"))
                if number == last and self.back is not None and state.extra is None:
                    state.extra = "again"
                    return f"s{self.back}"
                if number == self.end and (self.back is None or state.extra):
                    return Done("cancelled", "enough")
                return f"s{number + 1}" if number < last else None

            step.__name__ = f"s{number}"
            return step

        return workflow(*map(step_of, range(len(self.steps))))


@st.composite
def shapes(draw: st.DrawFn, steps: int = 4, calls: int = 4) -> Shape:
    """Any shape of at most so many steps, with at most so many calls each."""
    made = draw(st.lists(st.lists(st.sampled_from(CALLS), max_size=calls).map(tuple), min_size=1, max_size=steps))
    place = st.none() | st.integers(0, len(made) - 1)
    return Shape(tuple(made), draw(place), draw(place))


def made_up(seed: int, steps: int = 4, calls: int = 4) -> Iterator[Shape]:
    """The same shapes for the same seed, one after the other without end."""
    choose = random.Random(seed)
    while True:
        count = choose.randint(1, steps)
        made = [tuple(choose.choices(CALLS, k=choose.randint(0, calls))) for _ in range(count)]
        place = [None, *range(count)]
        yield Shape(tuple(made), choose.choice(place), choose.choice(place))
