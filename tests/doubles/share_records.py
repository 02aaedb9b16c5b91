"""Records in the hands of our small share consumer."""

import attrs
from kio.records.readers import read_batch

from clients.drivers import Values
from clients.events import Place
from conformance.wire.records import BATCH_HEADER, CONTROL, LENGTH_FROM

ATTRIBUTES = slice(21, 23)


@attrs.define
class Got:
    """A record in hand."""

    place: Place
    offset: int
    count: int
    value: str
    broker: int


def delivered(got: Got) -> Values:
    topic, partition = got.place
    return {
        "topic": topic,
        "partition": partition,
        "offset": got.offset,
        "delivery_count": got.count,
        "value": got.value,
    }


def values_of(data: bytes, *, control: bool) -> dict[int, str]:
    """Return the value of each record in what a fetch returned, by its offset."""
    values: dict[int, str] = {}
    while len(data) >= BATCH_HEADER.size:
        _first, length = BATCH_HEADER.unpack_from(data)[:2]
        size = LENGTH_FROM + length
        batch, _ = read_batch(data[:size], 0)
        is_control = int.from_bytes(data[ATTRIBUTES], "big") & CONTROL
        for record in batch.records if control or not is_control else ():
            values[record.offset] = (record.value or b"").decode()
        data = data[size:]
    return values
