import pytest

from impl.partition import FastSharePartition
from model.checks import MAX_INT64
from model.config import SharePartitionConfig
from model.errors import InvalidValueError
from model.operations import (
    AdvanceLogStart,
    Initialize,
)
from model.profile import KAFKA
from model.ranges import StateBatch
from model.snapshot import DurableState
from model.states import RecordState
from tests.impl.held import Held

# All times are 0, so that none is by chance as large as an offset.
NO_TIMES = SharePartitionConfig(
    record_lock_duration_ms=0,
    in_progress_staleness_threshold_ms=0,
    in_progress_max_lock_extension_ms=0,
)


def test_a_window_may_end_at_the_last_offset_of_all() -> None:
    last = MAX_INT64 - 2
    kept = tuple(StateBatch(at, at, RecordState.AVAILABLE, 1) for at in (last - 1, last))
    made = Held(KAFKA)
    made.apply(Initialize(NO_TIMES, 0, last, DurableState(0, 0, kept)))
    assert made.snapshot().end_offset == MAX_INT64 - 1
    made.apply(AdvanceLogStart(MAX_INT64 - 1))
    with pytest.raises(InvalidValueError, match="last"):
        StateBatch(last + 1, last + 1, RecordState.AVAILABLE, 1)


def test_a_new_leader_reads_any_number_of_batches() -> None:
    kept = tuple(StateBatch(2 * i, 2 * i, RecordState.AVAILABLE, 1) for i in range(300))
    made = FastSharePartition(KAFKA)
    made.apply(Initialize(SharePartitionConfig(), 0, 600, DurableState(0, 0, kept)))
    assert len(made.snapshot().records or ()) == 300
    assert made.durable().state_batches == kept
