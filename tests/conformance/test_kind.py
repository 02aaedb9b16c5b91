"""A search, its shrinking and its known deviations work on any kind: here, on counters."""

import collections

import attrs

from conformance.campaign import Limits, campaign
from conformance.deviation import Deviation, Step
from conformance.kind import Kind
from conformance.known import plain_sequence


@attrs.frozen
class Add:
    """The counter goes up."""

    by: int


class Counter:
    """It must not reach the limit that its target gives; it may be closed once."""

    closed = 0

    def __init__(self, limit: int, _hello: object) -> None:
        self.steps: list[Step] = []
        self.answered = collections.Counter[str]()
        self.over = False
        self._value, self._limit = 0, limit

    def ask(self, ask: Add) -> Deviation | None:
        self._value += ask.by
        self.answered["add NONE"] += 1
        if self._value >= self._limit:
            return Deviation("LIMIT", "add", "It stays below.", str(self._value), "less", "")
        self.over = self._value == 13
        return None

    def close(self) -> None:
        Counter.closed += 1


class Target(int):
    """What a counter is made of."""

    def hello(self) -> str:
        return "a counter"


KIND = Kind(
    Add,
    Counter,
    lambda random, _hello: (None, Add(random.randint(0, 3))),
    lambda random, _mix, _stage: Add(random.randint(0, 9)),
    lambda ask: [Add(ask.by - 1)] if ask.by else [],
    lambda _ask: 0,
    lambda ask, _less: ask,
)


def test_a_search_shrinks_what_it_finds_and_closes_every_stage() -> None:
    Counter.closed = 0
    found = campaign(Target(20), Limits(sequences=30, examples=1), kind=KIND)
    (fault,) = found.faults
    assert sum(ask.by for ask in fault.sequence) == 20
    assert len(fault.sequence) <= 6
    assert plain_sequence(fault.sequence)[0] == {"by": fault.sequence[0].by, "ask": "Add"}
    assert Counter.closed > 30


def test_what_cannot_be_judged_further_ends_and_is_counted() -> None:
    found = campaign(Target(14), Limits(sequences=200), kind=KIND)
    assert 0 < found.unjudged < 100


def test_shrinking_ends_in_time_with_what_it_has() -> None:
    found = campaign(Target(20), Limits(sequences=30, examples=1, shrink_seconds=0), kind=KIND)
    assert found.faults[0].sequence[-1].by > 0
