"""Record batches (magic 2): made for Produce, and their offsets read from what a fetch returned.

What is read is a broker's: nothing in it is believed before it was checked.
"""

import io
import struct
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import attrs
from crc32c import crc32c
from kio.records.schema import NewRecordBatch, Record, RecordHeader
from kio.records.writers import write_batch
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64

from conformance.wire.messages import MalformedError
from model.errors import InvalidValueError
from model.ranges import OffsetRange
from model.wire import Reader

BATCH_HEADER = struct.Struct(">qiibIhiqqqhii")
LENGTH_FROM, CRC_FROM = 12, 21
MAGIC = 2
COMPRESSED, TRANSACTIONAL, CONTROL = 0b111, 1 << 4, 1 << 5
_MOST_RANGES = 100_000


@attrs.frozen
class Producer:
    """Who produces: of no transaction by default. ``sequence`` is that of the first record."""

    id: int = -1
    epoch: int = -1
    sequence: int = -1


Contents = tuple[bytes | None, bytes | None, tuple[tuple[bytes, bytes | None], ...]]
"""The key, the value and the headers of a record."""

_LONGER_EVERY, _TIMES = 5, 40


def value_of(number: int, partition: int = 0) -> bytes:
    """Return the value of a record that the kit writes: its number, in some repeated."""
    text = b"%d of %d" % (number, partition) if partition else b"%d" % number
    return b" ".join([text] * (1 if number % _LONGER_EVERY else _TIMES))


def contents_of(number: int, partition: int = 0) -> Contents:
    """Return the contents of a record that the kit writes: some have a key, some a header."""
    text, value = b"%d" % number, value_of(number, partition)
    return text if number % 2 else None, value, ((b"n", text),) if number % 3 else ()


@attrs.frozen
class LogBatch:
    """A log batch as it was read: the offsets of its records, which may leave some out.

    ``altered`` are those whose contents the kit does not write at that offset, where it can tell:
    not of a compressed or a control batch.
    """

    ranges: tuple[OffsetRange, ...]
    altered: tuple[int, ...] = ()


def record_batch(
    size: int,
    producer: Producer | None = None,
    first: int = 0,
    removed: frozenset[int] = frozenset(),
    partition: int = 0,
) -> bytes:
    """Return one batch of ``size`` records, of a transaction if there is a producer.

    Their contents are those of the numbers from ``first`` on in the partition. ``removed``: which
    records, counted from 0, compaction took; never the first or the last.
    """
    numbered = ((nth, contents_of(first + nth, partition)) for nth in range(size))
    return batch_with({nth: part for nth, part in numbered if nth not in removed}, producer)


def batch_of(values: Iterable[bytes]) -> bytes:
    """Return one batch of records with these values, without keys."""
    return batch_with({nth: (None, value, ()) for nth, value in enumerate(values)})


def batch_with(
    contents: Mapping[int, Contents], producer: Producer | None = None, age: timedelta = timedelta()
) -> bytes:
    """Return one batch of these records, by their numbers in it, of a producer's transaction.

    ``age``: how long ago they were produced.
    """
    who = producer or Producer()
    # Much older records would be removed, or roll a log.
    written = TZAwareMicros.parse(datetime.now(UTC) - age)
    records = tuple(
        Record(
            attributes=i8(0),
            timestamp=written,
            offset=i64(nth),
            key=key,
            value=value,
            headers=tuple(RecordHeader(key=name, value=text) for name, text in headers),
        )
        for nth, (key, value, headers) in contents.items()
    )
    buffer = io.BytesIO()
    batch = NewRecordBatch(
        producer_id=i64(who.id),
        producer_epoch=i16(who.epoch),
        base_sequence=i32(who.sequence),
        records=records,
        attributes=i16(TRANSACTIONAL if producer else 0),
    )
    write_batch(buffer, batch)
    return buffer.getvalue()


def read_batches(data: bytes, partition: int = 0) -> tuple[LogBatch, ...]:
    """Return the log batches in ``data``, of a partition; one cut off at its end is left out.

    The offsets of a compressed batch are those that its header tells. Raises MalformedError.
    """
    ranges, position, most = [], 0, _MOST_RANGES
    while len(data) - position >= BATCH_HEADER.size:
        length = LENGTH_FROM + int.from_bytes(
            data[position + 8 : position + 12], "big", signed=True
        )
        if length < BATCH_HEADER.size:
            raise MalformedError(f"a record batch of {length} bytes")
        if length > len(data) - position:
            break
        ranges.append(_batch(data[position : position + length], most, partition))
        most -= len(ranges[-1].ranges)
        position += length
    return tuple(ranges)


def _batch(data: bytes, most: int, partition: int) -> LogBatch:
    base, _, _, magic, crc, attributes, delta, *_, count = BATCH_HEADER.unpack_from(data)
    if magic != MAGIC:
        raise MalformedError(f"a record batch of magic {magic}, not {MAGIC}")
    if crc != crc32c(data[CRC_FROM:]):
        raise MalformedError(f"the record batch at offset {base} has a wrong checksum")
    try:
        whole = OffsetRange(base, base + delta)
        if attributes & COMPRESSED:
            return LogBatch((whole,))
        found = _records(data, count, delta)
        ranges = _ranges(base, list(found), most)
    except InvalidValueError as error:
        raise MalformedError(f"a record batch whose {error}") from None
    told = {} if attributes & CONTROL else {base + nth: contents for nth, contents in found.items()}
    altered = (at for at, contents in told.items() if contents != contents_of(at, partition))
    return LogBatch(ranges, tuple(altered))


def _records(data: bytes, count: int, last: int) -> dict[int, Contents]:
    """Return the contents of each record, by how much its offset is above that of the batch."""
    reader, deltas, contents = Reader(data[BATCH_HEADER.size :]), [], []
    for _ in range(count):
        record = Reader(reader.take(reader.varlong("record length"), "record length"))
        record.take(1, "record attributes")
        record.varlong("timestamp delta")
        deltas.append(record.varlong("offset delta"))
        contents.append(_contents(record))
    if reader.remaining:
        raise MalformedError(f"a record batch with {reader.remaining} bytes after its records")
    if any(high <= low for low, high in pairwise([-1, *deltas])) or max(deltas, default=0) > last:
        raise MalformedError("a record batch whose offsets do not ascend within it")
    return dict(zip(deltas, contents, strict=True))


def _contents(record: Reader) -> Contents:
    key, value = _sized(record, "key"), _sized(record, "value")
    number = record.varlong("number of headers")
    headers = [(_sized(record, "header") or b"", _sized(record, "header")) for _ in range(number)]
    return key, value, tuple(headers)


def _sized(record: Reader, place: str) -> bytes | None:
    size = record.varlong(f"{place} length")
    return None if size == -1 else record.take(size, place)


def _ranges(base: int, deltas: list[int], most: int) -> tuple[OffsetRange, ...]:
    """Return ascending offsets as ranges without holes."""
    holes = [nth for nth in range(1, len(deltas)) if deltas[nth] != deltas[nth - 1] + 1]
    if len(holes) >= most:
        raise MalformedError(f"record batches with more than {_MOST_RANGES:,} holes")
    firsts = [0, *holes] if deltas else []
    ends = [*holes, len(deltas)]
    return tuple(
        OffsetRange(base + deltas[first], base + deltas[end - 1])
        for first, end in zip(firsts, ends, strict=False)
    )
