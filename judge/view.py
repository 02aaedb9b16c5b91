"""The observable state of a share-partition."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import attrgetter

from judge.recorded_partition import recorded
from model.outcome import Write
from model.profile import Profile
from model.ranges import RecordRange, StateBatch, record_range, runs
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import RecordState
from spec.coordinator import Durable, Entry, durable_state, merge, merge_start
from spec.partition import SharePartition, complete_count
from spec.record import Record, durable_maximum
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
    """Return what a new leader may read that comes nearest to what it read.

    Nothing durable is lost, and nothing is durable that was not written. Of a write without an
    answer, or with an error, nobody knows whether it is durable: it is where all of it is in what
    was read. As states only grow (``merge``), no other choice of writes explains more. Where events
    are missing more may have been written; and a share-partition that was reset begins anew.
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
    shown = _entries(read.state_batches, read.start_offset, profile)
    limit = read.start_offset, read.delivery_complete_count
    for write in writes:
        before = durable.start_offset, durable.delivery_complete_count
        numbers = write.start_offset, write.delivery_complete_count
        if merge_start(before, numbers, profile) > max(before, limit):
            continue
        entries = _entries(write.state_batches, read.start_offset, profile)
        if all(
            durable_maximum(*entry, *shown.get(o, (RecordState.AVAILABLE, -1))) == shown.get(o)
            for o, entry in entries.items()
        ):
            durable = merge(durable, write, profile)
    return durable_state(durable)


def _entries(batches: tuple[StateBatch, ...], start: int, profile: Profile) -> Mapping[int, Entry]:
    """Return what is durable from ``start`` on of a share-partition with just these batches."""
    return merge(Durable(start), Write(0, -1, -1, batches), profile).entries


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
