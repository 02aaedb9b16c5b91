"""What Spark's readers yield becomes events with their places, however it is cut up."""

import gzip
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

from model.trace_json import line_from_row
from replay.distant import READ, line_rows, packed_rows, summary_of, table_rows
from replay.gather import Gathered
from tests.replay.samples import kafka_rows

ROWS = kafka_rows(count=30)
LINES = [line_from_row(row).rstrip(b"\n") for row in ROWS]
PLACED = pa.schema([("path", pa.string()), ("start", pa.int64()), ("content", pa.binary())])
Reader = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def read(
    reader: Reader, table: pa.Table, size: int
) -> tuple[list[dict[str, object]], list[Gathered]]:
    """The events, and what is said of each part, of rows that come so many at a time."""
    rows = []
    for batch in reader(iter(table.to_batches(max_chunksize=size))):
        assert batch.schema.equals(READ)
        rows += batch.to_pylist()
    said = [summary_of(row["summary"], nth) for nth, row in enumerate(rows) if row["summary"]]
    return [row for row in rows if row["summary"] is None], said


def places(rows: list[dict[str, object]]) -> list[tuple[object, ...]]:
    return [(row["source"], row["start"], row["line"], row["seq"]) for row in rows]


@pytest.mark.parametrize("size", [1, 7, 100])
def test_lines_are_counted_in_each_part_of_a_file(size: int) -> None:
    parts = [("file:///t", 0, line) for line in LINES[:10]]
    parts += [("file:///t", 5000, line) for line in [*LINES[10:20], b"{", b""]]
    parts += [("hdfs://h/u%20v", 0, line) for line in LINES[20:]]
    columns = [pa.array(column) for column in zip(*parts, strict=True)]
    events, said = read(line_rows, pa.table(columns, schema=PLACED), size)
    assert places(events) == [
        *(("/t", 0, i + 1, i) for i in range(10)),
        *(("/t", 5000, i + 1, 10 + i) for i in range(10)),
        *(("hdfs://h/u v", 0, i + 1, 20 + i) for i in range(10)),
    ]
    assert [(each.lines, len(each.problems), each.task.start) for each in said] == [
        (10, 0, 0),
        (12, 1, 5000),
        (10, 0, 0),
    ]
    assert [each.task.number for each in said] == [10, 21, 32]
    assert said[1].problems[0].line == 11


def test_a_line_that_is_too_long_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replay.distant.MAX_LINE_BYTES", len(LINES[0]) - 1)
    table = pa.table([["file:///t"], [0], [LINES[0]]], schema=PLACED)
    events, (said,) = read(line_rows, table, 9)
    assert events == []
    (problem,) = said.problems
    assert problem.message.startswith(f"line is {len(LINES[0])} bytes; allowed: at most ")
    assert problem.partition == "core:orders:0"


@pytest.mark.parametrize("chunk", [1, 100, 1 << 20])
@pytest.mark.parametrize("cut", [0, 40])
def test_compressed_files_come_in_chunks(chunk: int, cut: int) -> None:
    members = [b"\n".join([*LINES[:10], b""]), b"\n".join([*LINES[10:], b""])]
    data = b"".join(map(gzip.compress, members))
    data = data[: len(data) - cut]
    parts = [data[i : i + chunk] for i in range(0, len(data), chunk)]
    count = len(parts)
    names = ["file:///a.gz"] * count + ["file:///b.gz"] * count
    table = pa.table([names, [0] * (2 * count), parts * 2], schema=PLACED)
    events, said = read(packed_rows, table, 9)
    assert [each.task.source.path for each in said] == ["/a.gz", "/b.gz"]
    for each in said:
        mine = [row for row in events if row["source"] == each.task.source.path]
        assert places(mine) == [(each.task.source.path, 0, i + 1, i) for i in range(len(mine))]
        assert (len(each.problems), len(mine) < 30) == ((1, True) if cut else (0, False))


def test_rows_of_parquet_have_their_number_in_the_file() -> None:
    table = pa.Table.from_pylist(ROWS, schema=pa.schema(list(READ)[:-4]))
    path = pa.array(["file:///t.parquet"] * 20 + ["file:///u.parquet"] * 10)
    nth = pa.array([*range(500, 520), *range(10)])
    table = table.append_column("path", path).append_column("nth", nth)
    broken = table.set_column(0, "partition", pa.array([None, *table.column(0).to_pylist()[1:]]))
    events, said = read(table_rows, broken, 15)
    assert [row["line"] for row in events] == [*range(502, 521), *range(1, 11)]
    assert {row["source"] for row in events} == {"/t.parquet", "/u.parquet"}
    assert [each.lines for each in said] == [0, 0, 0]
    assert said[0].problems[0].line == 501
