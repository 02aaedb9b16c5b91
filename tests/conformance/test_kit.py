"""Search, shrinking and known deviations work with any kit: here, with counters."""

import collections
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, get_args

import attrs
import pytest

from conformance.campaign import Limits, campaign
from conformance.coordinators.group_kit import GROUP_COORDINATORS
from conformance.coordinators.group_scene import GroupCapabilities
from conformance.coordinators.share_kit import SHARE_COORDINATORS
from conformance.coordinators.share_scene import ShareCapabilities
from conformance.cores.builtin import EngineTarget
from conformance.cores.kit import CORES
from conformance.cores.protocol import DriverTarget
from conformance.deviation import StepText, target_finding
from conformance.goals import Coverage
from conformance.kit import AnyKit, Kit
from conformance.wire.kit import BROKERS
from judge.finding import Finding
from tests.doubles.group_coordinator import GroupCoordinatorDouble
from tests.doubles.share_coordinator import DoubleCoordinator
from tests.doubles.spec_broker import SpecBroker


@attrs.frozen
class Add:
    """The counter goes up."""

    by: int


PATIENT = 10**9
"""The limit of a counter of which longer sequences are asked."""


class Counter:
    """It must not reach the limit that its target gives; it may be closed once."""

    closed = 0

    def __init__(self, limit: int) -> None:
        self.steps: list[StepText] = []
        self.answered = collections.Counter[str]()
        self.exercised = collections.Counter[str]()
        self.over = self.unjudged = self.waits = False
        self._value, self._limit = 0, limit

    def ask(self, ask: Add) -> Finding | None:
        self._value += ask.by
        self.answered["add NONE"] += 1
        if self._value >= self._limit:
            return target_finding("LIMIT", "add", "It stays below.", str(self._value), "less")
        self.over = self.unjudged = self._value == 13
        self.waits = self._limit == PATIENT
        return None

    def end(self) -> tuple[Finding, ...]:
        return ()

    def steps_of(self, _deviation: Finding) -> tuple[StepText, ...]:
        return tuple(self.steps)

    def close(self) -> None:
        Counter.closed += 1


@attrs.frozen
class Hello:
    """Every target is a counter."""

    name: str = "a counter"
    version: str = "1"
    profile: str = "kip"
    capabilities: None = None


class Counters(Kit[Add, int, Hello, Counter]):
    """The kit for counters; a target is the limit."""

    commands = Add
    sequences = 30
    shrink_seconds = 1.0

    def hello(self, _target: int, /) -> Hello:
        return Hello()

    def stage(self, target: int, _hello: Hello, /) -> Counter:
        return Counter(target)

    def draws(self, random: Random, _hello: Hello, /) -> tuple[Add, Callable[[Counter], Add]]:
        return Add(random.randint(0, 3)), lambda _stage: Add(random.randint(0, 9))

    def simpler(self, command: Add, /) -> list[Add]:
        return [Add(command.by - 1)] if command.by else []

    def coverage(self, _counts: Mapping[str, int], _hello: Hello, /) -> Coverage:
        return Coverage()


KIT = Counters()


def test_a_search_shrinks_what_it_finds_and_closes_every_stage() -> None:
    Counter.closed = 0
    found = campaign(20, Limits(sequences=30, examples=1), KIT)
    (fault,) = found.faults
    assert sum(ask.by for ask in fault.sequence) == 20
    assert len(fault.sequence) <= 6
    assert KIT.plain(fault.sequence)[0] == {"by": fault.sequence[0].by, "ask": "Add"}
    assert Counter.closed > 30


def test_a_sequence_ends_when_the_judge_cannot_follow() -> None:
    found = campaign(14, Limits(sequences=200), KIT)
    assert 0 < found.unjudged < 100


def test_a_sequence_is_longer_while_something_waits() -> None:
    lengths = [campaign(limit, Limits(sequences=40), KIT).steps for limit in (PATIENT - 1, PATIENT)]
    assert lengths[1] > 2 * lengths[0]


def test_shrinking_stops_at_its_time_limit() -> None:
    found = campaign(20, Limits(sequences=30, examples=1, shrink_seconds=0), KIT)
    assert found.faults[0].sequence[-1].by > 0


@pytest.mark.parametrize(
    ("kit", "target"),
    [
        (CORES, EngineTarget("spec")),
        (BROKERS, SpecBroker()),
        (SHARE_COORDINATORS, DriverTarget(DoubleCoordinator(), ShareCapabilities)),
        (GROUP_COORDINATORS, DriverTarget(GroupCoordinatorDouble(), GroupCapabilities)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_command_is_read_as_it_was_written(kit: AnyKit, target: Any) -> None:  # noqa: ANN401
    hello, unseen = target.hello(), set(get_args(kit.commands))
    for seed in range(40):
        stage = kit.stage(target, hello)
        command, draw = kit.draws(Random(seed), hello)  # noqa: S311 - no secret
        sequence = [command]
        while len(sequence) < 40:
            assert stage.ask(sequence[-1]) is None
            if (command := draw(stage)) is None:
                break
            sequence.append(command)
        stage.close()
        for short in (False, True):
            assert kit.read(kit.plain(sequence, short=short)) == tuple(sequence)
        if not (unseen := unseen - {type(each) for each in sequence}):
            return
    pytest.fail(f"no sequence has {unseen}")
