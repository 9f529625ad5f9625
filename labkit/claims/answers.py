"""What to do after a crash, on one page, from recorded rows: may I call again, and how does each framework go on?

The numbers come from rows of `measured.csv`. What no row says is marked with the notebook that shows it, as in `[09]`.
"""

from __future__ import annotations

from collections.abc import Sequence

from labkit.claims.measured import Row

VARIANTS = {
    "langgraph": "LangGraph, sync",
    "langgraph-async": "LangGraph, async (default)",
    "langgraph-functional": "LangGraph, functional API",
    "dbos": "DBOS",
    "temporal": "Temporal, activity",
    "temporal-local": "Temporal, local activity",
}
PROVIDERS = {
    "execute_refund": ("recognises a key", "only with the same key"),
    "close_ticket": ("can be asked", "only after a lookup"),
    "send_mail": ("neither", "ask a person"),
}
"""What the provider of an effect can do, and what follows from it when no result is on record."""
POLICIES = {"bare": "repeated, nothing added", "keyed": "with a key", "ledger": "with a ledger"}
GO_ON = {
    "langgraph": "invoke(None) on the same thread [09]",
    "dbos": "launch with the same executor id and version, else resume_workflow or a fork [10]",
    "temporal": "start a worker: the server retries after the timeout [11]",
}
STOPS = {
    "langgraph": "Nobody [09].",
    "dbos": "Nobody: two live processes need two executor ids [10].",
    "temporal": "The server gives a task to one worker, until its timeout [11].",
}


def call_again(rows: Sequence[Row]) -> list[dict[str, str]]:
    """May a call be made again? One line for each thing that may be the last one recorded, by what the provider can do.

    The counts are trials of all `VARIANTS` together that were killed in W3 or W4: the call was made, and not recorded.
    """
    head = ("last thing recorded", "the provider", "call again?")
    lines = [dict(zip(head, ("the result", "any", "no"), strict=True))]
    for effect, answer in PROVIDERS.items():
        counts = {words: _repeated(rows, effect, policy) for policy, words in POLICIES.items()}
        lines.append(dict(zip(head, ("no result", *answer), strict=True)) | counts)
    return lines


def after_a_crash(rows: Sequence[Row]) -> dict[str, dict[str, str]]:
    """For each of the `VARIANTS`: what is on record, and what going on, a second process, new code and a restart do.

    The counts are trials of the payment, with nothing added. What was not measured is a `?`.
    """
    told = {}
    for stack, name in VARIANTS.items():
        framework = stack.partition("-")[0]
        told[name] = {
            "last thing recorded: call again?": _on_record(_cell(rows, stack, "crash")),
            "how to go on": GO_ON[framework],
            "who stops a second process": f"{STOPS[framework]} {_second(_cell(rows, stack, 'second resumer'))}",
            "what it says when the code has changed": _changed(rows, stack),
            'what "start again" does': _again(_cell(rows, stack, "started again")),
        }
    return told


def _repeated(rows: Sequence[Row], effect: str, policy: str) -> str:
    cells = [row for row in rows if (row.situation, row.effect, row.policy) == ("crash", effect, policy)]
    ours = [row for row in cells if row.stack in VARIANTS and row.window in ("W3", "W4")]
    again, trials, asked = (sum(getattr(row, field) for row in ours) for field in ("duplicated", "trials", "open"))
    return f"{again} of {trials}" + (f"; a person is asked in {asked}" if asked else "") if trials else "?"


def _cell(rows: Sequence[Row], stack: str, situation: str) -> Row | None:
    """The recorded cell of the payment in a situation, killed in W5 unless the situation has another window."""
    wanted = (stack, "bare", situation, "execute_refund", "W1" if situation == "second resumer" else "W5")
    ours = (row for row in rows if (row.stack, row.policy, row.situation, row.effect, row.window) == wanted)
    return next((row for row in ours if row.trials), None)


def _on_record(row: Row | None) -> str:
    if row is None:
        return "?"
    late = ", and the step may have ended" if row.duplicated else ""
    return f"A result: no. None: as above{late}. Paid twice in W5: {row.duplicated} of {row.trials}."


def _second(row: Row | None) -> str:
    if row is None:
        return "?"
    other = f" Another effect twice: {row.other_duplicated} of {row.trials}." if row.other_duplicated else ""
    return f"Paid twice: {row.duplicated} of {row.trials}.{other}"


def _changed(rows: Sequence[Row], stack: str) -> str:
    said = []
    for situation, change in (("renamed", "A step renamed"), ("inserted", "A step inserted")):
        row = _cell(rows, stack, situation)
        said.append(f"{change}: {_heard(row, rows) if row else '?'}.")
    return " ".join(said)


def _heard(row: Row, rows: Sequence[Row]) -> str:
    if row.failed:
        return f"an error in {row.failed} of {row.trials}"
    if row.false_finish:
        return f"nothing, and completed with effects lost in {row.false_finish} of {row.trials}"
    name = f"{row.situation} code is noticed"
    left_out = any((each.stack, each.name, each.outcome) == (row.stack, name, "fail") for each in rows)
    return "nothing, and the new step is left out" if left_out else "nothing, and it is run"


def _again(row: Row | None) -> str:
    if row is None:
        return "?"
    does = "Is refused" if row.failed else "Begins at the first step" if row.paid_again else "Goes on"
    return f"{does}. Paid twice: {row.duplicated} of {row.trials}."
