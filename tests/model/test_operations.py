import pytest
from hypothesis import given

from model import operations as ops
from tests.strategies import OPERATIONS


@given(OPERATIONS)
def test_an_operation_is_a_value(operation: ops.Operation) -> None:
    hash(operation)
    with pytest.raises(AttributeError):
        operation.member = "c2"  # type: ignore[union-attr, misc]


def test_an_acknowledgement_may_be_malformed_and_enters_at_the_share_partition() -> None:
    batch = ops.AcknowledgementBatch(9, -4, (7,))
    assert ops.Acknowledge("c", (batch,)).entry is ops.EntryPoint.SHARE_PARTITION


def test_a_mark_may_be_malformed() -> None:
    batch = ops.ProgressBatch(9, -4, -1, 2**63 - 1)
    assert ops.MarkInProgress("c", (batch,)).batches == (batch,)
