from collections.abc import Callable
from typing import get_args

import pytest
from hypothesis import given

from model import operations as ops
from model.config import SharePartitionConfig
from model.errors import ErrorCode, InvalidValueError
from model.ranges import OffsetRange
from model.snapshot import DurableState
from model.states import AcquireMode
from tests.strategies import OPERATIONS

NOWHERE = DurableState(-1, -1)
CONFIG = SharePartitionConfig()
MODE = AcquireMode.BATCH_OPTIMIZED
TOUCHING = (OffsetRange(0, 4), OffsetRange(4, 6))


def test_operation_names_every_operation() -> None:
    exported = {getattr(ops, name) for name in ops.__all__}
    parts = {ops.AcknowledgementBatch, ops.ProgressBatch, ops.LockEnd, ops.OutstandingWrite}
    aside = {ops.Operation, ops.EntryPoint, *parts}
    assert set(get_args(ops.Operation)) == exported - aside


@given(OPERATIONS)
def test_an_operation_is_a_value(operation: ops.Operation) -> None:
    hash(operation)
    with pytest.raises(AttributeError):
        operation.member = "c2"  # type: ignore[union-attr, misc]


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        (
            ops.Initialize,
            (
                CONFIG,
                5,
                4,
                NOWHERE,
            ),
            "log_end_offset is 4; .*start_offset.* 5",
        ),
        (
            ops.Initialize,
            (
                CONFIG,
                -1,
                4,
                NOWHERE,
            ),
            "log_start_offset is -1",
        ),
        (ops.Initialize, (CONFIG, 0, 4, NOWHERE, -1), "time_ms is -1"),
        (
            ops.Produce,
            (
                (OffsetRange(0, 4),),
                4,
            ),
            "log_end_offset is 4; .*ends at 4",
        ),
        (
            ops.Produce,
            (
                TOUCHING,
                9,
            ),
            "log_batches is .*; allowed: ranges .* after 4",
        ),
        (
            ops.Acquire,
            (
                "",
                MODE,
                1,
                1,
                0,
                (),
            ),
            "member is ''",
        ),
        (
            ops.Acquire,
            (
                "c",
                MODE,
                -1,
                1,
                0,
                (),
            ),
            "batch_size is -1",
        ),
        (
            ops.Acquire,
            (
                "c",
                MODE,
                1,
                -1,
                0,
                (),
            ),
            "max_fetch_records is -1",
        ),
        (
            ops.Acquire,
            (
                "c",
                MODE,
                1,
                1,
                -1,
                (),
            ),
            "fetch_offset is -1",
        ),
        (
            ops.Acquire,
            (
                "c",
                MODE,
                1,
                1,
                0,
                TOUCHING,
            ),
            "log_batches is ",
        ),
        (ops.SkipAcquire, ("",), "member is ''"),
        (
            ops.Acknowledge,
            (
                "",
                (),
            ),
            "member is ''",
        ),
        (ops.MemberLeaves, ("",), "member is ''"),
        (ops.AdvanceTime, (-1,), "ms is -1"),
        (
            ops.CompleteWrite,
            (
                -1,
                ErrorCode.NONE,
            ),
            "id is -1",
        ),
        (
            ops.CompleteWrite,
            (
                0,
                ErrorCode.PENDING,
            ),
            "status is .*PENDING.*; .*NONE or an",
        ),
        (ops.AdvanceLogStart, (-1,), "log_start_offset is -1"),
        (ops.ResetOffset, (-1,), "start_offset is -1"),
        (ops.Initialize, (CONFIG, 0, 0, NOWHERE, 0, -1), "reset_offset is -1"),
        (ops.MarkInProgress, ("", ()), "member is ''"),
        (ops.ProgressBatch, (0, None, 0, 0), "last is None; allowed: an integer"),
    ],
)
def test_an_impossible_argument_is_refused(
    kind: Callable[..., object], arguments: tuple[object, ...], message: str
) -> None:
    with pytest.raises(InvalidValueError, match=f"^{message}"):
        kind(*arguments)


def test_the_edges_are_allowed() -> None:
    assert ops.Initialize(CONFIG, 5, 5, NOWHERE).log_end_offset == 5
    assert ops.Produce((OffsetRange(0, 4), OffsetRange(5, 6)), 7).log_end_offset == 7
    assert ops.Produce((), 0).log_batches == ()
    assert ops.CompleteWrite(0, ErrorCode.NOT_COORDINATOR).status is ErrorCode.NOT_COORDINATOR


def test_an_acknowledgement_may_be_malformed_and_enters_at_the_share_partition() -> None:
    batch = ops.AcknowledgementBatch(9, -4, (7,))
    assert ops.Acknowledge("c", (batch,)).entry is ops.EntryPoint.SHARE_PARTITION


def test_a_mark_may_be_malformed() -> None:
    batch = ops.ProgressBatch(9, -4, -1, 2**63 - 1)
    assert ops.MarkInProgress("c", (batch,)).batches == (batch,)
