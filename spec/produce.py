"""The log under a share-partition grows, and compaction takes records out of it."""

import attrs

from model.errors import InvalidValueError
from model.operations import Compact, Produce
from model.outcome import Choice
from spec.log import Log, learn_hole
from spec.partition import SharePartition, Step
from spec.read import notice


def produce(partition: SharePartition, operation: Produce) -> Step:
    """Append batches to the log. The share-partition itself does not change (KIP-932).

    Guard: the batches come after the end of the log, and the last stable offset does not go back.
    Effect: the log holds the offsets of the batches; those between them are natural gaps. Records
    from the first of an open transaction on are not committed.
    Delivery count: unchanged.
    Persistence: none.
    """
    log, end = partition.log, operation.log_end_offset
    if end < log.end_offset:
        allowed = f"at least the log end offset, which is {log.end_offset}"
        raise InvalidValueError("log_end_offset", end, allowed)
    stable = end if operation.last_stable_offset is None else operation.last_stable_offset
    if stable < log.stable_offset:
        allowed = f"at least the last stable offset, which is {log.stable_offset}"
        raise InvalidValueError("last_stable_offset", stable, allowed)
    log = attrs.evolve(_append(log, operation), end_offset=end, stable_offset=stable)
    return Step(attrs.evolve(partition, log=log))


def compact(partition: SharePartition, operation: Compact, choice: Choice) -> Step:
    """Compact the log (KIP-1226, Handling Control and Compacted Records).

    Guard: the offsets lie below the end of the log.
    Effect: the log no longer holds them. The share-partition notices when a read skips them, or
    at once, as chosen (``read.notice``). They need never be delivered.
    Delivery count: unchanged.
    Persistence: none.
    """
    log = partition.log
    for part in operation.ranges:
        if part.last >= log.end_offset:
            allowed = f"offsets below the log end offset, which is {log.end_offset}"
            raise InvalidValueError("ranges", part.last, allowed)
        log = learn_hole(log, part.first, part.last)
    return Step(notice(attrs.evolve(partition, log=log), choice))


def _append(log: Log, operation: Produce) -> Log:
    offset = log.end_offset
    for batch in operation.log_batches:
        if batch.first < offset:
            raise InvalidValueError("log_batches", batch.first, f"offsets from {offset}")
        log = learn_hole(log, offset, batch.first - 1)
        offset = batch.last + 1
    log = learn_hole(log, offset, operation.log_end_offset - 1)
    added = tuple((batch.first, batch.last) for batch in operation.log_batches)
    return attrs.evolve(log, batches=log.batches + added)
