"""Each situation is met by the operation that makes it, and by no other."""

import pytest

from conformance.cores import asks
from conformance.cores.builtin import EngineTarget
from conformance.cores.scene import Scene
from conformance.cores.situations import situations
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch
from model.states import AcquireMode

CONFIG = SharePartitionConfig(2, 4, 100)
FETCH = asks.Fetch("m1", AcquireMode.RECORD_LIMIT, 500, 500, 3)
ONE = asks.Fetch("m2", AcquireMode.RECORD_LIMIT, 500, 1, 3)
WAITS = (ErrorCode.PENDING,)


def said(
    first: int, last: int, types: tuple[int, ...], answers: tuple[ErrorCode, ...] = ()
) -> asks.Ask:
    return asks.Acknowledge("m1", (AcknowledgementBatch(first, last, types),), answers)


def last_met(*steps: asks.Ask) -> set[str]:
    target = EngineTarget("spec")
    scene = Scene(target, target.hello())
    for step in (asks.TakeOver(CONFIG), asks.Produce(((0, 2), (0, 2), (0, 2))), *steps):
        before = scene.partition
        assert scene.ask(step) is None
    return set(situations(before, scene.events[-1], scene.partition, scene.log))


@pytest.mark.parametrize(
    ("steps", "met"),
    [
        ((ONE,), {"a fetch is stopped by its maximum of records"}),
        ((FETCH,), {"a fetch is stopped by the limit of the window"}),
        ((FETCH, FETCH), {"a fetch finds the window full and nothing available"}),
        (
            (FETCH, asks.Release("m1"), ONE),
            {
                "a fetch is stopped by its maximum of records",
                "a fetch takes what is available again in a full window",
                "a record is delivered for the last time",
            },
        ),
        ((FETCH, asks.Release("m3")), {"a member leaves that holds nothing"}),
        (
            (ONE, FETCH, said(0, 1, (1,))),
            {"an acknowledgement of a record that another member holds"},
        ),
        ((FETCH, said(2, 3, (1,))), {"a finished record waits behind one that is not"}),
        ((FETCH, said(4, 5, (1,))), {"an acknowledgement past the end offset"}),
        (
            (ONE, asks.AdvanceTime(50), FETCH, asks.AdvanceTime(50)),
            {
                "time passes while a lock that is not due is held",
                "some locks expire, and others stay",
            },
        ),
        ((FETCH, said(0, 1, (4,))), set()),
        (
            (FETCH, asks.AdvanceTime(50), said(0, 1, (4, 1))),
            {
                "an acknowledgement with a type for each offset",
                "a renewal after part of the lock's duration",
                "a renewal together with other types",
                "a finished record waits behind one that is not",
            },
        ),
        (
            (FETCH, asks.AdvanceLogStart(1)),
            {
                "the log start offset moves into a log batch",
                "the log start offset moves into records that one member holds",
            },
        ),
        (
            (FETCH, said(0, 0, (1,), WAITS), asks.AdvanceTime(100)),
            {"a lock would expire whose write is outstanding"},
        ),
        (
            (FETCH, said(3, 3, (2,)), asks.TakeOver(CONFIG)),
            {
                "a new leader while records are held",
                "a new leader finds records that it does not know between those it does",
            },
        ),
    ],
)
def test_what_an_operation_meets(steps: tuple[asks.Ask, ...], met: set[str]) -> None:
    assert last_met(*steps) == met
