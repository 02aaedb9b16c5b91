"""Records of aborted transactions are not delivered under read_committed."""

import attrs

from model.config import IsolationLevel
from model.guards import Guard
from model.operations import ArchiveAborted
from model.outcome import Choice
from model.ranges import AcquiredRange, OffsetRange, offsets, runs
from spec.partition import SharePartition, Step, require
from spec.record import acquire, archive_aborted, can_archive_aborted, is_acquirable, withhold
from spec.window import archived_counts, replace, tracked


def archive_aborted_records(
    partition: SharePartition, operation: ArchiveAborted, choice: Choice
) -> Step:
    """Archive what a fetch has taken of aborted transactions (KIP-932, Group configuration).

    It follows the acquisition, which takes these records like all others; the member gets what
    ``committed`` returns.

    Guard: the isolation level is read_committed.
    Effect: each ACQUIRED record in the ranges, whoever holds it, as ``record.archive_aborted``. An
    implementation that does not acquire what nobody is given archives an available one as
    ``record.withhold``, or acquires and archives it at once, as chosen. Others stay as they are.
    Delivery count: unchanged, or one more for what it acquires.
    Persistence: none; the next write carries the delivery complete count.
    """
    level, window = partition.config.isolation_level, partition.window
    committed_only = level is IsolationLevel.READ_COMMITTED
    require(committed_only, Guard.ONLY_COMMITTED_IS_ASKED_FOR, f"it is {level}")
    archived = {
        offset: archive_aborted(window.records[offset])
        for part in operation.ranges
        for offset in tracked(window, part.first, part.last + 1)
        if can_archive_aborted(window.records[offset])
    }
    for offset, count in archived_counts(window, choice).items():
        record = window.records[offset]
        if _names(operation, offset) and is_acquirable(record):
            counted = acquire(record, None, None)
            same = counted.delivery_count == count
            archived[offset] = archive_aborted(counted) if same else withhold(record)
    return Step(attrs.evolve(partition, window=replace(window, archived)))


def _names(operation: ArchiveAborted, offset: int) -> bool:
    return any(part.first <= offset <= part.last for part in operation.ranges)


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
