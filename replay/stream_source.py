"""What a stream of events comes from: a folder that grows, or a topic of Kafka.

Each file is read once, after it has come; each record is read once.
"""

import re
from pathlib import Path

import attrs
import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere with Spark

from replay.arrivals import ARRIVED
from replay.frame import spark_type
from replay.session import refusal_of
from replay.sources import SUFFIXES, NoSuchTraceError
from replay.stream_rows import file_rows, record_rows

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
    return files.select("path", came).mapInArrow(file_rows, spark_type(ARRIVED))


@attrs.frozen
class Topic:
    """A topic, and where brokers of its cluster answer: HOST:PORT, between commas if several."""

    servers: str
    name: str


def topic_of(source: str) -> Topic | None:
    """Return the topic of a source such as ``kafka:HOST:PORT/TOPIC``; None for a folder.

    Raises NoSuchTraceError for one that begins so and goes on otherwise.
    """
    if not source.startswith("kafka:"):
        return None
    if not (named := _TOPIC.fullmatch(source)):
        raise NoSuchTraceError(f"{source} names no topic; allowed: kafka:HOST:PORT/TOPIC")
    return Topic(named["servers"], named["topic"])


def kafka_package() -> str:
    """Return the package with Spark's source of topics, of the version that PySpark has."""
    return f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"


def check_answers(topic: Topic) -> None:
    """Raise NoSuchTraceError if no broker accepts a connection: Spark itself tries for minutes."""
    if reason := refusal_of(topic.servers):
        raise NoSuchTraceError(f"no broker answers at {topic.servers}: {reason}")


def topic_stream(session: SparkSession, topic: Topic) -> DataFrame:
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
    return rows.mapInArrow(record_rows, spark_type(ARRIVED))
