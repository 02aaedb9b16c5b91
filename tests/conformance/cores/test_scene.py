"""Around an implementation: the log, the clock, the judge, and what is kept of it."""

import json
from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from conformance.cores import asks
from conformance.cores.scene import Scene
from conformance.cores.target import CoreHello, Reply, Target
from conformance.deviation import UNREADABLE
from conformance.target import TargetError
from judge.finding import CRASHED
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch, Acquire, AdvanceLogStart, AlterConfig, Initialize
from model.states import AcquireMode
from tests.doubles.small_core import SmallCore

BEGIN = asks.CoreTakeOver(SharePartitionConfig(2, 8, 100))
FETCH = asks.CoreFetch("m1", AcquireMode.RECORD_LIMIT, 500, 500, 3)
ACCEPT = AcknowledgementBatch(0, 0, (1,))
AFTER = {"start_offset": 0, "end_offset": 0, "delivery_complete_count": 0}
WRITE = {"id": 0, "start_offset": 0, "delivery_complete_count": 0, "status": "NONE"}
OVERLAP = [[0, 3, 2, 1], [2, 2, 2, 1]]
FINE = {"result": {"status": "NONE"}, "writes": [], "completed": [], "after": AFTER}


def scene(target: Target | None = None) -> Scene:
    target = target or SmallCore()
    return Scene(target, target.hello())


def test_a_right_implementation_is_not_blamed() -> None:
    it = scene()
    sequence: list[asks.Ask] = [
        BEGIN,
        asks.CoreProduce(((0, 2), (1, 1))),
        FETCH,
        asks.CoreAcknowledge("m1", (ACCEPT,), (ErrorCode.PENDING,)),
        asks.CoreCompleteWrite(7, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        asks.CoreMemberLeaves("m1"),
        asks.CoreAdvanceTime(100),
        asks.CoreCompact(0),
        asks.CoreAdvanceLogStart(1),
        BEGIN,
        FETCH,
    ]
    assert [it.ask(ask) for ask in sequence] == [None] * len(sequence)
    assert [type(each.event.operation) for each in it.past[-3:]] == [
        Initialize,
        AdvanceLogStart,
        Acquire,
    ]
    assert len(it.past) == len(sequence) + 1
    assert [step.asked for step in it.steps].count("the log loses 0–1") == 1
    assert it.steps[0].asked.startswith("profile kip: initialize, delivery limit 2, window limit 8")
    clocks = [step.time_ms for step in it.steps]
    assert clocks == [0] * 6 + [100] * 6


def test_a_deviation_names_the_rule() -> None:
    it = scene(SmallCore("ignores the limit of the window"))
    it.ask(BEGIN)
    it.ask(asks.CoreProduce(((0, 9),)))
    found = it.ask(FETCH)
    assert found is not None
    assert found.signature == ("WITHIN_WINDOW_LIMIT", "acquire")
    assert "limit" in found.sentence


class Broken:
    """Answers whatever it is told to."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    def hello(self) -> CoreHello:
        return SmallCore().hello()

    def reset(self) -> None: ...

    def close(self) -> None: ...

    def apply(self, seq: int, operation: dict[str, Any], answers: Sequence[ErrorCode]) -> Reply:  # noqa: ARG002 - of every target
        return self._reply


@pytest.mark.parametrize(
    ("reply", "name"),
    [
        ({"error": "NullPointer\x1b[2J"}, CRASHED),
        ({**FINE, "after": {**AFTER, "start_offset": -4}}, UNREADABLE),
        (
            {**FINE, "writes": [{**WRITE, "state_batches": [[0, 3, 2, 1], [2, 2, 2, 1]]}]},
            UNREADABLE,
        ),
    ],
)
def test_a_failure_and_an_impossible_answer_are_deviations(reply: Reply, name: str) -> None:
    it = scene(Broken(reply))
    found = it.ask(BEGIN)
    assert found is not None
    assert found.name == name
    assert "\x1b" not in found.recorded
    assert "StateBatch" not in found.recorded
    assert found.signature[:2] == (name, "initialize")
    (step,) = it.steps
    assert "delivery limit 2, window limit 8, lock 100 ms" in step.asked
    assert "\x1b" not in step.answered
    assert name == CRASHED or f'"after": {json.dumps(reply["after"])}' in step.answered


class Failing(SmallCore):
    """It fails in one operation."""

    def __init__(self, operation: str) -> None:
        super().__init__()
        self._failing = operation

    def apply(self, seq: int, operation: dict[str, Any], answers: Sequence[ErrorCode]) -> Reply:
        if operation["op"] == self._failing:
            return {"error": "it fails"}
        return super().apply(seq, operation, answers)


PENDING = asks.CoreAcknowledge("m1", (ACCEPT,), (ErrorCode.PENDING,))
FAILED_WRITE = asks.CoreCompleteWrite(0, ErrorCode.COORDINATOR_NOT_AVAILABLE)


LOGGED = (BEGIN, asks.CoreProduce(((0, 2), (1, 1))))
HELD = (*LOGGED, FETCH)


@pytest.mark.parametrize(
    ("operation", "sequence", "asked"),
    [
        ("produce", LOGGED, "produce 0–1, 3, log end 4"),
        ("acquire", HELD, "acquire by m1, record_limit, at most 500, of the log 0–1, 3"),
        ("acknowledge", (*HELD, PENDING), "acknowledge by m1: 0 accept"),
        ("release", (*LOGGED, asks.CoreMemberLeaves("m1")), "member m1 leaves"),
        (
            "complete_write",
            (*HELD, PENDING, FAILED_WRITE),
            "write 0 ends: COORDINATOR_NOT_AVAILABLE",
        ),
        ("advance_time", (*LOGGED, asks.CoreAdvanceTime(5)), "time passes, 5 ms"),
        ("advance_log_start", (*LOGGED, asks.CoreAdvanceLogStart(1)), "log start offset 1"),
        (
            "alter_config",
            (BEGIN, AlterConfig(SharePartitionConfig(3, 8, 100))),
            "configuration: delivery limit 3, window limit 8, lock 100 ms",
        ),
        ("finish_dead_letter", (BEGIN, asks.CoreFinishDeadLetter(2)), "dead letters end: number 2"),
    ],
)
def test_an_operation_that_failed_is_a_step_in_words(
    operation: str, sequence: tuple[asks.Ask, ...], asked: str
) -> None:
    it = scene(Failing(operation))
    *before, found = [it.ask(ask) for ask in sequence]
    assert before == [None] * len(before)
    assert found is not None
    assert found.name == CRASHED
    assert (it.steps[-1].asked, it.steps[-1].answered) == (asked, "it fails")


UNCOUNTED: dict[str, Any] = {
    "id": 0,
    "start_offset": 0,
    "delivery_complete_count": None,
    "state_batches": [],
    "status": "NONE",
}


@pytest.mark.parametrize(
    ("reply", "wrong"),
    [
        ({"result": {"status": "NONE"}}, "it has no writes"),
        ({**FINE, "after": {}}, "it has no after.start_offset"),
        ({**FINE, "result": {"status": "ODD\x1b"}}, "result.status must be UNKNOWN_SERVER_ERROR, "),
        ({**FINE, "after": {**AFTER, "start_offset": 1 << 63}}, "after.start_offset must be a"),
        ({**FINE, "after": {**AFTER, "end_offset": True}}, "after.end_offset must be a whole"),
        ({**FINE, "after": {**AFTER, "odd": 0}}, "after.odd must be one of start_offset, "),
        ({**FINE, "after": {**AFTER, "records": [[0]]}}, "after.records must be an array of first"),
        ({**FINE, "writes": [UNCOUNTED]}, "writes.delivery_complete_count must be an integer"),
    ],
)
def test_an_answer_without_the_form_of_one_ends_the_run(reply: Reply, wrong: str) -> None:
    with pytest.raises(TargetError) as error:
        scene(Broken(reply)).ask(BEGIN)
    said = str(error.value)
    assert said.startswith(f"its answer to initialize cannot be read: {wrong}")
    assert '; it sent {"result": {"status": "' in said
    assert said.isprintable()
    assert len(said) < 800


class Remembering(SmallCore):
    """It serves a fetch from the log as it was before anything was compacted."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: list[list[int]] = []

    def apply(self, seq: int, operation: dict[str, Any], answers: Sequence[ErrorCode]) -> Reply:
        if operation["op"] == "acquire":
            now = operation["log"]
            self._seen += [batch for batch in now if batch not in self._seen]
            operation = {**operation, "log": [list(batch) for batch in self._seen]}
        return super().apply(seq, operation, answers)


def test_a_core_reads_nothing_that_was_compacted() -> None:
    one = attrs.evolve(FETCH, max_records=1, max_batches=1)
    sequence = BEGIN, asks.CoreProduce(((0, 1), (0, 1), (0, 1))), one, asks.CoreCompact(1), FETCH
    for target, rule in ((SmallCore(), None), (Remembering(), "READ_IS_OF_THE_LOG")):
        it = scene(target)
        found = [it.ask(ask) for ask in sequence]
        assert found[:-1] == [None] * 4
        assert (found[-1] and found[-1].name) == rule
