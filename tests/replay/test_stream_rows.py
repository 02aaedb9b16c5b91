"""What workers read of a stream: the events of files, and what is none."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from model.trace_arrow import table_from_rows
from model.trace_json import line_from_row
from replay.judged import ARRIVED
from replay.stream_source import completed_rows, file_rows, read_file, record_rows
from tests.replay.samples import kafka_rows, write_trace


def listed(batches: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    found = list(batches)
    assert all(batch.schema.equals(ARRIVED) for batch in found)
    return [row for batch in found for row in batch.to_pylist()]


@pytest.mark.parametrize("name", ["a b.jsonl", "t.jsonl.gz", "t.parquet"])
def test_the_events_of_a_file_with_their_places(tmp_path: Path, name: str) -> None:
    path = write_trace(tmp_path / name, kafka_rows(count=30))
    batch = pa.RecordBatch.from_pylist([{"path": f"file:{path}", "came": 5}])
    rows = listed(file_rows([batch]))
    assert [(row["seq"], row["line"]) for row in rows] == [(i, i + 1) for i in range(30)]
    assert {(row["source"], row["arrived_ms"], row["unreadable"]) for row in rows} == {
        (str(path), 5, None)
    }


@pytest.mark.parametrize(
    ("content", "messages"),
    [
        (b"", ["holds no events"]),
        (b"PAR1", ["is not Parquet"]),
        (b"\x1f\x8b\x08", ["ends too early"]),
        (b'{"partition": "p", "op": 3\n{}\n', ["line", "event.partition"]),
        (b'{"recorder": {"version": "1"}}\n', []),
    ],
)
def test_what_is_no_event_is_a_row_that_says_so(
    tmp_path: Path, content: bytes, messages: list[str]
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(content)
    rows = listed(read_file(str(path), 0))
    assert len(rows) == len(messages), rows
    assert {row["seq"] for row in rows} <= {None}
    for row, message in zip(rows, messages, strict=True):
        assert row["source"] == str(path)
        assert row["unreadable"]
        assert message.split()[0] in row["unreadable"] or message in row["unreadable"]


def test_a_file_that_has_gone_is_a_row_that_says_so(tmp_path: Path) -> None:
    (row,) = listed(read_file(str(tmp_path / "t.jsonl"), 0))
    assert row["unreadable"].endswith("does not exist")


def test_a_row_without_a_place_has_that_of_its_seq() -> None:
    table = table_from_rows(kafka_rows(count=5)).drop(["leader_epoch"])
    rows = listed(completed_rows("lake", table.to_batches(max_chunksize=2)))
    assert [(row["source"], row["line"], row["arrived_ms"]) for row in rows] == [
        ("lake", seq, None) for seq in range(5)
    ]
    with_line = table.append_column("line", pa.array([7] * 5, pa.int32()))
    assert {row["line"] for row in listed(completed_rows("l", with_line.to_batches()))} == {7}


RECORD = pa.schema(
    [
        ("content", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("came", pa.int64()),
    ]
)


def test_each_record_of_a_topic_is_an_event_or_says_why_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("replay.stream_source.ROWS_AT_ONCE", 4)
    monkeypatch.setattr("replay.stream_source.MAX_LINE_BYTES", 5000)
    lines = [line_from_row(row) for row in kafka_rows(count=9)]
    assert max(map(len, lines)) < 5000
    values = [
        b'{"recorder": {"version": "1"}}',
        *lines,
        None,
        b'{"partition": "p", "op": 3',
        b'{"partition": "q"}' + b" " * 5000,
        b'{"trailer": {"dropped": 0, "faults": 0}}',
    ]
    records = [
        {"content": value, "topic": "events", "partition": 3, "offset": 50 + nth, "came": nth}
        for nth, value in enumerate(values)
    ]
    rows = listed(record_rows([pa.RecordBatch.from_pylist(records, schema=RECORD)]))
    assert {row["source"] for row in rows} == {"events-3"}
    events = [row for row in rows if row["unreadable"] is None]
    assert [(row["seq"], row["line"], row["arrived_ms"]) for row in events] == [
        (seq, 51 + seq, 1 + seq) for seq in range(9)
    ]
    assert [(row["line"], row["partition"], row["unreadable"][:13]) for row in rows[9:]] == [
        (60, None, "value is None"),
        (61, "p", "line is '{\"pa"),
        (62, "q", "line is 5018 "),
    ]


def test_a_record_of_the_future_came_now() -> None:
    record = {"content": b"", "topic": "t", "partition": 0, "offset": 0, "came": 1 << 60}
    before = int(time.time() * 1000)
    (row,) = listed(record_rows([pa.RecordBatch.from_pylist([record], schema=RECORD)]))
    assert before <= row["arrived_ms"] <= int(time.time() * 1000)
