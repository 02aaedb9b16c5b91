"""Each transition of a record has a name, whatever becomes of the record in the same operation."""

import pytest

from conformance.cores import asks
from conformance.cores.builtin import EngineTarget
from conformance.cores.scene import Scene
from conformance.cores.transitions import Moved, malformed, moved, typed
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch
from model.states import AcquireMode

BEGIN = (asks.TakeOver(SharePartitionConfig(2, 8, 100)), asks.Produce(((0, 2),)))
FETCH = asks.Fetch("m1", AcquireMode.RECORD_LIMIT, 500, 500, 3)
FAILS = (ErrorCode.COORDINATOR_NOT_AVAILABLE,)
GONE = "below the start offset"


def said(types: tuple[int, ...], answers: tuple[ErrorCode, ...] = ()) -> asks.Ask:
    return asks.Acknowledge("m1", (AcknowledgementBatch(0, 1, types),), answers)


def last_moves(*steps: asks.Ask) -> set[Moved]:
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
            (FETCH, said((1, 2))),
            {
                ("ACQUIRED", "accept", "ACKNOWLEDGED pending"),
                ("ACKNOWLEDGED pending", "its write succeeds", "ACKNOWLEDGED"),
                ("ACKNOWLEDGED", "the start offset passes", GONE),
                ("ACQUIRED", "release", "AVAILABLE pending"),
                ("AVAILABLE pending", "its write succeeds", "AVAILABLE"),
            },
        ),
        (
            (FETCH, said((3,), FAILS)),
            {
                ("ACQUIRED", "reject", "ARCHIVED pending"),
                ("ARCHIVED pending", "its write fails", "ACQUIRED"),
            },
        ),
        ((FETCH, said((4,))), {("ACQUIRED", "renew", "ACQUIRED")}),
        ((FETCH, said((9,))), set()),
        (
            (FETCH, asks.Release("m1", (ErrorCode.PENDING,))),
            {("ACQUIRED", "its holder leaves", "AVAILABLE pending")},
        ),
        ((FETCH, asks.AdvanceTime(100)), {("ACQUIRED", "its lock expires", "AVAILABLE")}),
        (
            (FETCH, said((1,), (ErrorCode.PENDING,)), asks.CompleteWrite(0, ErrorCode.NONE)),
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


@pytest.mark.parametrize(
    ("batch", "wrong"),
    [
        ((-1, 0, (1,)), "a negative offset"),
        ((3, 2, (1,)), "its range ends before it begins"),
        ((0, 2, ()), "no types"),
        ((0, 2, (1, 1)), "too few or too many types"),
        ((0, 2, (5,)), "a type that there is not"),
        ((0, 2, (1, 2, 3)), ""),
    ],
)
def test_a_malformed_batch_says_nothing_of_any_offset(
    batch: tuple[int, int, tuple[int, ...]], wrong: str
) -> None:
    it = AcknowledgementBatch(*batch)
    assert malformed(it) == wrong
    assert list(typed(it)) == ([] if wrong else [(0, 1), (1, 2), (2, 3)])
