"""What a stream of events comes from: a folder that grows, or a topic of Kafka.

Each file is read once, after it has come; each record is read once, by workers.
"""

import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere with Spark
from pyspark.sql.pandas.types import from_arrow_schema

from model.errors import InvalidValueError
from model.trace_arrow import completed, table_from_rows
from model.trace_json import MAX_LINE_BYTES
from replay.gather import NO_EVENTS, ROWS_AT_ONCE, Gathered, GatherTask, tables_of
from replay.judged import ARRIVED
from replay.session import refusal_of
from replay.sources import (
    SUFFIXES,
    NoSuchTraceError,
    find_sources,
    in_lots,
    mark_of,
    partition_hint,
    strict_row,
    too_long,
)
from replay.verdict import Problem

FILES_PER_BATCH = 100
"""How many files a batch has at most."""

RECORDS_PER_BATCH = 100_000
"""How many records a batch has at most."""

_TOPIC = re.compile(r"kafka:(?://)?(?P<servers>[^/\s]+)/(?P<topic>[A-Za-z0-9._-]{1,249})")

_SCHEMA = "path string, modificationTime timestamp, length long, content binary"
_NAMES = f"*{{{','.join(SUFFIXES)}}}"


def folder_stream(session: SparkSession, folder: Path) -> DataFrame:
    """Return the events of the files that come into a folder, and into those within it.

    Spark lists the files, and workers read them as a replay does: what cannot be read becomes a row
    that says so. Raises NoSuchTraceError if there is no such folder.
    """
    if not folder.is_dir():
        raise NoSuchTraceError(f"{folder} is no folder")
    files = (
        session.readStream.format("binaryFile")
        .schema(_SCHEMA)
        .option("pathGlobFilter", _NAMES)
        .option("recursiveFileLookup", "true")
        .option("maxFilesPerTrigger", FILES_PER_BATCH)
        # Spark passes over files that are older than the newest by more, without a word.
        .option("maxFileAge", "36500d")
        .load(f"file:{folder.absolute()}")
    )
    came = (F.unix_millis("modificationTime")).alias("came")
    return files.select("path", came).mapInArrow(file_rows, from_arrow_schema(ARRIVED))


@attrs.frozen
class StreamTopic:
    """A topic, and where brokers of its cluster answer: HOST:PORT, between commas if several."""

    servers: str
    name: str


def topic_of(source: str) -> StreamTopic | None:
    """Return the topic of a source such as ``kafka:HOST:PORT/TOPIC``; None for a folder.

    Raises NoSuchTraceError for one that begins so and goes on otherwise.
    """
    if not source.startswith("kafka:"):
        return None
    if not (named := _TOPIC.fullmatch(source)):
        raise NoSuchTraceError(f"{source} names no topic; allowed: kafka:HOST:PORT/TOPIC")
    return StreamTopic(named["servers"], named["topic"])


def kafka_package() -> str:
    """Return the package with Spark's source of topics, of the version that PySpark has."""
    return f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"


def check_answers(topic: StreamTopic) -> None:
    """Raise NoSuchTraceError if no broker accepts a connection: Spark itself tries for minutes."""
    if reason := refusal_of(topic.servers):
        raise NoSuchTraceError(f"no broker answers at {topic.servers}: {reason}")


def topic_stream(session: SparkSession, topic: StreamTopic) -> DataFrame:
    """Return the events of a topic, from its first record on: each value is one, as a JSON line.

    Needs ``kafka_package``. A stream ends if records are gone from the topic before it read them.
    """
    records = (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", topic.servers)
        .option("subscribe", topic.name)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", RECORDS_PER_BATCH)
        .load()
    )
    came = "unix_millis(timestamp) as came"
    rows = records.selectExpr("value as content", "topic", "partition", "offset", came)
    return rows.mapInArrow(record_rows, from_arrow_schema(ARRIVED))


def completed_rows(source: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield rows with all columns of a stream; a row without a place has that of its ``seq``."""
    for batch in batches:
        table = pa.Table.from_batches([batch])
        seq = table.column("seq").cast(pa.int64())
        yield from completed(table, ARRIVED, source=source, line=seq).to_batches()


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
            read = Gathered(GatherTask(0, source, 0, None, 1, ""))
            for table in tables_of(read):
                yield from completed(table, ARRIVED, arrived_ms=came_ms).to_batches()
            problems += read.problems
            if read.is_empty:
                problems.append(Problem(path, None, NO_EVENTS))
    except NoSuchTraceError as error:
        problems = [Problem(path, None, str(error))]
    rows = [
        attrs.asdict(problem) | {"unreadable": problem.message, "arrived_ms": came_ms}
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
        events = (row for each in rows if (row := _of_record(*each)))
        for lot in in_lots(events, ROWS_AT_ONCE):
            yield from table_from_rows(lot, ARRIVED).to_batches()


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
