from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import InvalidValueError
from model.ranges import StateBatch
from model.snapshot import DurableState
from model.state_topic import SharePartitionKey, ShareSnapshot, ShareUpdate, StateRecord
from model.state_topic_codec import (
    record_from_bytes,
    record_from_json,
    record_to_json,
)
from model.states import RecordState
from tests.coordinator_recording import records
from tests.strategies import STATE_RECORDS

KEY = SharePartitionKey("gs1", UUID(bytes=bytes(range(16))), 3)
BATCH = StateBatch(100, 104, RecordState.ACKNOWLEDGED, 1)
SNAPSHOT = StateRecord(KEY, ShareSnapshot(5, DurableState(100, 7, (BATCH,), 2, 25), 1000, 2000))
UPDATE = StateRecord(KEY, ShareUpdate(5, 25, 100, -1, (BATCH,)))

# By the protocol guide: the record type; "gs1" with its length as int16; the topic id; the
# partition as int32. Keys are not flexible.
KEY_REST = "0003 677331 000102030405060708090a0b0c0d0e0f 00000003"
# The state batch: two int64, an int8, an int16, and no tagged fields.
ONE_BATCH = "02 0000000000000064 0000000000000068 02 0001 00"
# The version; snapshot, state and leader epoch; start offset; the two times; the batches; one
# tagged field: tag 0 of four bytes, the delivery complete count.
SNAPSHOT_VALUE = (
    "0000 00000005 00000002 00000019 0000000000000064 00000000000003e8 00000000000007d0"
    + ONE_BATCH
    + "01 00 04 00000007"
)
# An update has neither state epoch nor times; a count of -1 is left out.
UPDATE_VALUE = "0000 00000005 00000019 0000000000000064" + ONE_BATCH + "00"


@pytest.mark.parametrize(
    ("record", "kind", "value"),
    [(SNAPSHOT, "0000", SNAPSHOT_VALUE), (UPDATE, "0001", UPDATE_VALUE)],
)
def test_records_are_the_bytes_that_the_protocol_guide_gives(
    record: StateRecord, kind: str, value: str
) -> None:
    assert record_from_bytes(bytes.fromhex(kind + KEY_REST), bytes.fromhex(value)) == record


def test_records_are_the_bytes_and_the_json_that_kafka_writes() -> None:
    kinds = set()
    for key, value, shown in records():
        record = record_from_bytes(key, value)
        assert record_to_json(record) == shown
        assert record_from_json(**shown) == record
        kinds.add(type(record.value))
    assert kinds == {ShareSnapshot, ShareUpdate, type(None)}


@given(STATE_RECORDS)
def test_records_survive_their_json(record: StateRecord) -> None:
    assert record_from_json(**record_to_json(record)) == record


@pytest.mark.parametrize(("tag", "count"), [("00", 7), ("05", -1)])
def test_a_broker_without_the_delivery_complete_count_reads_the_rest(tag: str, count: int) -> None:
    value = bytes.fromhex(f"{UPDATE_VALUE[:-2]} 01 {tag} 04 00000007")
    record = record_from_bytes(bytes.fromhex("0001" + KEY_REST), value)
    assert record == StateRecord(KEY, ShareUpdate(5, 25, 100, count, (BATCH,)))


def test_numbers_may_be_strings_as_kafka_dump_log_prints_them() -> None:
    shown = record_to_json(UPDATE)
    key, value = {**shown["key"], "type": "1"}, {**shown["value"], "version": "0"}
    assert record_from_json(key, value) == UPDATE


KEY_JSON: dict[str, Any] = record_to_json(SNAPSHOT)["key"]
VALUE_JSON: dict[str, Any] = record_to_json(SNAPSHOT)["value"]
DATA = VALUE_JSON["data"]


def batch(**change: int) -> dict[str, Any]:
    return {"version": 0, "data": {**DATA, "stateBatches": [{**DATA["stateBatches"][0], **change}]}}


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ({**KEY_JSON, "type": 2}, VALUE_JSON, "the type of the key is 2; allowed: 0, ShareSnap"),
        ({**KEY_JSON, "type": "x"}, VALUE_JSON, "key.type is 'x'; allowed: a number"),
        ({**KEY_JSON, "type": "²"}, VALUE_JSON, "key.type is '²'; allowed: a number"),
        ({**KEY_JSON, "type": "9" * 6}, VALUE_JSON, "key.type is '999999'; allowed: a number"),
        ({**KEY_JSON, "type": True}, VALUE_JSON, "key.type is True; allowed: a number"),
        ({"type": 0}, VALUE_JSON, "key is .*; allowed: a JSON object with data"),
        ({"type": 0, "data": {}}, VALUE_JSON, "groupId is None; allowed: a value"),
        ({"type": 0, "data": []}, VALUE_JSON, r"\[\]; allowed: "),
        ([], VALUE_JSON, r"key is \[\]; allowed: a JSON object with type"),
        (KEY_JSON, {"version": 1, "data": DATA}, "ShareSnapshotValue version is 1; allowed: 0"),
        (KEY_JSON, {"version": 0, "data": {}}, "snapshotEpoch is None; allowed: a value"),
        (KEY_JSON, {"version": 0, "data": {**DATA, "startOffset": -2}}, "start_offset is -2"),
        ({**KEY_JSON, "type": 1}, None, "ShareUpdateValue is None; allowed: a value; only a Sha"),
        (KEY_JSON, batch(deliveryState=1), r"stateBatches\[0\] is .*: state is "),
        (KEY_JSON, batch(deliveryState=6), r"stateBatches\[0\].deliveryState is 6; allowed: AVAIL"),
        (KEY_JSON, batch(lastOffset=99), r"stateBatches\[0\] is .*: last is 99"),
        (KEY_JSON, batch(lastOffset=2**40), r"stateBatches\[0\] is .*at most 1048576 offsets"),
        (KEY_JSON, batch(deliveryCount=-1), r"stateBatches\[0\] is .*: delivery_count is -1"),
    ],
)
def test_an_error_names_the_field_of_an_impossible_record(
    key: object, value: object, said: str
) -> None:
    with pytest.raises(InvalidValueError, match=said):
        record_from_json(key, value)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("00", SNAPSHOT_VALUE, "the type of the key is .*; allowed: two bytes or more"),
        ("0007" + KEY_REST, SNAPSHOT_VALUE, "the type of the key is 7"),
        ("0000" + KEY_REST, "", "the version of the value is b''; allowed: two bytes or more"),
        ("0000" + KEY_REST, "0001", "ShareSnapshotValue version is 1; allowed: 0"),
        ("0000" + KEY_REST, SNAPSHOT_VALUE[:-2], "deliveryCompleteCount is 4"),
        ("0000" + KEY_REST[:-2], SNAPSHOT_VALUE, "partition is 4; allowed: at most"),
        ("0001" + KEY_REST, None, "ShareUpdateValue is None"),
    ],
)
def test_an_error_names_the_field_where_bytes_are_not_a_record(
    key: str, value: str | None, said: str
) -> None:
    with pytest.raises(InvalidValueError, match=said):
        record_from_bytes(bytes.fromhex(key), None if value is None else bytes.fromhex(value))


@given(st.binary(max_size=80), st.binary(max_size=80))
def test_any_bytes_are_a_record_or_a_typed_error(key: bytes, value: bytes) -> None:
    with suppress(InvalidValueError):
        record_from_bytes(b"\0\0\0\x01g" + key, b"\0\0" + value)
