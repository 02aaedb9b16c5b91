"""Batches of transactions as a broker has them in its log, which no producer may send."""

import attrs
from crc32c import crc32c

from conformance.wire.records import (
    BATCH_HEADER,
    CONTROL,
    CRC_FROM,
    TRANSACTIONAL,
    Producer,
    record_batch,
)
from serve.batches import Batch

_ABORT, _COMMIT = 0, 1
_CRC_AT, _ATTRIBUTES_AT = 17, CRC_FROM
_TIMESTAMP = slice(35, 43)


def transaction_batch(count: int, first: int, producer: Producer) -> Batch:
    """Return a batch of a transaction, each record with a value that tells its offset."""
    data = record_batch(count, producer, first=first)
    return _stored(data, count, producer, TRANSACTIONAL)


def control_batch(first: int, producer: Producer, *, commits: bool) -> Batch:
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


def _stored(data: bytes, count: int, producer: Producer, attributes: int) -> Batch:
    """Return a batch with other attributes, and so another checksum."""
    head, newest = data[:_ATTRIBUTES_AT], int.from_bytes(data[_TIMESTAMP], "big")
    rest = attributes.to_bytes(2, "big") + data[_ATTRIBUTES_AT + 2 :]
    whole = head[:_CRC_AT] + crc32c(rest).to_bytes(4, "big") + rest
    # Sequences are not checked: what a log has was accepted before.
    return Batch(whole, count, newest, -1, producer.epoch, -1)
