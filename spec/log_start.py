"""The log start offset moves past the share-partition start offset."""

import attrs

from model.operations import AdvanceLogStart
from spec.partition import SharePartition, Step
from spec.window import drop_below


def advance_log_start(partition: SharePartition, operation: AdvanceLogStart) -> Step:
    """Follow the log start offset (Kafka: SharePartition.updateCacheAndOffsets).

    Guard: it lies beyond the share-partition start offset; otherwise nothing changes.
    Effect: records below it are no longer in flight, whatever their state was. Later
    acknowledgements of them are ignored. Both ends of the window (SPSO and SPEO) move up to the log
    start offset if they lie below it.
    Delivery count: unchanged above it.
    Persistence: none; the next write carries the start offset.
    """
    start = max(partition.log.start_offset, operation.log_start_offset)
    end = max(partition.log.end_offset, start)
    stable = max(partition.log.stable_offset, start)
    log = attrs.evolve(partition.log, start_offset=start, end_offset=end, stable_offset=stable)
    window = partition.window
    if operation.log_start_offset > window.start_offset:
        window = drop_below(window, operation.log_start_offset)
    return Step(attrs.evolve(partition, log=log, window=window))
