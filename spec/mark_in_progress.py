"""A consumer reports that it is at work on records (KAFKA-20458, a draft)."""

import attrs

from model.errors import ErrorCode, InvalidValueError
from model.operations import MarkInProgress, ProgressBatch
from model.outcome import Outcome
from spec.partition import SharePartition, Step
from spec.record import Record, can_mark, mark
from spec.window import replace, tracked


def mark_in_progress(partition: SharePartition, operation: MarkInProgress) -> Step:
    """Mark batches of records as in progress (KAFKA-20458, MarkInProgressRequest).

    Guard: each record of a batch may be marked (``record.can_mark``) by the token which the batch
    carries: this leader's epoch and the number of the acquisition. Offsets below the start offset,
    and those never in flight, are passed over.
    Effect: each batch by itself, in order: all its records as ``record.mark``, or none.
    Delivery count: unchanged.
    Persistence: none.
    """
    if not partition.profile.in_progress:
        allowed = "an operation of the profile; it has no records in progress"
        raise InvalidValueError("operation", "mark_in_progress", allowed)
    answers = []
    for batch in operation.batches:
        answer, marked = _marked(partition, operation.member, batch)
        partition = attrs.evolve(partition, window=replace(partition.window, marked))
        answers.append(answer)
    return Step(partition, Outcome(marked=tuple(answers)))


def _marked(
    partition: SharePartition, member: str, batch: ProgressBatch
) -> tuple[ErrorCode, dict[int, Record]]:
    """Return the answer to a batch, and its records as they are once it is accepted."""
    window, config, now = partition.window, partition.config, partition.now
    if not 0 <= batch.first <= batch.last or batch.last >= window.end_offset:
        return ErrorCode.INVALID_REQUEST, {}
    threshold = config.in_progress_staleness_threshold_ms
    extension = config.in_progress_max_lock_extension_ms
    ours, marked = batch.leader_epoch == partition.durable.leader_epoch, {}
    for offset in tracked(window, batch.first, batch.last + 1):
        record = window.records[offset]
        if not (ours and can_mark(record, member, batch.acquisition, now, extension)):
            return ErrorCode.INVALID_RECORD_STATE, {}
        marked[offset] = mark(record, now, threshold, extension)
    return ErrorCode.NONE, marked
