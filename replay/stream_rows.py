"""The rows of a stream as workers read them; imports nothing that takes them long."""

import itertools
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from model.errors import InvalidValueError
from model.trace_arrow import completed, table_from_rows
from model.trace_json import MAX_LINE_BYTES
from replay.arrivals import ARRIVED
from replay.gather import ROWS_AT_ONCE, GatherTask, Tally, tables_of
from replay.lines import partition_hint, strict_row, too_long
from replay.recording import mark_of
from replay.sources import NoSuchTraceError, find_sources
from replay.verdict import Problem


def completed_rows(source: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield rows with all columns of a stream; a row without a place has that of its ``seq``."""
    for batch in batches:
        given = pa.Table.from_batches([batch])
        table = completed(given)
        kept = set(given.column_names)
        for field in list(ARRIVED)[len(table.column_names) :]:
            values: Any = pa.nulls(table.num_rows, field.type)
            if field.name in kept:
                values = given.column(field.name).cast(field.type)
            elif field.name == "source":
                values = pa.array([source] * table.num_rows, field.type)
            elif field.name == "line":
                values = table.column("seq")
            table = table.append_column(field, values)
        yield from table.to_batches()


def file_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of files, of which come the path and when it came, in ms."""
    for batch in batches:
        for path, came in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield from read_file(path.removeprefix("file:"), min(came, int(time.time() * 1000)))


def read_file(path: str, came_ms: int) -> Iterator[pa.RecordBatch]:
    """Yield the events of a file, and a row for each place that cannot be read."""
    try:
        sources = find_sources([path])
        problems = list(sources.problems)
        for source in sources.files:
            task = GatherTask(0, source, 0, None, 1, "")
            tally = Tally(task)
            for table in tables_of(task, tally):
                yield from _arrived(table, came_ms)
            problems += tally.problems
            if not (tally.partitions or tally.bad or tally.recording.headers):
                problems.append(Problem(path, None, "holds no events"))
    except NoSuchTraceError as error:
        problems = [Problem(path, None, str(error))]
    rows = [
        {
            "partition": problem.partition,
            "source": problem.source,
            "line": problem.line,
            "unreadable": problem.message,
            "arrived_ms": came_ms,
        }
        for problem in problems
    ]
    if rows:
        yield pa.RecordBatch.from_pylist(rows, schema=ARRIVED)


def record_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a topic's records, each value of which is an event as a JSON line.

    Its place is the topic with the partition, and as a line the offset.
    """
    names = ("content", "topic", "partition", "offset", "came")
    for batch in batches:
        rows = zip(*(batch.column(name).to_pylist() for name in names), strict=True)
        while some := list(itertools.islice(rows, ROWS_AT_ONCE)):
            events = [row for each in some if (row := _of_record(*each))]
            yield from table_from_rows(events, ARRIVED).to_batches()


def _of_record(
    content: bytes | None, topic: str, partition: int, offset: int, came_ms: int
) -> dict[str, Any] | None:
    """Return the row of a record; None for what a recorder says of its file."""
    came_ms = min(came_ms, int(time.time() * 1000))
    place = {"source": f"{topic}-{partition}", "line": offset, "arrived_ms": came_ms}
    if content is None:
        return {**place, "unreadable": "value is None; allowed: an event as JSON"}
    if len(content) > MAX_LINE_BYTES:
        bad = too_long(offset, content, len(content))
        return {**place, "partition": bad.partition, "unreadable": bad.message}
    try:
        return {**strict_row(content), **place}
    except InvalidValueError as error:
        if mark_of(content):
            return None
        return {**place, "partition": partition_hint(content), "unreadable": str(error)}


def _arrived(table: pa.Table, came_ms: int) -> Iterator[pa.RecordBatch]:
    count = table.num_rows
    table = table.append_column(ARRIVED.field("unreadable"), pa.nulls(count, pa.string()))
    came = pa.array([came_ms] * count, pa.int64())
    yield from table.append_column(ARRIVED.field("arrived_ms"), came).to_batches()
