"""The observable state of a share-partition."""

from collections.abc import Sequence
from itertools import starmap
from operator import attrgetter

from model.outcome import Write
from model.ranges import RecordRange, StateBatch, record_range
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import RecordState
from spec.coordinator import durable_state
from spec.coordinator import readable as readable_state
from spec.partition import SharePartition, complete_count
from spec.ranges import runs
from spec.record import UNDELIVERED, Record
from spec.window import Window, first_unfinished, replace, tracked

_SHOWN = attrgetter("state", "delivery_count", "owner", "pending")


def snapshot(partition: SharePartition) -> SharePartitionSnapshot:
    """Return the window in ranges of equal records; deadlines are not shown."""
    window = partition.window
    return SharePartitionSnapshot(
        window.start_offset, window.end_offset, complete_count(partition), _ranges(window)
    )


def durable(partition: SharePartition) -> DurableState:
    """Return what the share coordinator holds."""
    return durable_state(partition.durable)


def readable(partition: SharePartition, read: DurableState) -> DurableState:
    """Return what a new leader may read that comes nearest to what it read.

    Nothing durable is lost, and nothing is durable that was not written: the durable state is one
    of those that the writes without a certain answer leave open. Where events are missing
    more may have been written; and a share-partition that was reset meanwhile begins anew.
    """
    if read.state_epoch > partition.durable.state_epoch:
        return read
    writes = [waiting.write for _, waiting in sorted(partition.outstanding.items())]
    writes += partition.doubtful
    if not partition.durable_whole:
        start, count = read.start_offset, read.delivery_complete_count
        writes = [Write(0, start, count, read.state_batches)]
    return durable_state(readable_state(partition.durable, writes, read, partition.profile))


def furthest(partition: SharePartition, written: Sequence[StateBatch]) -> int:
    """Return how far the start offset may move once the records are as they were written."""
    window = partition.window
    committed = {
        offset: Record(batch.state, batch.delivery_count)
        for batch in written
        for offset in tracked(window, batch.first, batch.last + 1)
    }
    return first_unfinished(replace(window, committed), partition.log)


def state_of(partition: SharePartition, offset: int) -> RecordState:
    """Return the state of any offset (KIP-932, In-flight records).

    Everything before the window is ARCHIVED, everything after it AVAILABLE.
    """
    if offset < partition.window.start_offset:
        return RecordState.ARCHIVED
    return RecordState(partition.window.records.get(offset, UNDELIVERED).state)


def _ranges(window: Window) -> tuple[RecordRange, ...]:
    records = window.records
    inside = tracked(window, window.start_offset, window.end_offset)
    return tuple(starmap(_range, runs((offset, _SHOWN(records[offset])) for offset in inside)))


def _range(first: int, last: int, shown: tuple[int, int, str | None, bool]) -> RecordRange:
    state, delivery_count, owner, pending = shown
    return record_range(first, last, RecordState(state), delivery_count, owner, pending)
