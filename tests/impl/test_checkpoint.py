"""Beside the lockstep, which compares checkpoints with the specification's."""

from impl import layout as at
from impl.partition import FastSharePartition
from model.config import SharePartitionConfig
from model.operations import (
    Checkpoint,
    LockEnd,
    OutstandingWrite,
)
from model.profile import KAFKA
from model.ranges import RecordRange, StateBatch
from model.snapshot import SharePartitionSnapshot
from model.states import RecordState

HELD, FREE, DONE = RecordState.ACQUIRED, RecordState.AVAILABLE, RecordState.ACKNOWLEDGED
RECORDS = (
    RecordRange(0, 1, FREE, 1),
    RecordRange(2, 3, HELD, 1, "a"),
    RecordRange(5, 5, DONE, 2, "b", pending=True),
    RecordRange(6, 6, RecordState.ARCHIVED, 1),
)
WRITE = OutstandingWrite(3, 0, 2, (StateBatch(5, 5, DONE, 2),), 8)
TOLD = Checkpoint(
    SharePartitionConfig(record_lock_duration_ms=50),
    0,
    SharePartitionSnapshot(0, 7, 2, RECORDS),
    (LockEnd(2, 3, 60), LockEnd(5, 5, 70)),
    (WRITE,),
    20,
    timed=True,
)


def taken() -> FastSharePartition:
    made = FastSharePartition(KAFKA)
    made.apply(TOLD)
    return made


def test_only_where_records_are_missing_the_log_has_holes() -> None:
    state = taken()._state  # noqa: SLF001 - an empty hole changes no answer until there is no room
    holes = state.holes[state.header[at.HOLES_HEAD] : state.header[at.HOLES_TAIL]]
    assert holes.tolist() == [[4, 4]]
