"""Records of aborted transactions are not delivered under read_committed."""

import attrs

from model.config import IsolationLevel
from model.guards import Guard
from model.operations import ArchiveAborted
from model.ranges import AcquiredRange, OffsetRange
from spec.partition import SharePartition, Step, require
from spec.ranges import offsets, runs
from spec.record import archive_aborted, can_archive_aborted
from spec.window import replace, tracked


def archive_aborted_records(partition: SharePartition, operation: ArchiveAborted) -> Step:
    """Archive what a fetch has taken of aborted transactions (KIP-932, Group configuration).

    It follows the acquisition, which takes these records like all others; the member gets what
    ``committed`` returns. Transaction markers are not data, and are delivered as gaps.

    Guard: the isolation level is read_committed.
    Effect: each ACQUIRED record in the ranges, whoever holds it, as ``record.archive_aborted``;
    others stay as they are.
    Delivery count: unchanged.
    Persistence: none; the next write carries the delivery complete count.
    """
    level = partition.config.isolation_level
    committed_only = level is IsolationLevel.READ_COMMITTED
    require(committed_only, Guard.ONLY_COMMITTED_IS_ASKED_FOR, f"it is {level}")
    window = partition.window
    archived = {
        offset: archive_aborted(window.records[offset])
        for part in operation.ranges
        for offset in tracked(window, part.first, part.last + 1)
        if can_archive_aborted(window.records[offset])
    }
    return Step(attrs.evolve(partition, window=replace(window, archived)))


def committed(
    acquired: tuple[AcquiredRange, ...], aborted: tuple[OffsetRange, ...]
) -> tuple[AcquiredRange, ...]:
    """Return the acquired records that a member gets: those of no aborted transaction."""
    without = set(offsets(aborted))
    remaining = (
        (offset, part.delivery_count)
        for part in acquired
        for offset in range(part.first, part.last + 1)
        if offset not in without
    )
    return tuple(AcquiredRange(*run) for run in runs(remaining))
