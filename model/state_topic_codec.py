"""Records of __share_group_state from the bytes of their keys and values, and as JSON.

Type 0 is ShareSnapshot and type 1 ShareUpdate: the key's bytes begin with the type, those of the
value with its version, which is 0. The delivery complete count is a tagged field: a broker that
does not know it passes it over, and where it is missing it is -1 (KIP-1226).
"""

import struct
from functools import lru_cache
from operator import itemgetter
from typing import Any

import attrs

from model.errors import InvalidValueError
from model.ranges import StateBatch
from model.snapshot import DurableState
from model.state_topic import SharePartitionKey, ShareSnapshot, ShareUpdate, StateRecord
from model.states import DURABLE_STATES, RecordState
from model.wire import Field, Message, array, decode, from_json, to_json

_STATE_BATCHES = array(
    "stateBatches",
    Field("firstOffset", "int64"),
    Field("lastOffset", "int64"),
    Field("deliveryState", "int8"),
    Field("deliveryCount", "int16"),
)
_OF_BATCH = itemgetter("firstOffset", "lastOffset", "deliveryState", "deliveryCount")
_STATES = {(int(state), int): state for state in RecordState}
"""The states by their numbers; the type tells 1 from true, which JSON has too."""

_COMPLETE_COUNT = Field("deliveryCompleteCount", "int32", tag=0, default=-1)
_KEY_FIELDS = (Field("groupId", "string"), Field("topicId", "uuid"), Field("partition", "int32"))
_SNAPSHOT, _UPDATE = 0, 1
_KEYS = {
    _SNAPSHOT: Message("ShareSnapshotKey", _KEY_FIELDS, flexible=False),
    _UPDATE: Message("ShareUpdateKey", _KEY_FIELDS, flexible=False),
}
_VALUES = {
    _SNAPSHOT: Message(
        "ShareSnapshotValue",
        (
            Field("snapshotEpoch", "int32"),
            Field("stateEpoch", "int32"),
            Field("leaderEpoch", "int32"),
            Field("startOffset", "int64"),
            _COMPLETE_COUNT,
            Field("createTimestamp", "int64"),
            Field("writeTimestamp", "int64"),
            _STATE_BATCHES,
        ),
    ),
    _UPDATE: Message(
        "ShareUpdateValue",
        (
            Field("snapshotEpoch", "int32"),
            Field("leaderEpoch", "int32"),
            Field("startOffset", "int64"),
            _COMPLETE_COUNT,
            _STATE_BATCHES,
        ),
    ),
}
_NUMBERS = {
    kind: attrs.evolve(value, fields=tuple(f for f in value.fields if f is not _STATE_BATCHES))
    for kind, value in _VALUES.items()
}
_MOST_ALIKE = 1 << 14


def record_from_bytes(key: bytes, value: bytes | None) -> StateRecord:
    """Return the record with that key and value.

    Raises InvalidValueError that names the field which cannot be, or the type or version that is
    not known.
    """
    kind = _known_kind(_prefix(key, "the type of the key"))
    share_partition = _key(decode(_KEYS[kind], key[2:]))
    if value is None:
        _check_tombstone(kind)
        return StateRecord(share_partition, None)
    _check_version(kind, _prefix(value, "the version of the value"))
    values = decode(_VALUES[kind], value[2:])
    return StateRecord(share_partition, _record_value(kind, values, _batches_from(values)))


def record_to_json(record: StateRecord) -> dict[str, Any]:
    """Return the record as Kafka's ShareGroupStateMessageFormatter prints it."""
    kind = _kind(record)
    key = {"type": kind, "data": to_json(_KEYS[kind], _key_values(record.key))}
    if record.value is None:
        return {"key": key, "value": None}
    data = to_json(_VALUES[kind], _values(record.value))
    return {"key": key, "value": {"version": 0, "data": data}}


def record_from_json(key: object, value: object) -> StateRecord:
    """Return the record of a key and a value in JSON, as above.

    The type and the version may be strings, as kafka-dump-log prints them. Raises as
    ``record_from_bytes``.
    """
    kind = _known_kind(_number(key, "type", "key"))
    share_partition = _key_from_json(_member(key, "data", "key"))
    if value is None:
        _check_tombstone(kind)
        return StateRecord(share_partition, None)
    _check_version(kind, _number(value, "version", "value"))
    data: Any = _member(value, "data", "value")
    batches = _possible_batches(data)
    if batches is None:  # As hardly ever; this names what is wrong, or builds them all the same.
        batches = _batches_from(from_json(_VALUES[kind], data))
    return StateRecord(
        share_partition, _record_value(kind, from_json(_NUMBERS[kind], data), batches)
    )


def _key_from_json(data: Any) -> SharePartitionKey:  # noqa: ANN401 - of JSON
    try:
        return _key_of(data["groupId"], data["topicId"], data["partition"])
    except (LookupError, TypeError):  # As hardly ever; this names what is wrong.
        return _key(from_json(_KEYS[_SNAPSHOT], data))


@lru_cache(maxsize=_MOST_ALIKE, typed=True)
def _key_of(*fields: object) -> SharePartitionKey:
    """Return a key, of which a dump has many records."""
    names = (field.name for field in _KEY_FIELDS)
    return _key(from_json(_KEYS[_SNAPSHOT], dict(zip(names, fields, strict=True))))


def _possible_batches(data: Any) -> tuple[StateBatch, ...] | None:  # noqa: ANN401 - of JSON
    """Return the state batches of a value in JSON; None if one of them cannot be."""
    try:
        return tuple(
            StateBatch(first, last, _STATES[state, type(state)], count)
            for first, last, state, count in map(_OF_BATCH, list.__iter__(data["stateBatches"]))
        )
    except (LookupError, TypeError, InvalidValueError):
        return None


def _batches_from(values: dict[str, Any]) -> tuple[StateBatch, ...]:
    """Return the state batches of a value; raise InvalidValueError naming one that cannot be."""
    batches: list[StateBatch] = []
    for batch in values["stateBatches"]:
        first, last, state, count = _OF_BATCH(batch)
        place = "stateBatches[{}]"
        try:
            batches.append(StateBatch(first, last, _STATES[state, int], count))
        except InvalidValueError as error:
            text = f"what makes a state batch: {error}"
            raise InvalidValueError(place.format(len(batches)), batch, text) from None
        except KeyError:
            allowed = ", ".join(f"{s.name} ({s.value})" for s in sorted(DURABLE_STATES))
            name = f"{place.format(len(batches))}.deliveryState"
            raise InvalidValueError(name, state, allowed) from None
    return tuple(batches)


def batch_values(batches: tuple[StateBatch, ...]) -> list[dict[str, int]]:
    """Return state batches by the names of their fields."""
    return [
        {
            "firstOffset": batch.first,
            "lastOffset": batch.last,
            "deliveryState": int(batch.state),
            "deliveryCount": batch.delivery_count,
        }
        for batch in batches
    ]


def _kind(record: StateRecord) -> int:
    return _UPDATE if isinstance(record.value, ShareUpdate) else _SNAPSHOT


def _known_kind(kind: int) -> int:
    if kind not in _KEYS:
        raise InvalidValueError("the type of the key", kind, "0, ShareSnapshot; 1, ShareUpdate")
    return kind


def _check_tombstone(kind: int) -> None:
    if kind != _SNAPSHOT:
        raise InvalidValueError("ShareUpdateValue", None, "a value; only a ShareSnapshot has none")


def _check_version(kind: int, version: int) -> None:
    if version != 0:
        raise InvalidValueError(f"{_VALUES[kind].name} version", version, "0")


def _prefix(data: bytes, place: str) -> int:
    if len(data) < 2:  # noqa: PLR2004 - an int16
        raise InvalidValueError(place, data, "two bytes or more")
    number: int = struct.unpack_from(">h", data)[0]
    return number


def _member(data: object, name: str, place: str) -> object:
    if not isinstance(data, dict) or name not in data:
        raise InvalidValueError(place, data, f"a JSON object with {name}")
    return data[name]


def _number(data: object, name: str, place: str) -> int:
    given = _member(data, name, place)
    if type(given) is int:
        return given
    if isinstance(given, str) and given.isascii() and given.isdigit() and len(given) < 6:  # noqa: PLR2004 - the digits of an int16
        return int(given)
    raise InvalidValueError(f"{place}.{name}", given, "a number")


def _key_values(key: SharePartitionKey) -> dict[str, Any]:
    return {"groupId": key.group_id, "topicId": key.topic_id, "partition": key.partition}


def _key(values: dict[str, Any]) -> SharePartitionKey:
    return SharePartitionKey(values["groupId"], values["topicId"], values["partition"])


def _values(value: ShareSnapshot | ShareUpdate) -> dict[str, Any]:
    if isinstance(value, ShareUpdate):
        return {
            "snapshotEpoch": value.snapshot_epoch,
            "leaderEpoch": value.leader_epoch,
            "startOffset": value.start_offset,
            "deliveryCompleteCount": value.delivery_complete_count,
            "stateBatches": batch_values(value.state_batches),
        }
    return {
        "snapshotEpoch": value.snapshot_epoch,
        "stateEpoch": value.state.state_epoch,
        "leaderEpoch": value.state.leader_epoch,
        "startOffset": value.state.start_offset,
        "deliveryCompleteCount": value.state.delivery_complete_count,
        "createTimestamp": value.create_timestamp,
        "writeTimestamp": value.write_timestamp,
        "stateBatches": batch_values(value.state.state_batches),
    }


def _record_value(
    kind: int, values: dict[str, Any], batches: tuple[StateBatch, ...]
) -> ShareSnapshot | ShareUpdate:
    epoch, start = values["snapshotEpoch"], values["startOffset"]
    complete = values["deliveryCompleteCount"]
    if kind == _UPDATE:
        return ShareUpdate(epoch, values["leaderEpoch"], start, complete, batches)
    state = DurableState(start, complete, batches, values["stateEpoch"], values["leaderEpoch"])
    return ShareSnapshot(epoch, state, values["createTimestamp"], values["writeTimestamp"])
