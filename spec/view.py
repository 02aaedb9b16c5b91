"""The observable state of a share-partition."""

from model.ranges import RecordRange
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import RecordState
from spec.coordinator import durable_state
from spec.partition import SharePartition, complete_count
from spec.ranges import runs
from spec.record import UNDELIVERED
from spec.window import Window, tracked


def snapshot(partition: SharePartition) -> SharePartitionSnapshot:
    """Return the window in ranges of equal records; deadlines are not shown."""
    window = partition.window
    return SharePartitionSnapshot(
        window.start_offset, window.end_offset, complete_count(partition), _ranges(window)
    )


def durable(partition: SharePartition) -> DurableState:
    """Return what the share coordinator holds."""
    return durable_state(partition.durable)


def state_of(partition: SharePartition, offset: int) -> RecordState:
    """Return the state of any offset (KIP-932, In-flight records).

    Everything before the window is ARCHIVED, everything after it AVAILABLE.
    """
    if offset < partition.window.start_offset:
        return RecordState.ARCHIVED
    return RecordState(partition.window.records.get(offset, UNDELIVERED).state)


def _ranges(window: Window) -> tuple[RecordRange, ...]:
    def kind(offset: int) -> tuple[RecordState, int, str | None, bool]:
        record = window.records[offset]
        return RecordState(record.state), record.delivery_count, record.owner, record.pending

    inside = tracked(window, window.start_offset, window.end_offset)
    return tuple(
        RecordRange(first, last, *same) for first, last, same in runs((o, kind(o)) for o in inside)
    )
