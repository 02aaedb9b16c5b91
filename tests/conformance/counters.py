"""A kit for tests of searches: counters, which must stay below a limit."""

import collections
from collections.abc import Callable, Mapping
from math import inf
from random import Random

import attrs

from conformance.deviation import StepText, target_finding
from conformance.goals import Coverage
from conformance.kit import Kit, Stage
from conformance.target import Hello, TargetError
from judge.finding import Finding


@attrs.frozen
class Add:
    """The counter goes up."""

    by: int


def _always(_number: int) -> bool:
    return True


@attrs.define
class Meter:
    """A target, whose counters reach the limit in the stages that ``shows`` names, from 0 on.

    After as many commands as are ``left`` it does ``ends``, and cannot be closed; ``stuck``: it
    never can. ``waits``: its counters do. ``opened`` and ``closed`` count stages.
    """

    limit: int = 20
    shows: Callable[[int], bool] = _always
    left: float = inf
    ends: BaseException = attrs.field(factory=lambda: TargetError("it ended"))
    stuck: bool = False
    waits: bool = False
    opened: int = 0
    closed: int = 0


class Counter(Stage[Add]):
    """It must not reach the limit that its target gives."""

    unjudged = waits = False

    def __init__(self, meter: Meter) -> None:
        self.steps: list[StepText] = [StepText("a counter", "", "")]
        self.answered = collections.Counter[str]()
        self.exercised = collections.Counter[str]()
        self.waits, self._meter, self._value = meter.waits, meter, 0
        self._shows = meter.shows(meter.opened)
        meter.opened += 1

    def ask(self, ask: Add) -> Finding | None:
        self._meter.left -= 1
        if self._meter.left < 0:
            raise self._meter.ends
        self._value += ask.by
        self.answered["add NONE"] += 1
        self.exercised["added"] += 1
        self.unjudged = self._value == 13
        if self._value >= self._meter.limit and self._shows:
            return target_finding("LIMIT", "add", "It stays below.", str(self._value), "less")
        return None

    def close(self) -> None:
        self._meter.closed += 1
        if self._meter.stuck or self._meter.left < 0:
            raise TargetError("it cannot be closed")


COUNTER = Hello("a counter", "1", "kip", None)
"""What every target says of itself."""


@attrs.frozen
class Counters(Kit[Add, Meter, Hello[None], Counter]):
    """The kit for counters."""

    commands = Add
    longer = 8

    def hello(self, _target: Meter, /) -> Hello[None]:
        return COUNTER

    def stage(self, target: Meter, _hello: Hello[None], /) -> Counter:
        return Counter(target)

    def draws(self, random: Random, _hello: Hello[None], /) -> tuple[Add, Callable[[Counter], Add]]:
        return Add(random.randint(0, 3)), lambda _stage: Add(random.randint(0, 9))

    def simpler(self, command: Add, /) -> list[Add]:
        return [Add(command.by - 1)] if command.by else []

    def coverage(self, _counts: Mapping[str, int], _hello: Hello[None], /) -> Coverage:
        return Coverage()


class Doubted(Counters):
    """The kit for counters that may not do the same twice."""

    confirmations = 3


COUNTERS, DOUBTED = Counters(), Doubted()
