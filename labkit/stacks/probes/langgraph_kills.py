"""Probes of LangGraph that kill: what each durability mode loses, and what a resumed run does again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from labkit.stacks.conformance import Finding
from labkit.stacks.probes.langgraph_lives import Lived, Services, Stage, judged, launching, stage

BOTH = (False, True)
TIMES = 40
"""How often a race is repeated."""


def race(
    folder: Path, services: Services, times: int = TIMES, *, scene: str, kill: str, server: str = "", **more: Any
) -> Finding:
    """Kill `scene` at `kill` and resume it, `times` times: how often was the first effect executed again?

    `more` are fields of `Life`.
    """
    again, dsn = 0, services.get(server, "")
    if server and not dsn:
        return Finding("not run", f"no {server} server")
    with launching() as launcher:
        for number in range(times):
            on = Stage(launcher, folder / str(number))
            if not on(scene, kill=kill, dsn=dsn, **more).killed:
                return Finding("not run", f"it was not killed at {kill}")
            again += on(scene, verb="resume", dsn=dsn, **more).executed["charge"] > 1
    return judged(not again, f"the first effect was executed again in {again} of {times}")


def sibling(folder: Path, services: Services, *, durability: str) -> Finding:
    """One of two parallel nodes is done and saved when the other one dies; does the first one run again?"""
    with stage(folder) as on:
        on("fan", durability=durability, kill="slow")
        resumed = on("fan", verb="resume", durability=durability)
    return judged(resumed.executed["quick"] == 1, f"the finished one was executed {resumed.executed['quick']}x")


def halfway(folder: Path, services: Services) -> Finding:
    """A node has two effects and dies between them; is the first one executed again?"""
    with stage(folder) as on:
        on("long_node", kill="middle")
        after = on("long_node", verb="resume")
    return judged(after.executed["charge"] == 1, told(after))


def interrupted(folder: Path, services: Services) -> Finding:
    """A node has an effect, asks, and has another effect; is the first one executed again by the answer?"""
    with stage(folder) as on:
        on("asking")
        answered = on("asking", verb="resume")
    return judged(
        answered.executed["charge"] == 1,
        f"before the question {answered.executed['charge']}x, after it {answered.executed['ship']}x",
    )


def replayed(folder: Path, services: Services) -> Finding:
    """A finished run is invoked from the checkpoint before its second node; is that node's effect executed again?"""
    with stage(folder) as on:
        first = on("chain")
        again = on("chain", verb="replay")
    seen = f"charge {again.executed['charge']}x, ship {again.executed['ship']}x; {first.said['points']} checkpoints"
    return judged(again.executed["ship"] == 1, f"{seen} before, {again.said['points']} after")


def reconciled(folder: Path, services: Services) -> Finding:
    """The first effect was executed and its node died; a person says with `update_state(as_node=)` that it is done."""
    with stage(folder) as on:
        on("chain", kill="charge")
        after = on("chain", verb="resume", option="as_node")
    return judged(after.executed == {"charge": 1, "ship": 1}, told(after))


def changed(folder: Path, services: Services, *, option: str, missing: str) -> Finding:
    """The code changed after a kill at the second node; is the effect `missing` executed, or anything said?"""
    with stage(folder) as on:
        on("chain", kill="ship")
        after = on("chain", verb="resume", option=option)
    loud = after.said["error"] or after.said["left"]
    return judged(bool(loud or after.executed[missing]), f"{told(after)}, no error, next {after.said['left']}")


def wrong_result(folder: Path, services: Services) -> Finding:
    """Tools share one task, and the changed code calls another tool first; whose result does that call get?"""
    with stage(folder) as on:
        on("shared", kill="end")
        after = on("shared", verb="resume", option="inserted")
    return judged("'check': 'result of check'" in after.said["result"], f"{after.said['result']}; {told(after)}")


def nothing_next(folder: Path, services: Services, *, awaited: bool = False) -> Finding:
    """Killed between the write of the first node and its checkpoint: is `next` empty although a node is left?"""
    with stage(folder) as on:
        on("chain", kill="put after the writes", awaited=awaited)
        found = on("chain", verb="look", awaited=awaited)
        after = on("chain", verb="resume", awaited=awaited)
    return judged(bool(found.said["next"]), f"next {found.said['next']} with {told(found)}; resumed: {told(after)}")


def second_resumer(folder: Path, services: Services) -> Finding:
    """Two processes resume one thread at once; does only one of them go on?"""
    with launching() as one, launching(another=True) as other, ThreadPoolExecutor(2) as pool:
        on = Stage(one, folder)
        on("chain", kill="ship")
        lives = [on.job("chain", verb="resume", option="meet") for _ in range(2)]
        both = list(pool.map(on.end, lives, (one, other)))
    after = max(both, key=lambda lived: lived.executed["ship"])
    return judged(after.executed["ship"] == 1, told(after))


def both_ways(
    folder: Path, services: Services, *, first: Sequence[bool], then: Sequence[bool], server: str = ""
) -> Finding:
    """Killed in the second node, invoked or awaited (`first`), and resumed, invoked or awaited (`then`): all alike?"""
    if server and server not in services:
        return Finding("not run", f"no {server} server")
    seen, dsn = [], services.get(server, "")
    with launching() as launcher:
        for number, (begun, resumed) in enumerate(zip(first, then, strict=True)):
            on = Stage(launcher, folder / str(number))
            on("chain", kill="ship", awaited=begun, dsn=dsn)
            found = on("chain", verb="look", awaited=resumed, dsn=dsn)
            after = on("chain", verb="resume", awaited=resumed, dsn=dsn)
            seen.append(f"came back: charge {found.said['charge']}, next {found.said['next']}; {told(after)}")
    return judged(len(set(seen)) == 1, "; but ".join(dict.fromkeys(seen)))


def told(lived: Lived) -> str:
    """The executions in words."""
    return "executed " + (", ".join(f"{name} {count}x" for name, count in sorted(lived.executed.items())) or "nothing")


def _race(scene: str, durability: str, kill: str, server: str = "", **more: Any) -> Callable[..., Finding]:
    return partial(race, scene=scene, durability=durability, kill=kill, server=server, **more)


RACES: dict[str, Callable[..., Finding]] = {
    "sync: a kill where the next node begins repeats nothing": _race("chain", "sync", "ship"),
    "async: a kill where the next node begins repeats nothing": _race("chain", "async", "ship"),
    "exit: a kill where the next node begins repeats nothing": _race("chain", "exit", "ship"),
    "sync: a kill where the write of the checkpoint begins repeats nothing": _race("chain", "sync", "put"),
    "Postgres, sync: a kill where the next node begins repeats nothing": _race("chain", "sync", "ship", "postgres"),
    "Postgres, sync: a kill where the write of the checkpoint begins repeats nothing": _race(
        "chain", "sync", "put", "postgres"
    ),
    "ainvoke, sync: a kill where the next node begins repeats nothing": _race("chain", "sync", "ship", awaited=True),
    "ainvoke, async: a kill where the next node begins repeats nothing": _race("chain", "async", "ship", awaited=True),
    "ainvoke, exit: a kill where the next node begins repeats nothing": _race("chain", "exit", "ship", awaited=True),
    "ainvoke, sync: a kill where the write of the checkpoint begins repeats nothing": _race(
        "chain", "sync", "put", awaited=True
    ),
    "Postgres, ainvoke, sync: a kill where the next node begins repeats nothing": _race(
        "chain", "sync", "ship", "postgres", awaited=True
    ),
    "Postgres, ainvoke, async: a kill where the next node begins repeats nothing": _race(
        "chain", "async", "ship", "postgres", awaited=True
    ),
    "Postgres, ainvoke, sync: a kill where the write of the checkpoint begins repeats nothing": _race(
        "chain", "sync", "put", "postgres", awaited=True
    ),
    "ainvoke, async: a kill in a coroutine that awaited for 0.2 s repeats no node before it": _race(
        "slow", "async", "ship", awaited=True, option="awaits"
    ),
    "ainvoke, async: a kill in a coroutine that blocked for 0.2 s repeats no node before it": _race(
        "slow", "async", "ship", awaited=True, option="blocks"
    ),
    "ainvoke, async: a kill in a function that blocked for 0.2 s repeats no node before it": _race(
        "slow", "async", "ship", awaited=True, option="function"
    ),
    "ainvoke, functional: a kill as soon as a task's result is there repeats nothing": _race(
        "functional_awaited", "sync", "at once", awaited=True
    ),
    "ainvoke, functional: a kill 5 ms after a task's result is there repeats nothing": _race(
        "functional_awaited", "sync", "5 ms later", awaited=True
    ),
    "functional: a kill as soon as a task's result is there repeats nothing": _race("functional", "sync", "at once"),
    "functional: a kill 5 ms after a task's result is there repeats nothing": _race("functional", "sync", "5 ms later"),
}
"""Probes that take a third argument: how often to try."""

KILLS: dict[str, Callable[..., Finding]] = {
    **RACES,
    "sync: a finished parallel node is not executed again": partial(sibling, durability="sync"),
    "async: a finished parallel node is not executed again": partial(sibling, durability="async"),
    "exit: a finished parallel node is not executed again": partial(sibling, durability="exit"),
    "a kill inside a long node repeats nothing": halfway,
    "what stands before an interrupt is executed once": interrupted,
    "replay from a checkpoint executes nothing again": replayed,
    "update_state with as_node marks a node as done": reconciled,
    "a renamed node is noticed": partial(changed, option="renamed", missing="ship"),
    "a node inserted before the crash is noticed": partial(changed, option="inserted", missing="check"),
    "tools that share a task get no other call's result after a change": wrong_result,
    "nothing next means finished": nothing_next,
    "ainvoke: nothing next means finished": partial(nothing_next, awaited=True),
    "a second resumer is refused": second_resumer,
    "a killed run comes back the same with ainvoke": partial(both_ways, first=BOTH, then=BOTH),
    "ainvoke goes on with what invoke began, and invoke with what ainvoke began": partial(
        both_ways, first=BOTH, then=BOTH[::-1]
    ),
    "Postgres: a killed run comes back the same with ainvoke": partial(
        both_ways, first=BOTH, then=BOTH, server="postgres"
    ),
}
"""Every probe of this file, by what it would be good to rely on."""
