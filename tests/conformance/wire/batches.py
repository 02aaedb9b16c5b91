"""Record batches as tests need them: with other offsets, other attributes, other records."""

import struct

from crc32c import crc32c

from conformance.wire.records import record_batch

TRANSACTIONAL, CONTROL, GZIP = 16, 32, 1


def sealed(batch: bytes) -> bytes:
    """Return a batch with the length and the checksum that it should have."""
    length, crc = struct.pack(">i", len(batch) - 12), struct.pack(">I", crc32c(batch[21:]))
    return batch[:8] + length + batch[12:17] + crc + batch[21:]


def at(batch: bytes, base: int) -> bytes:
    return struct.pack(">q", base) + batch[8:]


def flagged(batch: bytes, attributes: int) -> bytes:
    return sealed(batch[:21] + struct.pack(">h", attributes) + batch[23:])


def holding(last: int, *records: bytes) -> bytes:
    """Return a batch of these records, whose header says ``last`` as the last offset delta."""
    head = bytearray(record_batch(1)[:61])
    head[23:27] = struct.pack(">i", last)
    head[57:61] = struct.pack(">i", len(records))
    return sealed(bytes(head) + b"".join(records))


def record(delta: int) -> bytes:
    return bytes([6 * 2, 0, 0, delta * 2, 1, 1, 0])
