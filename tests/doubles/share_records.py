"""Records in the hands of our small share consumer."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs
from crc32c import crc32c
from kio.records.readers import read_batch

from clients.drivers import Values
from clients.events import ACCEPT, Place
from conformance.wire.records import BATCH_HEADER, CONTROL, CRC_FROM, LENGTH_FROM
from tests.doubles.share_faults import Fault
from tests.doubles.share_seats import Assigned

_FAR, _SOME, _CUT = 60, 150, 1 << 32


@attrs.define
class Got:
    """A record in hand."""

    place: Place
    offset: int
    count: int
    value: str
    broker: int

    def delivered(self) -> Values:
        """Return it as a poll tells of it."""
        topic, partition = self.place
        return {
            "topic": topic,
            "partition": partition,
            "offset": self.offset,
            "delivery_count": self.count,
            "value": self.value,
        }


def kept(got: list[Got], fault: Fault | None) -> list[Got]:
    """Return what it keeps of what it got in an answer of a partition, in its order."""
    match fault:
        case Fault.CUTS_OFFSETS:
            return [attrs.evolve(each, offset=each.offset % _CUT) for each in got]
        case Fault.BACKWARDS:
            return got[::-1]
        case Fault.DROPS:
            return got[:-1]
    return got


def counts_of(acquired: Iterable[Any], fault: Fault | None) -> dict[int, int]:
    """Return the delivery count of each record that an answer says is acquired, by its offset."""
    return {
        offset: 1 if fault is Fault.COUNTS_ONE else taken.delivery_count
        for taken in acquired
        for offset in range(taken.first_offset, taken.last_offset + 1)
    }


def values_of(data: bytes, fault: Fault | None) -> dict[int, str]:
    """Return the value of each record in what a fetch returned, by its offset."""
    values = _values(data, control=fault is Fault.DELIVERS_CONTROL)
    match fault:
        case Fault.WRONG_VALUE:
            return {offset: value + "0" for offset, value in values.items()}
        case Fault.CUTS_VALUES:
            return {offset: value[:12] for offset, value in values.items()}
        case Fault.DROPS_FAR:
            return {offset: value for offset, value in values.items() if offset <= _FAR}
        case Fault.LOSES_SOME:
            return {offset: value for offset, value in values.items() if (offset + 1) % _SOME}
    return values


def _values(data: bytes, *, control: bool) -> dict[int, str]:
    values: dict[int, str] = {}
    for each, crc, attributes, _first, _count in _batches(data):
        if crc != crc32c(each[CRC_FROM:]):
            continue
        batch, _ = read_batch(each, 0)
        for record in batch.records if control or not attributes & CONTROL else ():
            values[record.offset] = (record.value or b"").decode()
    return values


def unread(data: bytes) -> set[int]:
    """Return the offsets of batches whose checksum is wrong."""
    wrong = (each for each in _batches(data) if each[1] != crc32c(each[0][CRC_FROM:]))
    return {first + nth for _, _, _, first, count in wrong for nth in range(count)}


def has_empty(data: bytes) -> bool:
    """Whether a batch has no record."""
    return any(not count for *_, count in _batches(data))


def _batches(data: bytes) -> Iterator[tuple[bytes, int, int, int, int]]:
    """Yield each batch with its checksum, attributes, first offset and number of records."""
    while len(data) >= BATCH_HEADER.size:
        first, length, _, _, crc, attributes, *_, count = BATCH_HEADER.unpack_from(data)
        size = LENGTH_FROM + length
        yield data[:size], crc, attributes, first, count
        data = data[size:]


def batches(
    parts: Iterable[Assigned], due: Mapping[tuple[Place, int], int], fault: Fault | None
) -> list[Values]:
    """Return partitions, and acknowledgements of them, as topics of a request."""
    topics = []
    for topic_id, name, partition in parts:
        mine = {o: type_ for (place, o), type_ in due.items() if place == (name, partition)}
        if fault is Fault.BEYOND and mine:
            mine = {o: mine.get(o, ACCEPT) for o in range(min(mine), max(mine) + 1)}
        sent = [
            {"first_offset": o, "last_offset": o, "acknowledge_types": [mine[o]]}
            for o in sorted(mine)
        ]
        whole = {"partition_index": partition, "acknowledgement_batches": sent}
        topics.append({"topic_id": topic_id, "partitions": [whole]})
    return topics
