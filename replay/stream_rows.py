"""The rows of a stream as workers read them; imports nothing that takes them long."""

import time
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from model.trace_arrow import completed
from replay.arrivals import ARRIVED
from replay.gather import GatherTask, Tally, tables_of
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


def _arrived(table: pa.Table, came_ms: int) -> Iterator[pa.RecordBatch]:
    count = table.num_rows
    table = table.append_column(ARRIVED.field("unreadable"), pa.nulls(count, pa.string()))
    came = pa.array([came_ms] * count, pa.int64())
    yield from table.append_column(ARRIVED.field("arrived_ms"), came).to_batches()
