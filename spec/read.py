"""What a fetch read from the log: a claim, which is checked against what was produced."""

import attrs

from model.guards import Guard
from model.operations import Acquire
from model.outcome import Choice
from spec.log import first_existing, hole_end, learn_hole, learn_read, overlapping, readable_end
from spec.partition import SharePartition, require
from spec.record import can_vanish, vanish
from spec.window import archived_counts, replace, tracked

_FREE = Choice()


def check_read(partition: SharePartition, operation: Acquire) -> None:
    """Refuse a read that does not show what the log holds (KIP-932, at-least-once delivery).

    It ends where the log does, or under read_committed at the last stable offset; its log batches
    are parts of those that were produced; and it skips no record that the log holds. Nothing can be
    lost below the start offset or below the log start offset. Of a log that nobody records nothing
    can be checked.
    """
    log, level = partition.log, partition.config.isolation_level
    end = readable_end(log, level)
    for batch in operation.log_batches:
        detail = f"offset {max(batch.first, end)} was read, {level} ends at {end}"
        require(not log.known or batch.last < end, Guard.WITHIN_READABLE_LOG, detail)
    for batch in operation.log_batches:
        for first, last in overlapping(log, batch.first, batch.last):
            inside = first <= batch.first and batch.last <= last
            detail = f"batch {batch.first}-{batch.last} was read, {first}-{last} was produced"
            require(inside, Guard.READ_IS_OF_THE_LOG, detail)
    place = first_readable(partition, operation)
    for batch in operation.log_batches:
        lost = first_existing(log, place, batch.first - 1)
        detail = f"offset {lost} is in the log, and the read passes over it"
        require(lost is None, Guard.NO_RECORD_LOST, detail)
        place = max(place, batch.last + 1)


def first_readable(partition: SharePartition, operation: Acquire) -> int:
    """Return the first offset of which a read can say that the log lacks it."""
    return max(operation.fetch_offset, partition.window.start_offset, partition.log.start_offset)


def learn(partition: SharePartition, operation: Acquire, choice: Choice = _FREE) -> SharePartition:
    """Learn what the log lacks (KIP-1226, Handling Control and Compacted Records).

    Guard: something was read.
    Effect: offsets that the read skipped are natural gaps or compacted; those below the log start
    offset are gone too, wherever the read begins. Records that were AVAILABLE between the fetch
    offset and the first offset read are ARCHIVED; or any that the log lacks, as chosen
    (``notice``).
    Delivery count: unchanged.
    Persistence: none (Kafka: SharePartition.maybeArchiveStaleBatches).
    """
    if not operation.log_batches:
        return notice(partition, choice)
    read = tuple((batch.first, batch.last) for batch in operation.log_batches)
    window, log = partition.window, partition.log
    log = learn_hole(log, window.start_offset, log.start_offset - 1)
    log = learn_read(log, first_readable(partition, operation), read)
    if choice.archived is not None:
        told = partition if log is partition.log else attrs.evolve(partition, log=log)
        return notice(told, choice)
    gone = {
        offset: vanish(window.records[offset])
        for offset in tracked(window, operation.fetch_offset, read[0][0])
        if can_vanish(window.records[offset])
    }
    if log is partition.log and not gone:
        return partition
    return attrs.evolve(partition, log=log, window=replace(window, gone))


def notice(partition: SharePartition, choice: Choice) -> SharePartition:
    """Archive the records that an implementation has noticed the log to lack.

    Guard: none: which of them is its choice, and when; those that it reads past are passed over.
    Effect: each as ``record.vanish``.
    Delivery count: unchanged.
    Persistence: none.
    """
    window, log = partition.window, partition.log
    gone = {
        offset: vanish(window.records[offset])
        for offset in archived_counts(window, choice)
        if can_vanish(window.records[offset]) and hole_end(log, offset) is not None
    }
    return attrs.evolve(partition, window=replace(window, gone)) if gone else partition
