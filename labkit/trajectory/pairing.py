"""Gives each result to its call, if it is known which one that is; what is not known is said to be in doubt."""

from __future__ import annotations

from collections.abc import Iterable

from labkit.trajectory.model import Stray, ToolCall, Turn
from labkit.trajectory.outcomes import outcome_of
from labkit.trajectory.shapes.entries import Answer, Asked, At, Entry, Model, Said

DEFINITE = ("answered", "failed", "not made")
SHOWN = 80  # characters of a result in a note


class Doubt:
    """Calls that share an id or a name while none of them is answered, and the results that may belong to any."""

    def __init__(self, calls: list[ToolCall], answer: Answer) -> None:
        self.calls, self.answers = calls, [answer]

    @property
    def settled(self) -> bool:
        """Whether it makes no difference who got which: equal calls, as many results, all of one outcome."""
        outcomes = {_outcome(answer) for answer in self.answers}
        return len(self.answers) == len(self.calls) and _equal(self.calls) and len(outcomes) == 1


class Pairing:
    """Takes the entries of a run in order; `turns` and `strays` are what they come to after `end`."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.turns: list[Turn] = []
        self.strays: list[Stray] = []
        self.shapes: list[str] = []
        self._calls: list[ToolCall] = []
        self._doubts: list[Doubt] = []
        self._turn_of: dict[str, Turn] = {}
        self._by: dict[tuple[str, str], list[ToolCall]] = {}  # calls by id and by name
        self._current = Turn(text="", calls=[])
        self._joining = False  # whether the model spoke last
        self._stated: set[tuple[str, str]] = set()

    def take(self, entries: Iterable[Entry]) -> None:
        """Add what comes next in the run."""
        for entry in entries:
            if isinstance(entry, Asked | Answer) and entry.shape and entry.shape not in self.shapes:
                self.shapes.append(entry.shape)
            if isinstance(entry, Model):
                self._begin(entry.joins)
            elif isinstance(entry, Said):
                if self._joining:
                    self._current.text = "\n".join(filter(None, [self._current.text, entry.text]))
            elif isinstance(entry, Asked):
                self._ask(entry)
            else:
                if isinstance(entry, Answer):
                    self._answer(entry)
                else:
                    self._joining = False

    def _begin(self, joins: str) -> None:
        if joins == "+" and self._joining:
            return
        turn = self._turn_of.get(joins) if joins not in ("", "+") else None
        if turn is None:
            turn = self._turn_of[joins] = Turn(text="", calls=[])
            self.turns.append(turn)
        self._current, self._joining = turn, True

    def _ask(self, asks: Asked) -> None:
        if not self.turns:
            self._begin("")
        if asks.continues and ("id", asks.continues) in self._by:
            return
        if asks.field.startswith("response "):  # every event of a response states all of its calls
            if (asks.field, asks.id) in self._stated:
                return
            self._stated.add((asks.field, asks.id))
        call = ToolCall(
            id=asks.id,
            name=asks.name,
            arguments=asks.arguments,
            place=self._place(asks.at),
            unreadable=asks.unreadable,
            notes=asks.notes,
        )
        self._current.calls.append(call)
        self._calls.append(call)
        for key in (("id", call.id), ("name", call.name)):
            self._by.setdefault(key, []).append(call)

    def _place(self, at: At) -> str:
        return at.path if at.where == self.source and at.path else str(at)

    def _answer(self, answer: Answer) -> None:
        """One call can be meant, several, one that has a result, or none."""
        meant = self._meant(answer)
        doubted = {id(call) for doubt in self._doubts for call in doubt.calls}
        waiting = [call for call in meant if call.outcome == "unanswered" and id(call) not in doubted]
        if len(waiting) == 1:
            return self._give(waiting[0], answer)
        if waiting:
            return self._doubts.append(Doubt(waiting, answer))
        mine = {id(call) for call in meant}
        for doubt in self._doubts:
            if len(doubt.answers) < len(doubt.calls) and any(id(call) in mine for call in doubt.calls):
                return doubt.answers.append(answer)
        done = [call for call in meant if call.outcome != "unanswered"]
        if done and (answer.id or len(done) == 1):
            return self._again(done[-1], answer)
        return self._stray(answer)

    def _meant(self, answer: Answer) -> list[ToolCall]:
        """The calls that a result can mean: of its id; failing that, of its name, where one of the two has no id."""
        if answer.id and (same := self._by.get(("id", answer.id))):
            return [call for call in same if not answer.name or call.name == answer.name]
        named = self._by.get(("name", answer.name), []) if answer.name else []
        return [call for call in named if not answer.id or not call.id]

    def _give(self, call: ToolCall, answer: Answer) -> None:
        call.result, call.outcome = answer.text, _outcome(answer)

    def _again(self, call: ToolCall, answer: Answer) -> None:
        """A further result: it settles what was open, and puts in doubt what it contradicts."""
        outcome, place = _outcome(answer), self._place(answer.at)
        if call.outcome not in DEFINITE and call.outcome != "unclear" and outcome in DEFINITE:
            call.notes.append(
                f"was {call.outcome} first ({_short(call.result)}); a second result, at {place}, settles it"
            )
            return self._give(call, answer)
        call.notes.append(f"a second result stands at {place}")
        if outcome in DEFINITE and outcome != call.outcome:
            call.notes.append(f"the two contradict each other: {call.outcome}, then {outcome}")
            call.outcome = "unclear"
        return self._stray(answer)

    def _stray(self, answer: Answer) -> None:
        found = Stray(place=self._place(answer.at), id=answer.id, name=answer.name, text=answer.text)
        self.strays.append(found)

    def end(self) -> None:
        """Decide what only the whole run can tell."""
        for doubt in self._doubts:
            if doubt.settled:
                for call, answer in zip(doubt.calls, doubt.answers, strict=True):
                    self._give(call, answer)
                continue
            places = " and ".join(call.place for call in doubt.calls)
            told = "; ".join(f"{self._place(answer.at)} ({_short(answer.text)})" for answer in doubt.answers)
            for call in doubt.calls:
                call.outcome = "unclear"
                call.notes.append(f"which of the calls at {places} is answered at {told} is not known")
        for call in self._calls:
            stray = next((each for each in self.strays if call.id and each.id == call.id), None)
            if call.outcome == "unanswered" and stray:
                call.outcome = "unclear"
                of = f" of {stray.name}" if stray.name and stray.name != call.name else ""
                call.notes.append(f"the result{of} at {stray.place} has its id and is not surely its own")
            _judge_unreadable(call)


def _judge_unreadable(call: ToolCall) -> None:
    """A call whose arguments nobody can read was not made, unless a result says that it was."""
    if not call.unreadable:
        return
    if call.outcome in ("failed", "unanswered"):
        call.outcome = "not made"
    else:
        call.notes.append("its arguments cannot be read")


def _equal(calls: list[ToolCall]) -> bool:
    first = calls[0]
    return all(
        (each.name, each.arguments, each.unreadable) == (first.name, first.arguments, first.unreadable)
        for each in calls
    )


def _outcome(answer: Answer) -> str:
    return answer.outcome or outcome_of(answer.text, marked_error=answer.error)


def _short(text: str | None) -> str:
    return repr(text if text is None or len(text) <= SHOWN else f"{text[:SHOWN]}...")
