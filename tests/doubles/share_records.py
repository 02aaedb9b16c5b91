"""Records in the hands of our small share consumer."""

import attrs
from kio.records.readers import read_batch

from clients.drivers import Values
from clients.events import Place
from conformance.wire.records import BATCH_HEADER, CONTROL, LENGTH_FROM
from tests.doubles.share_faults import Fault

ATTRIBUTES = slice(21, 23)
_FAR, _SOME = 60, 150


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
    while len(data) >= BATCH_HEADER.size:
        _first, length = BATCH_HEADER.unpack_from(data)[:2]
        size = LENGTH_FROM + length
        batch, _ = read_batch(data[:size], 0)
        is_control = int.from_bytes(data[ATTRIBUTES], "big") & CONTROL
        for record in batch.records if control or not is_control else ():
            values[record.offset] = (record.value or b"").decode()
        data = data[size:]
    return values
