import pytest
from hypothesis import given

from model import operations as ops
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.ranges import OffsetRange
from model.snapshot import DurableState
from tests.strategies import OPERATIONS

NOWHERE = DurableState(-1, -1)
CONFIG = SharePartitionConfig()


@given(OPERATIONS)
def test_an_operation_is_a_value(operation: ops.Operation) -> None:
    hash(operation)
    with pytest.raises(AttributeError):
        operation.member = "c2"  # type: ignore[union-attr, misc]


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
