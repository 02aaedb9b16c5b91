"""Each transition of a record has a name, whatever becomes of the record in the same operation."""

import pytest

from conformance.cores import asks
from conformance.cores.builtin import EngineTarget
from conformance.cores.scene import Scene
from conformance.cores.transitions import moved
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch
from model.states import AcquireMode

BEGIN = (asks.TakeOver(SharePartitionConfig(2, 8, 100)), asks.Produce(((0, 2),)))
FETCH = asks.Fetch("m1", AcquireMode.RECORD_LIMIT, 500, 500, 3)
FAILS = (ErrorCode.COORDINATOR_NOT_AVAILABLE,)
GONE = "below the start offset"


def acknowledge(types: tuple[int, ...], answers: tuple[ErrorCode, ...] = ()) -> asks.Ask:
    return asks.Acknowledge("m1", (AcknowledgementBatch(0, 1, types),), answers)


def last_moves(*steps: asks.Ask) -> set[tuple[str, str, str]]:
    target = EngineTarget("spec")
    scene = Scene(target, target.hello())
    for step in (*BEGIN, *steps):
        before = scene.partition
        assert scene.ask(step) is None
    return set(moved(before, scene.events[-1], scene.partition))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((FETCH,), {("never delivered", "acquire", "ACQUIRED")}),
        (
            (FETCH, acknowledge((1, 2))),
            {
                ("ACQUIRED", "accept", "ACKNOWLEDGED pending"),
                ("ACKNOWLEDGED pending", "its write succeeds", "ACKNOWLEDGED"),
                ("ACKNOWLEDGED", "the start offset passes", GONE),
                ("ACQUIRED", "release", "AVAILABLE pending"),
                ("AVAILABLE pending", "its write succeeds", "AVAILABLE"),
            },
        ),
        (
            (FETCH, acknowledge((3,), FAILS)),
            {
                ("ACQUIRED", "reject", "ARCHIVED pending"),
                ("ARCHIVED pending", "its write fails", "ACQUIRED"),
            },
        ),
        ((FETCH, acknowledge((4,))), {("ACQUIRED", "renew", "ACQUIRED")}),
        ((FETCH, acknowledge((9,))), set()),
        (
            (FETCH, asks.MemberLeaves("m1", (ErrorCode.PENDING,))),
            {("ACQUIRED", "its holder leaves", "AVAILABLE pending")},
        ),
        ((FETCH, asks.AdvanceTime(100)), {("ACQUIRED", "its lock expires", "AVAILABLE")}),
        (
            (FETCH, acknowledge((1,), (ErrorCode.PENDING,)), asks.CompleteWrite(0, ErrorCode.NONE)),
            {
                ("ACKNOWLEDGED pending", "its write succeeds", "ACKNOWLEDGED"),
                ("ACKNOWLEDGED", "the start offset passes", GONE),
            },
        ),
        (
            (FETCH, asks.AdvanceLogStart(1)),
            {("ACQUIRED", "the log start offset passes", GONE)},
        ),
        ((FETCH, BEGIN[0]), {("ACQUIRED", "a new leader reads", "never delivered")}),
    ],
)
def test_what_an_operation_does_to_records(steps: tuple[asks.Ask, ...], expected: object) -> None:
    assert last_moves(*steps) == expected
