"""The observable state of a share-partition."""

from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter

from judge.recorded_partition import recorded
from model.outcome import Write
from model.ranges import RecordRange, StateBatch, record_range, runs
from model.snapshot import DurableState, SharePartitionSnapshot
from spec.coordinator import durable_from, durable_state, explain_read
from spec.partition import SharePartition, complete_count
from spec.record import Record
from spec.window import Window, first_unfinished, passed, replace, tracked

_SHOWN = attrgetter("state", "delivery_count", "owner", "pending")

_range = lru_cache(maxsize=1 << 14)(record_range)
"""A range of records of the specification, whose values have the types that they should have."""


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
    """Return what a new leader may read that comes nearest to what it read (``explain_read``).

    Where events are missing more may have been written; and a share-partition that was reset begins
    anew.
    """
    known, profile = recorded(partition), partition.profile
    durable = known.durable
    if read.state_epoch > durable.state_epoch:
        return read
    writes = [sent.write for _, sent in sorted(known.outstanding.items())]
    writes += known.doubtful
    if not known.durable_whole:
        start, count = read.start_offset, read.delivery_complete_count
        writes = [Write(0, start, count, read.state_batches)]
    return durable_state(explain_read(durable, writes, durable_from(read), profile))


def furthest(partition: SharePartition, written: Sequence[StateBatch]) -> int:
    """Return how far the start offset may move once the records are as they were written."""
    window = partition.window
    committed = {
        offset: Record(batch.state, batch.delivery_count)
        for batch in written
        for offset in tracked(window, batch.first, batch.last + 1)
    }
    after = replace(window, committed)
    return passed(after, partition.log, first_unfinished(after, partition.log))


def _ranges(window: Window) -> tuple[RecordRange, ...]:
    inside = tracked(window, window.start_offset, window.end_offset)
    shown = map(_SHOWN, map(window.records.__getitem__, inside))
    of_equals = runs(zip(inside, shown, strict=True))
    return tuple(_range(first, last, *equal) for first, last, equal in of_equals)
