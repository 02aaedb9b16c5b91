"""Record batches as producers send them: checked, and kept as they came."""

import attrs
from crc32c import crc32c
from kio.schema.errors import ErrorCode as KafkaError

from conformance.wire.messages import MalformedError
from conformance.wire.records import (
    BATCH_HEADER,
    COMPRESSED,
    CONTROL,
    CRC_FROM,
    LENGTH_FROM,
    MAGIC,
    TRANSACTIONAL,
    read_batches,
)
from model.ranges import number_of_offsets
from serve.limits import Maxima

_HIGHEST_CODEC = 4


class RefusedError(Exception):
    """What Kafka refuses with an error code, and why."""

    def __init__(self, error: KafkaError, why: str) -> None:
        """Take the error and what the client is told of it."""
        super().__init__(why)
        self.error, self.why = error, why


@attrs.frozen
class StoredBatch:
    """One record batch: its bytes, how many offsets it takes, and who produced it."""

    data: bytes
    size: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    sequence: int


@attrs.frozen
class Stored:
    """A batch in a log, from its first offset to its last (inclusive)."""

    first: int
    last: int
    max_timestamp: int
    data: bytes


def produced_batch(data: bytes, limits: Maxima) -> StoredBatch:
    """Return the one batch of a Produce request. Raises RefusedError."""
    if len(data) > limits.batch_bytes:
        text = f"a batch of {len(data):,} bytes; at most {limits.batch_bytes:,} are kept"
        raise RefusedError(KafkaError.message_too_large, text)
    if len(data) < BATCH_HEADER.size:
        raise RefusedError(KafkaError.corrupt_message, f"a batch of {len(data)} bytes")
    _, length, _, magic, crc, attributes, delta, _, newest, producer, epoch, sequence, count = (
        BATCH_HEADER.unpack_from(data)
    )
    if length + LENGTH_FROM != len(data):
        raise RefusedError(KafkaError.invalid_record, "a partition takes one batch in a request")
    if magic != MAGIC:
        raise RefusedError(KafkaError.invalid_record, f"a batch of magic {magic}, not {MAGIC}")
    if crc != crc32c(data[CRC_FROM:]):
        raise RefusedError(KafkaError.corrupt_message, "a batch with a wrong checksum")
    _check_attributes(attributes)
    _check_records(data, attributes, delta, count, limits)
    return StoredBatch(data, count, newest, producer, epoch, sequence)


def _check_attributes(attributes: int) -> None:
    if attributes & COMPRESSED > _HIGHEST_CODEC:
        raise RefusedError(KafkaError.unsupported_compression_type, "an unknown compression")
    if attributes & CONTROL:
        raise RefusedError(KafkaError.invalid_record, "clients may not write control records")
    if attributes & TRANSACTIONAL:
        raise RefusedError(KafkaError.invalid_txn_state, "no transactions are served")


def _check_records(data: bytes, attributes: int, delta: int, count: int, limits: Maxima) -> None:
    """Refuse a batch that does not hold the records that it claims, as far as it is not packed."""
    if not 0 < count <= limits.batch_records or delta != count - 1:
        text = f"a batch of {count:,} records with a last offset delta of {delta:,}"
        raise RefusedError(KafkaError.invalid_record, text)
    if attributes & COMPRESSED:
        return
    try:
        (batch,) = read_batches(data)
    except MalformedError as error:
        raise RefusedError(KafkaError.invalid_record, str(error)) from None
    if number_of_offsets(batch.ranges) != count:
        raise RefusedError(KafkaError.invalid_record, "a batch whose offsets leave some out")


def stored(batch: StoredBatch, first: int, epoch: int = 0) -> Stored:
    """Return the batch at its place in the log: only its first offset and leader epoch change."""
    data = first.to_bytes(8, "big") + batch.data[8:12] + epoch.to_bytes(4, "big") + batch.data[16:]
    return Stored(first, first + batch.size - 1, batch.max_timestamp, data)
