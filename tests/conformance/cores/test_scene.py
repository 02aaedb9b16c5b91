"""Around an implementation: the log, the clock, the judge, and what is kept of it."""

from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from conformance.cores import asks
from conformance.cores.builtin import EngineTarget
from conformance.cores.scene import Scene
from conformance.cores.target import Hello, Reply, Target
from conformance.deviation import CRASHED, UNREADABLE
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch, Acquire, AdvanceLogStart, Initialize
from model.snapshot import DurableState
from model.states import AcquireMode
from tests.doubles.miniature import FaultKind, Miniature

BEGIN = asks.TakeOver(SharePartitionConfig(2, 8, 100))
FETCH = asks.Fetch("m1", AcquireMode.RECORD_LIMIT, 500, 500, 3)
ACCEPT = AcknowledgementBatch(0, 0, (1,))
AFTER = {"start_offset": 0, "end_offset": 0, "delivery_complete_count": 0}
FINE = {"result": {"status": "NONE"}, "writes": [], "completed": [], "after": AFTER}


def scene(target: Target | None = None) -> Scene:
    target = target or Miniature()
    return Scene(target, target.hello())


def test_a_right_implementation_is_not_blamed() -> None:
    it = scene()
    sequence: list[asks.Ask] = [
        BEGIN,
        asks.Produce(((0, 2), (1, 1))),
        FETCH,
        asks.Acknowledge("m1", (ACCEPT,), (ErrorCode.PENDING,)),
        asks.CompleteWrite(7, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        asks.Release("m1"),
        asks.AdvanceTime(100),
        asks.Compact(0),
        asks.AdvanceLogStart(1),
        BEGIN,
        FETCH,
    ]
    assert [it.ask(ask) for ask in sequence] == [None] * len(sequence)
    assert [type(event.operation) for event in it.events[-3:]] == [
        Initialize,
        AdvanceLogStart,
        Acquire,
    ]
    assert len(it.events) == len(sequence) + 1
    assert [step.asked for step in it.steps].count("the log loses 0–1") == 1


def test_the_first_leader_may_find_something_durable() -> None:
    it = scene()
    begin = attrs.evolve(BEGIN, persisted=DurableState(3, 0))
    for _ in range(2):
        assert it.ask(begin) is None
        assert it.partition.window.start_offset == 3
        operation = it.events[-1].operation
        assert isinstance(operation, Initialize)
        assert operation.persisted.start_offset == 3


def test_events_are_those_of_a_trace() -> None:
    it = scene(EngineTarget("spec"))
    for ask in (BEGIN, asks.Produce(((0, 1),)), FETCH):
        it.ask(ask)
    assert [event.seq for event in it.events] == [0, 1, 2]
    assert it.answered == {"initialize NONE": 1, "produce NONE": 1, "acquire NONE": 1}


def test_a_write_that_is_not_outstanding_is_not_completed() -> None:
    it = scene()
    it.ask(BEGIN)
    assert it.ask(asks.CompleteWrite(0, ErrorCode.NONE)) is None
    assert len(it.events) == 1


def test_a_deviation_names_the_rule() -> None:
    it = scene(Miniature(FaultKind.WINDOW_HAS_NO_LIMIT))
    it.ask(BEGIN)
    it.ask(asks.Produce(((0, 9),)))
    found = it.ask(FETCH)
    assert found is not None
    assert found.signature == ("WITHIN_WINDOW_LIMIT", "acquire")
    assert "limit" in found.sentence


class Broken:
    """Answers whatever it is told to."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    def hello(self) -> Hello:
        return Miniature().hello()

    def reset(self) -> None: ...

    def close(self) -> None: ...

    def apply(self, seq: int, operation: dict[str, Any], answers: Sequence[ErrorCode]) -> Reply:  # noqa: ARG002 - of every target
        return self._reply


@pytest.mark.parametrize(
    ("reply", "name"),
    [
        ({"error": "NullPointer\x1b[2J"}, CRASHED),
        ({"result": {"status": "NONE"}}, UNREADABLE),
        ({"result": {"status": "ODD"}, "writes": [], "completed": [], "after": {}}, UNREADABLE),
        ({**FINE, "after": {**AFTER, "start_offset": 1 << 63}}, UNREADABLE),
        ({**FINE, "after": {**AFTER, "end_offset": True}}, UNREADABLE),
        ({**FINE, "after": {**AFTER, "odd": 0}}, UNREADABLE),
    ],
)
def test_a_failure_and_an_impossible_answer_are_deviations(reply: Reply, name: str) -> None:
    found = scene(Broken(reply)).ask(BEGIN)
    assert found is not None
    assert found.name == name
    assert "\x1b" not in found.recorded
    assert found.signature[:2] == (name, "initialize")
