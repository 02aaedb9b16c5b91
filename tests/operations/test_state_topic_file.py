import io
import json
import re
from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.ranges import StateBatch
from model.snapshot import DurableState
from model.state_topic import SharePartitionKey, ShareSnapshot, ShareUpdate, StateRecord
from model.state_topic_codec import record_to_json
from model.states import RecordState
from operations import state_topic_file
from operations.state_topic_file import RecordAt, Unreadable, read_records
from tests.coordinator_recording import records
from tests.strategies import STATE_RECORDS

ACKNOWLEDGED = RecordState.ACKNOWLEDGED
KEY = SharePartitionKey('g"{"key": payload: ', UUID(int=1), 0)
RECORDS = [
    StateRecord(KEY, ShareSnapshot(0, DurableState(0, 0))),
    StateRecord(KEY, ShareUpdate(0, 5, 3, 7)),
    StateRecord(KEY, None),
]


def console(record: StateRecord) -> str:
    """A record as the console consumer prints it."""
    return json.dumps(record_to_json(record), separators=(",", ":"), ensure_ascii=False)


def dump_log(record: StateRecord) -> str:
    """A record as kafka-dump-log prints it: type and version are strings."""
    shown = record_to_json(record)
    shown["key"]["type"] = str(shown["key"]["type"])
    payload = "<DELETE>"
    if record.value is not None:
        payload = json.dumps({**shown["value"], "version": "0"})
    head = (
        "| offset: 7 CreateTime: 1744279603 keySize: 27 valueSize: 64 sequence: -1 headerKeys: []"
    )
    return f"{head} key: {json.dumps(shown['key'])} payload: {payload}\n"


def read(text: str) -> list[RecordAt | Unreadable]:
    return list(read_records(io.BytesIO(text.encode())))


def found_in(text: str) -> list[StateRecord]:
    return [found.record for found in read(text) if isinstance(found, RecordAt)]


@pytest.mark.parametrize("between", ["", "\n", " \r\n\n"])
def test_the_console_consumer_prints_objects_with_nothing_between(between: str) -> None:
    text = between.join(map(console, RECORDS))
    found = read(text)
    assert found == [RecordAt(found[i].place, record) for i, record in enumerate(RECORDS)]
    for each in found:
        assert text.encode()[each.place :].lstrip().startswith(b'{"key":')


def test_the_output_of_kafkas_tools_is_read() -> None:
    formatter = (
        '{"key":{"type":1,"data":{"groupId":"gs2","topicId":"r9Nq4xGAQf28jvu36t7gQQ",'
        '"partition":0}},"value":{"version":0,"data":{"snapshotEpoch":1,"leaderEpoch":25,'
        '"startOffset":55,"deliveryCompleteCount":7,"stateBatches":[{"firstOffset":100,'
        '"lastOffset":150,"deliveryState":2,"deliveryCount":1}]}}}'
    )
    decoder = (
        '| offset: 3 key: {"type":"1","data":{"groupId":"gs1","topicId":"Uj5wn_FqTXirEASvVZRY1w",'
        '"partition":0}} payload: {"version":"0","data":{"snapshotEpoch":0,"leaderEpoch":0,'
        '"startOffset":0,"stateBatches":[{"firstOffset":0,"lastOffset":4,"deliveryState":2,'
        '"deliveryCount":1}]}}'
    )
    first, second, third = found_in(formatter * 2 + "\n" + decoder)
    assert first == second
    assert (first.key.group_id, third.key.group_id) == ("gs2", "gs1")
    assert first.value == ShareUpdate(1, 25, 55, 7, (StateBatch(100, 150, ACKNOWLEDGED, 1),))
    assert third.value == ShareUpdate(0, 0, 0, -1, (StateBatch(0, 4, ACKNOWLEDGED, 1),))


def test_kafka_dump_log_prints_lines_of_which_some_are_records() -> None:
    text = "Starting offset: 0\nbaseOffset: 0 lastOffset: 2 isValid: true\n" + "".join(
        map(dump_log, RECORDS)
    )
    assert found_in(text) == RECORDS
    assert found_in("".join(map(console, RECORDS)) + "\n" + text) == RECORDS * 2


def test_records_that_kafka_wrote_are_read() -> None:
    shown = [json.dumps(each, separators=(",", ":")) for *_, each in records()]
    assert len(found_in("".join(shown))) == len(shown)


@given(st.lists(STATE_RECORDS, max_size=4), st.integers(1, 40))
def test_records_may_cross_the_blocks_that_are_read(
    given_records: list[StateRecord], block: int
) -> None:
    class Slow(io.BytesIO):
        def read(self, _size: int | None = -1, /) -> bytes:
            return super().read(block)

    text = "".join(map(console, given_records)) + "\n" + "".join(map(dump_log, given_records))
    assert [
        found.record for found in read_records(Slow(text.encode())) if isinstance(found, RecordAt)
    ] == given_records * 2


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ('{"key":{"type":0,"da', "not JSON in UTF-8"),
        ('{"key":{"type":9,"data":{}},"value":null}', "the type of the key is 9"),
        ('{"key":{}}', "the object is .*; allowed: one with key and value"),
        ('{"key":' + "[" * 100_000, "not JSON in UTF-8"),
        ('{"key":' + "9" * 5000 + ',"value":null}', "not JSON in UTF-8"),
        ('\n{"other":1}\n', "the object is"),
        ("\n| offset: 1 key: nothing payload: <DELETE>\n", "not JSON in UTF-8"),
        ('\n| offset: 1 key: {"type":"0"} then payload: <DELETE>\n', "the text after the key"),
        ('\n| offset: 1 key: {"type":"0"} payload: <DELETE>\n', "key is .* JSON object with data"),
    ],
)
def test_unreadable_text_is_reported_with_its_place_and_reading_continues(
    bad: str, said: str
) -> None:
    first, *rest = map(console, RECORDS)
    found = read(first + bad + "".join(rest))
    assert [each.record for each in found if isinstance(each, RecordAt)] == RECORDS
    (problem,) = (each for each in found if isinstance(each, Unreadable))
    assert problem.place == len(first.encode()) + bad.startswith("\n")
    assert re.search(said, problem.message)


@given(st.binary(max_size=80), st.integers(0, 400), st.sampled_from([console, dump_log]))
def test_records_after_any_other_text_are_read(
    noise: bytes, cut: int, form: Callable[[StateRecord], str]
) -> None:
    first, last = form(RECORDS[0]).encode(), form(RECORDS[1]).encode()
    found = list(read_records(io.BytesIO(first[:cut] + noise + b"\n" + last)))
    assert found
    assert isinstance(found[-1], RecordAt)
    assert found[-1].record == RECORDS[1]


def test_bytes_that_are_not_utf8_are_reported() -> None:
    data = b'{"key":\xff}' + console(RECORDS[0]).encode()
    problem, found = read_records(io.BytesIO(data))
    assert isinstance(problem, Unreadable)
    assert problem.message.startswith("not JSON in UTF-8")
    assert found == RecordAt(9, RECORDS[0])


@pytest.mark.parametrize("size", [50, 51, 70, 99, 300])
def test_a_record_that_is_too_long_is_skipped_and_not_kept_in_memory(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    texts = [console(record) for record in RECORDS]
    limit = max(map(len, texts))
    monkeypatch.setattr(state_topic_file, "MAX_RECORD_BYTES", limit)
    monkeypatch.setattr(state_topic_file, "BLOCK_BYTES", size)
    long = '{"key":"' + "x" * 4 * limit + '"}'
    found = read(texts[0] + long + texts[1] + texts[2] + long)
    places = [len(texts[0]), len(texts[0]) + len(long) + len(texts[1]) + len(texts[2])]
    said = f"longer than {limit} bytes"
    assert [each for each in found if isinstance(each, Unreadable)] == [
        Unreadable(place, said) for place in places
    ]
    assert [each.record for each in found if isinstance(each, RecordAt)] == RECORDS


def test_an_empty_file_has_no_records() -> None:
    assert read("") == []
    assert read("\n\nStarting offset: 0\n") == []


def test_what_is_no_dump_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_topic_file, "MAX_UNREADABLE", 2)
    bad = '{"key":'
    read_all = read(2 * bad + console(RECORDS[0]))
    assert [type(each) for each in read_all] == [Unreadable, Unreadable, RecordAt]
    *_, last = answers = read(3 * bad + console(RECORDS[0]))
    assert len(answers) == 3
    assert isinstance(last, Unreadable)
    assert last.message == "more than 2 places cannot be read: the rest is not read"
