"""The log of one partition: batches as they were sent, and what producers wrote last."""

from bisect import bisect_left
from collections import OrderedDict
from operator import attrgetter

import attrs
from kio.schema.errors import ErrorCode as KafkaError

from model.ranges import OffsetRange
from serve.batches import RefusedError, Stored, StoredBatch, stored
from serve.limits import BATCH_BYTES, Maxima

_REMEMBERED = 5
"""How many batches of a producer are known again when it sends them twice, as in Kafka."""
_SEQUENCES = 1 << 31
NO_PRODUCER = -1
_FIRST, _LAST = attrgetter("first"), attrgetter("last")


@attrs.frozen
class ProducerBatches:
    """The last batches of one producer: (first sequence, last sequence, first offset) of each."""

    epoch: int
    batches: tuple[tuple[int, int, int], ...] = ()


@attrs.define
class RecordLog:
    """Batches from ``start`` (inclusive) to ``end`` (exclusive).

    ``size`` in bytes, with BATCH_BYTES for each batch.
    ``aborted`` are the records of transactions that were aborted; no client can produce any.
    """

    start: int = 0
    end: int = 0
    size: int = 0
    batches: list[Stored] = attrs.field(factory=list)
    aborted: list[OffsetRange] = attrs.field(factory=list)
    producers: OrderedDict[int, ProducerBatches] = attrs.field(factory=OrderedDict)


def append(
    log: RecordLog, batch: StoredBatch, limits: Maxima, epoch: int = 0
) -> tuple[int, Stored | None]:
    """Append a batch in a leader epoch; return its first offset, no batch if it was there before.

    Raises RefusedError if the producer's sequence has a hole, its epoch is old, or the log is full.
    """
    known = _known(log, batch)
    if known is not None:
        return known, None
    full = log.size + len(batch.data) + BATCH_BYTES > limits.partition_bytes
    if full or len(log.batches) >= limits.partition_batches:
        text = f"the partition is full: it holds {log.size:,} bytes in {len(log.batches):,} batches"
        raise RefusedError(KafkaError.policy_violation, text)
    kept = stored(batch, log.end, epoch)
    log.batches.append(kept)
    log.end, log.size = kept.last + 1, log.size + len(kept.data) + BATCH_BYTES
    if batch.producer_id != NO_PRODUCER:
        _remember(log, batch, kept.first, limits)
    return kept.first, kept


def _known(log: RecordLog, batch: StoredBatch) -> int | None:
    """Return where a batch is that the producer sent before, or None. Raises RefusedError."""
    written = log.producers.get(batch.producer_id)
    if written is None or batch.producer_id == NO_PRODUCER:
        return None
    if batch.producer_epoch < written.epoch:
        raise RefusedError(KafkaError.invalid_producer_epoch, f"epoch {batch.producer_epoch}")
    if batch.producer_epoch > written.epoch:
        _check_first(batch.sequence)
        return None
    ends = batch.sequence, (batch.sequence + batch.size - 1) % _SEQUENCES
    for first, last, offset in written.batches:
        if (first, last) == ends:
            return offset
    if batch.sequence != (written.batches[-1][1] + 1) % _SEQUENCES:
        text = f"sequence {batch.sequence} after {written.batches[-1][1]}"
        raise RefusedError(KafkaError.out_of_order_sequence_number, text)
    return None


def _check_first(sequence: int) -> None:
    if sequence:
        text = f"sequence {sequence} is the first of a new epoch"
        raise RefusedError(KafkaError.out_of_order_sequence_number, text)


def _remember(log: RecordLog, batch: StoredBatch, first: int, limits: Maxima) -> None:
    written = log.producers.pop(batch.producer_id, None)
    if written is None or written.epoch != batch.producer_epoch:
        written = ProducerBatches(batch.producer_epoch)
    last = (batch.sequence + batch.size - 1) % _SEQUENCES
    batches = (*written.batches, (batch.sequence, last, first))[-_REMEMBERED:]
    log.producers[batch.producer_id] = attrs.evolve(written, batches=batches)
    if len(log.producers) > limits.partition_producers:
        log.producers.popitem(last=False)


def delete_below(log: RecordLog, start: int) -> None:
    """Move the start of the log up; a batch goes once all of it lies below."""
    log.start = max(log.start, start)
    gone = bisect_left(log.batches, log.start, key=_LAST)
    log.size -= sum(len(batch.data) + BATCH_BYTES for batch in log.batches[:gone])
    del log.batches[:gone]


def batches_from(log: RecordLog, offset: int) -> list[Stored]:
    """Return the batches from the one on that holds ``offset``."""
    return log.batches[bisect_left(log.batches, offset, key=_LAST) :]


def batches_within(log: RecordLog, first: int, last: int) -> list[Stored]:
    """Return the batches that share an offset with first..last."""
    low = bisect_left(log.batches, first, key=_LAST)
    high = bisect_left(log.batches, last + 1, key=_FIRST)
    return log.batches[low:high]


def offset_at(log: RecordLog, timestamp: int) -> tuple[int, int] | None:
    """Return the first batch as late as ``timestamp``: its first offset and its newest time.

    Batches may be packed, so that single records are not looked at.
    """
    for batch in log.batches:
        if batch.max_timestamp >= timestamp:
            return max(batch.first, log.start), batch.max_timestamp
    return None
