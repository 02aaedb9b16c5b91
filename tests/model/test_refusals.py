"""Values of the model that cannot be: each is refused with its name, the value and what may be."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import attrs
import pytest

from model import operations as ops
from model.checks import MAX_INT64, MAX_RANGE
from model.config import SharePartitionConfig
from model.errors import ErrorCode, InvalidValueError
from model.outcome import Outcome, Write
from model.ranges import AcquiredRange, OffsetRange, RecordRange, StateBatch
from model.share_messages import PartitionRequest, ShareAcknowledge, ShareFetch, TopicPartition
from model.share_state_requests import InitializeState, WriteState
from model.snapshot import DurableState, SharePartitionSnapshot
from model.state_topic import SharePartitionKey, ShareUpdate
from model.states import AcquireMode, RecordState
from model.trace import TraceEvent

CONFIG, NOWHERE, AFTER = (
    SharePartitionConfig(),
    DurableState(-1, -1),
    SharePartitionSnapshot(0, 0, 0),
)
FETCH = ops.Acquire("c", AcquireMode.BATCH_OPTIMIZED, 1, 1, 0, ())
TOUCHING = (OffsetRange(0, 4), OffsetRange(4, 6))
AT, LEAVES = TopicPartition("t", 0), ops.MemberLeaves("c")
KEY = SharePartitionKey("g", UUID(int=1), 0)
AFTER_4, WRITTEN = SharePartitionSnapshot(4, 4, 0, ()), ops.OutstandingWrite(7, 4, 0, ())
SHARE_FETCH = ShareFetch("g", "m", 0)
HELD = RecordRange(0, 0, RecordState.ACQUIRED, 1, "c")


def changed(value: Any, name: str, to: object) -> Callable[[], object]:  # noqa: ANN401 - any value
    return lambda: attrs.evolve(value, **{name: to})


REFUSED: list[tuple[str, Callable[[], object]]] = [
    ("log_end_offset is 4; .*start_offset.* 5", lambda: ops.Initialize(CONFIG, 5, 4, NOWHERE)),
    ("log_start_offset is -1", lambda: ops.Initialize(CONFIG, -1, 4, NOWHERE)),
    ("time_ms is -1", lambda: ops.Initialize(CONFIG, 0, 4, NOWHERE, -1)),
    ("reset_offset is -1", lambda: ops.Initialize(CONFIG, 0, 0, NOWHERE, 0, -1)),
    (
        "last_stable_offset is 5; allowed: at most .* 4",
        lambda: ops.Initialize(CONFIG, 0, 4, NOWHERE, last_stable_offset=5),
    ),
    ("log_end_offset is 4; .*ends at 4", lambda: ops.Produce((OffsetRange(0, 4),), 4)),
    ("log_batches is .*; allowed: ranges .* after 4", lambda: ops.Produce(TOUCHING, 9)),
    ("last_stable_offset is 5; allowed: at most .* 4", lambda: ops.Produce((), 4, 5)),
    ("member is ''", changed(FETCH, "member", "")),
    ("batch_size is -1", changed(FETCH, "batch_size", -1)),
    ("max_fetch_records is -1", changed(FETCH, "max_fetch_records", -1)),
    ("fetch_offset is -1", changed(FETCH, "fetch_offset", -1)),
    ("log_batches is ", changed(FETCH, "log_batches", TOUCHING)),
    ("member is ''", lambda: ops.SkipAcquire("")),
    ("member is ''", lambda: ops.Acknowledge("", ())),
    ("member is ''", lambda: ops.MemberLeaves("")),
    ("ms is -1", lambda: ops.AdvanceTime(-1)),
    ("id is -1", lambda: ops.CompleteWrite(-1, ErrorCode.NONE)),
    ("status is .*PENDING.*; .*NONE or an", lambda: ops.CompleteWrite(0, ErrorCode.PENDING)),
    ("log_start_offset is -1", lambda: ops.AdvanceLogStart(-1)),
    ("start_offset is -1", lambda: ops.ResetOffset(-1)),
    ("member is ''", lambda: ops.MarkInProgress("", ())),
    ("last is None; allowed: an integer", lambda: ops.ProgressBatch(0, None, 0, 0)),  # type: ignore[arg-type]
    (
        "outstanding.id is 7",
        lambda: ops.Checkpoint(CONFIG, 3, AFTER_4, (), (WRITTEN, attrs.evolve(WRITTEN, seq=1))),
    ),
    ("id is -1", lambda: Write(-1, 0, 0)),
    ("start_offset is -2", lambda: Write(0, -2, 0)),
    (f"start_offset is {MAX_INT64}", lambda: Write(0, MAX_INT64, 0)),
    ("delivery_complete_count is -", lambda: Write(0, 0, -(2**63))),
    ("acquisition is -1", lambda: Outcome(acquisition=-1)),
    ("end_offset is 4; .*start_offset, which is 5", lambda: SharePartitionSnapshot(5, 4, 0)),
    ("delivery_complete_count is -", lambda: SharePartitionSnapshot(0, 0, -(2**63))),
    ("start_offset is -2", changed(NOWHERE, "start_offset", -2)),
    ("delivery_complete_count is -2", changed(NOWHERE, "delivery_complete_count", -2)),
    ("state_epoch is -1", changed(NOWHERE, "state_epoch", -1)),
    ("leader_epoch is -1", changed(NOWHERE, "leader_epoch", -1)),
    (r"state is .*AVAILABLE \(0\), ACK", lambda: StateBatch(0, 0, RecordState.ACQUIRED, 1)),
    ("delivery_count is -1", lambda: AcquiredRange(0, 0, -1)),
    ("delivery_count is 32768", lambda: AcquiredRange(0, 0, 2**15)),
    ("owner is ''", changed(HELD, "owner", "")),
    ("partition is ''", lambda: TraceEvent("", 0, 0, LEAVES, Outcome(), AFTER)),
    ("seq is -1", lambda: TraceEvent("g:t:0", -1, 0, LEAVES, Outcome(), AFTER)),
    ("time_ms is -1", lambda: TraceEvent("g:t:0", 0, -1, LEAVES, Outcome(), AFTER)),
    ("session_epoch is 2147483648", changed(SHARE_FETCH, "session_epoch", 2**31)),
    ("session_epoch is -2147483649", lambda: ShareAcknowledge("g", "m", -(2**31) - 1)),
    ("session_epoch is True", changed(SHARE_FETCH, "session_epoch", to=True)),
    ("version is 0; .* from 1 to 2", changed(SHARE_FETCH, "version", 0)),
    ("version is 3; .* from 1 to 2", changed(SHARE_FETCH, "version", 3)),
    (
        "partitions is .*each share-partition once",
        lambda: ShareAcknowledge("g", "m", 1, (PartitionRequest(AT), PartitionRequest(AT))),
    ),
    ("forgotten is .*each share-partition once", lambda: ShareFetch("g", "m", 1, (), (AT, AT))),
    ("topic_id is ''", changed(AT, "topic_id", "")),
    ("partition is -1", changed(AT, "partition", -1)),
    ("start_offset is -2", lambda: InitializeState(KEY, 0, -2)),
    ("start_offset is -2", lambda: WriteState(KEY, 0, 0, -2)),
    ("delivery_complete_count is -2", lambda: WriteState(KEY, 0, 0, 0, -2)),
    ("group_id is ''; allowed: a string that is not empty", changed(KEY, "group_id", "")),
    ("partition is 2147483648", changed(KEY, "partition", 2**31)),
    ("partition is -2147483649", changed(KEY, "partition", -(2**31) - 1)),
    ("snapshot_epoch is -1", lambda: ShareUpdate(-1, 0, 0, 0)),
    ("leader_epoch is -1", lambda: ShareUpdate(0, -1, 0, 0)),
    ("start_offset is -2", lambda: ShareUpdate(0, 0, -2, 0)),
    ("delivery_complete_count is -2", lambda: ShareUpdate(0, 0, 0, -2)),
    ("delivery_count_limit is 0", changed(CONFIG, "delivery_count_limit", 0)),
    ("partition_max_record_locks is 0", changed(CONFIG, "partition_max_record_locks", 0)),
    ("record_lock_duration_ms is -1", changed(CONFIG, "record_lock_duration_ms", -1)),
]
for kind in (
    OffsetRange(0, 0),
    AcquiredRange(0, 0, 1),
    StateBatch(0, 0, RecordState.AVAILABLE, 1),
    HELD,
):
    REFUSED += [
        ("first is -1", changed(kind, "first", -1)),
        ("last is .*; allowed: an integer from 0", changed(kind, "last", MAX_INT64 - 1)),
        ("last is 0; allowed: at least first, which is 4", changed(kind, "first", 4)),
        (f"last is .*; allowed: at most {MAX_RANGE} off", changed(kind, "last", MAX_RANGE)),
    ]


@pytest.mark.parametrize(("message", "make"), REFUSED, ids=map(str, range(len(REFUSED))))
def test_an_error_names_what_cannot_be(message: str, make: Callable[[], object]) -> None:
    with pytest.raises(InvalidValueError, match=f"^{message}"):
        make()
