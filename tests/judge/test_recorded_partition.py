"""What a recording leaves open of a share-partition, and what ends that."""

import attrs

from judge.recorded_partition import RecordedPartition, recorded
from judge.recorder import apply_recorded
from model.errors import ErrorCode
from model.operations import Initialize, Operation, Produce, ResetOffset
from model.outcome import Answer, Choice, Write
from model.profile import KAFKA
from model.ranges import StateBatch
from model.snapshot import DurableState
from model.states import RecordState
from spec.partition import new_partition
from tests.spec.worlds import SMALL, acknowledgement, fetch

ACCEPTED = Write(4, 0, 0, (StateBatch(2, 2, RecordState.ACKNOWLEDGED, 1),))
PENDING, FAILED = ErrorCode.PENDING, ErrorCode.NOT_COORDINATOR
BEGIN = Initialize(SMALL, 0, 100, DurableState(0, 0, (), 0, 1))


def after(
    partition: RecordedPartition, operation: Operation, *answers: Answer
) -> RecordedPartition:
    return recorded(apply_recorded(partition, operation, Choice(), answers, 0).partition)


def accepting(status: ErrorCode = PENDING) -> RecordedPartition:
    """A leader where c1 has accepted offset 2; the write of it was seen, and has this status."""
    partition = after(after(recorded(new_partition(KAFKA)), BEGIN), fetch("c1", (0, 4)))
    answer = Answer(status, 4, written=attrs.evolve(ACCEPTED, status=status))
    return after(partition, acknowledgement("c1", (2, 2, 1)), answer)


def test_doubt_ends_once_as_much_is_durable() -> None:
    partition = accepting(FAILED)
    again = after(partition, acknowledgement("c1", (2, 2, 1)), Answer(ErrorCode.NONE, 5))
    assert again.durable.entries[2] == (RecordState.ACKNOWLEDGED, 1)
    assert again.doubtful == ()


def test_an_altered_start_offset_leaves_nothing_in_doubt() -> None:
    waits = Answer(PENDING, 9, written=Write(9, 0, 0))
    begun = after(recorded(new_partition(KAFKA)), BEGIN)
    partition = after(attrs.evolve(begun, doubtful=(ACCEPTED,)), Produce((), 100), waits)
    assert partition.seen == {9}
    reset = after(partition, ResetOffset(50))
    assert (reset.seen, reset.doubtful, set(reset.outstanding)) == (frozenset(), (), {9})
