"""Stand-ins for time, chance, ids and the environment, as one simulated process sees them."""

from __future__ import annotations

import datetime
import random
import secrets
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from labkit.clock import START, parse_time

AsksAuthor = Callable[[str], bool]
TICK = 0.001  # seconds that pass between two looks at the time


class Moment:
    """What time it is in the present process, and what it draws: both depend on its number alone."""

    def __init__(self) -> None:
        self.begin(1, START)

    def begin(self, number: int, start: str) -> None:
        """Process `number` begins, at the ISO 8601 time `start`."""
        self.number, self._start, self._looks = number, start, 0
        self._chance: random.Random | None = None

    @property
    def chance(self) -> random.Random:
        """Where this process draws from."""
        if self._chance is None:
            self._chance = random.Random(self.number)
        return self._chance

    def seconds(self) -> float:
        """Seconds since 1970, a little later at each look."""
        self._looks += 1
        return parse_time(self._start).timestamp() + self._looks * TICK


class StandIn(NamedTuple):
    """What stands in for `name` of `module`: `make(real, by_the_author)`. `varied`: it differs between processes."""

    module: str
    name: str
    varied: bool
    make: Callable[[Any, AsksAuthor], Any]


def stand_ins(now: Moment) -> Iterator[StandIn]:
    """All of them, for the process of this moment."""
    for name, answer in _times(now).items():
        yield StandIn("time", name, True, _function(answer))
    for name in DRAWS:
        yield StandIn("random", name, True, _function(_drawing(now, name)))
    for module, name, answer in (
        ("uuid", "uuid4", lambda: uuid.UUID(int=now.chance.getrandbits(128), version=4)),
        ("uuid", "uuid1", lambda *_: uuid.UUID(int=now.chance.getrandbits(128), version=1)),
        ("os", "urandom", lambda size: now.chance.randbytes(size)),
        ("os", "getpid", lambda: 1000 + now.number),
        (secrets.__name__, "token_bytes", lambda size=32: now.chance.randbytes(size or 32)),
        ("secrets", "token_hex", lambda size=32: now.chance.randbytes(size or 32).hex()),
        ("secrets", "token_urlsafe", lambda size=32: now.chance.randbytes(size or 32).hex()),
        ("secrets", "randbelow", lambda limit: now.chance.randrange(limit)),
        ("secrets", "randbits", lambda bits: now.chance.getrandbits(bits)),
        ("secrets", "choice", lambda given: now.chance.choice(given)),
    ):
        yield StandIn(module, name, True, _function(answer))
    yield StandIn("datetime", "datetime", True, lambda real, asks: _dates(real, asks, now))
    yield StandIn("datetime", "date", True, lambda real, asks: _dates(real, asks, now))
    yield StandIn("os", "getenv", False, lambda real, asks: _seen(real, asks))
    yield StandIn("os", "environ", False, lambda real, asks: _Environment(real, asks))


DRAWS = (
    *("random", "randint", "randrange", "choice", "choices", "sample", "shuffle", "uniform", "getrandbits"),
    *("randbytes", "gauss", "normalvariate", "triangular", "betavariate", "expovariate", "seed"),
)


def _times(now: Moment) -> dict[str, Callable[..., Any]]:
    def at(real: Callable[..., Any]) -> Callable[..., Any]:
        return lambda seconds=None: real(now.seconds() if seconds is None else seconds)

    return {
        "time": now.seconds,
        "time_ns": lambda: int(now.seconds() * 1e9),
        "monotonic": now.seconds,
        "monotonic_ns": lambda: int(now.seconds() * 1e9),
        "perf_counter": now.seconds,
        "perf_counter_ns": lambda: int(now.seconds() * 1e9),
        **{name: at(getattr(time, name)) for name in ("localtime", "gmtime", "ctime")},
    }


def _drawing(now: Moment, name: str) -> Callable[..., Any]:
    return lambda *args, **named: getattr(now.chance, name)(*args, **named)


def _function(answer: Callable[..., Any]) -> Callable[[Any, AsksAuthor], Any]:
    """A stand-in that answers the author, and asks the real one for everybody else."""

    def make(real: Any, by_the_author: AsksAuthor) -> Any:
        def stand_in(*args: Any, **named: Any) -> Any:
            return answer(*args, **named) if by_the_author("") else real(*args, **named)

        return stand_in

    return make


def _seen(real: Any, by_the_author: AsksAuthor) -> Any:
    """The real thing, noticed when the author calls it."""

    def stand_in(*args: Any, **named: Any) -> Any:
        by_the_author(f"({args[0]!r})" if args else "")
        return real(*args, **named)

    return stand_in


class _Dates(type):
    """Classes that stand in for `real`, a class of dates, but for what they define; what they make are real ones."""

    real: Any

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, cls.real)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, cls.real)

    def __call__(cls, *args: Any, **named: Any) -> Any:
        return cls.real(*args, **named)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.real, name)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.real

    def __hash__(cls) -> int:
        return hash(cls.real)


def _dates(kind: Any, by_the_author: AsksAuthor, moment: Moment) -> Any:
    """`datetime.datetime` or `datetime.date`, but for its looks at the clock."""

    def there(zone: Any = None) -> datetime.datetime:
        return _datetime.fromtimestamp(moment.seconds(), zone)

    class StandIn(metaclass=_Dates):
        real = kind

        @staticmethod
        def now(tz: Any = None) -> Any:
            return there(tz) if by_the_author(".now") else kind.now(tz)

        @staticmethod
        def utcnow() -> Any:
            return there(datetime.UTC).replace(tzinfo=None) if by_the_author(".utcnow") else kind.utcnow()

        @staticmethod
        def today() -> Any:
            if not by_the_author(".today"):
                return kind.today()
            return there() if issubclass(kind, _datetime) else there().date()

    return StandIn


_datetime = datetime.datetime


class _Environment(Mapping[str, str]):
    """`os.environ`, noticed when the author reads a name of it."""

    def __init__(self, real: Any, by_the_author: AsksAuthor) -> None:
        self._real, self._by_the_author = real, by_the_author

    def __getitem__(self, name: str) -> str:
        self._by_the_author(f"[{name!r}]")
        return str(self._real[name])

    def get(self, name: str, default: Any = None) -> Any:
        self._by_the_author(f"[{name!r}]")
        return self._real.get(name, default)

    def __contains__(self, name: object) -> bool:
        self._by_the_author(f"[{name!r}]")
        return name in self._real

    def __iter__(self) -> Iterator[str]:
        return iter(self._real)

    def __len__(self) -> int:
        return len(self._real)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __setitem__(self, name: str, value: str) -> None:
        self._real[name] = value

    def __delitem__(self, name: str) -> None:
        del self._real[name]
