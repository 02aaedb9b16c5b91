"""Batches as a broker may have them in its log, and no producer may send them."""

import attrs
from crc32c import crc32c

from conformance.wire.records import (
    BATCH_HEADER,
    CONTROL,
    CRC_FROM,
    LENGTH_FROM,
    TRANSACTIONAL,
    Producer,
    record_batch,
)
from serve.batches import StoredBatch

_ABORT, _COMMIT = 0, 1
_CRC_AT, _ATTRIBUTES_AT = 17, CRC_FROM
_TIMESTAMP = slice(35, 43)
_COUNT_AT = BATCH_HEADER.size - 4


def transaction_batch(count: int, first: int, producer: Producer) -> StoredBatch:
    """Return a batch of a transaction, each record with a value that tells its offset."""
    data = record_batch(count, producer, first=first)
    return _stored(data, count, producer, TRANSACTIONAL)


def control_batch(first: int, producer: Producer, *, commits: bool) -> StoredBatch:
    """Return the batch with the one record that ends a transaction (Kafka: EndTransactionMarker).

    Its key is the version and the type, its value the version and the epoch of the coordinator.
    """
    key = bytes((0, 0, 0, _COMMIT if commits else _ABORT))
    value = bytes(6)
    record = bytes((0, 0, 0, 2 * len(key))) + key + bytes((2 * len(value),)) + value + bytes(1)
    plain = record_batch(1, producer, first=first)
    data = plain[: BATCH_HEADER.size] + bytes((2 * len(record),)) + record
    data = data[:8] + (len(data) - 12).to_bytes(4, "big") + data[12:]
    return _stored(data, 1, attrs.evolve(producer, sequence=-1), TRANSACTIONAL | CONTROL)


def empty_batch(count: int, first: int, producer: Producer) -> StoredBatch:
    """Return the batch of ``count`` offsets whose records compaction took, every one.

    Its header stays while it has the last sequence of its producer (Kafka: LogCleaner).
    """
    data = record_batch(count, producer, first=first)[: BATCH_HEADER.size]
    length = (len(data) - LENGTH_FROM).to_bytes(4, "big")
    data = data[:8] + length + data[12:_COUNT_AT] + bytes(4)
    return _stored(data, count, producer, 0)


def corrupt_batch(count: int, first: int) -> StoredBatch:
    """Return a batch whose checksum is wrong, and nothing else."""
    batch = _stored(record_batch(count, first=first), count, Producer(), 0)
    wrong = bytes((batch.data[_CRC_AT] ^ 1,))
    data = batch.data[:_CRC_AT] + wrong + batch.data[_CRC_AT + 1 :]
    return attrs.evolve(batch, data=data)


def _stored(data: bytes, count: int, producer: Producer, attributes: int) -> StoredBatch:
    """Return a batch with other attributes, and so another checksum."""
    head, newest = data[:_ATTRIBUTES_AT], int.from_bytes(data[_TIMESTAMP], "big")
    rest = attributes.to_bytes(2, "big") + data[_ATTRIBUTES_AT + 2 :]
    whole = head[:_CRC_AT] + crc32c(rest).to_bytes(4, "big") + rest
    # Sequences are not checked: what a log has was accepted before.
    return StoredBatch(whole, count, newest, -1, producer.epoch, -1)
