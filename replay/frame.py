"""Check a DataFrame of Spark, whatever it was read from, and replay a table.

Everything is lazy and only what Spark Connect has too. Workers must be able to import ``replay``.
"""

import functools
import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere with Spark
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from model.errors import InvalidValueError
from model.trace_arrow import SCHEMA, check_readable, completed
from replay.check_sorted import check_sorted
from replay.gather import with_places
from replay.pieces import runs_of
from replay.plan import CheckedPartition, InputFacts, Plan
from replay.processes import SessionError
from replay.result_schema import LAG, RESULTS, divergence_row, result_tables, verdict_row
from replay.session import SPARK_ERRORS, first_line, for_workers
from replay.sources import NoSuchTraceError, in_lots
from replay.tables import KEYS
from replay.verdict import PartitionVerdict, Replay, weighed

CHECKED = LAG.append(pa.field("verdict", pa.binary()))
"""The columns in which workers hand over what they checked: the lag, or a verdict."""

ROWS_AT_ONCE = 256
"""How many verdicts a worker hands over at a time."""


@attrs.frozen
class Checked:
    """What a check says, computed where it is used.

    ``results`` has a row for each share-partition (``RESULTS``); ``persist`` it where several of
    these are used. Made of it are ``verdicts``, without the divergences (``VERDICTS``), and
    ``divergences``, a row for each of them (``DIVERGENCES``). ``lag`` has a row for each
    event (``LAG``), from a pass of its own.
    """

    results: DataFrame
    verdicts: DataFrame
    divergences: DataFrame
    lag: DataFrame


def check(frame: DataFrame, plan: Plan | None = None, source: str = "the table") -> Checked:
    """Check the events of a DataFrame, in any order, share-partition by share-partition.

    ``frame`` has the columns of a trace (``model/trace_schema.py``); those that may be null may be
    absent, and others are passed over. ``source`` names it in what is reported, where a "line" is
    the place of an event in its share-partition, from 1. A worker holds a long share-partition in
    pieces (``Plan.piece_events``), except without the implementation.
    Raises InvalidValueError for a column that is missing or of another type.
    """
    plan, sorted_ = plan or Plan(), in_order(frame)
    task = functools.partial(_judged, plan, source)
    lag = for_workers(functools.partial(_lag, plan, source))
    results = sorted_.mapInArrow(for_workers(task), from_arrow_schema(RESULTS))
    return Checked(
        results,
        results.drop("diverging"),
        results.select(F.explode("diverging").alias("each")).select("each.*"),
        sorted_.mapInArrow(lag, from_arrow_schema(LAG)),
    )


def in_order(frame: DataFrame) -> DataFrame:
    """Return the events so that share-partitions come one after another, each in order.

    Raises InvalidValueError for a column that is missing or of another type.
    """
    given: object = frame
    if not isinstance(given, DataFrame):
        kind = f"{type(given).__module__.partition('.')[0]}.{type(given).__name__}"
        text = "a DataFrame of Spark, such as session.createDataFrame makes"
        raise InvalidValueError("frame", kind, text)
    check_columns(frame.schema)
    names = [name for name in SCHEMA.names if name in frame.columns]
    order = [name for name in KEYS if name in names]
    return (
        frame.select(*names)
        .repartition("partition")
        .sortWithinPartitions("partition", *(F.col(n).asc_nulls_last() for n in order))
    )


def verdicts_of(
    rows: DataFrame,
    task: "functools.partial[Iterator[pa.RecordBatch]]",
    others: Callable[[Sequence[PartitionVerdict]], Iterable[PartitionVerdict]],
    out: str | None,
) -> list[PartitionVerdict]:
    """Check rows that are in order and return the verdicts, with those of others.

    ``task`` is ``check_rows``. ``out`` is an address under which verdicts, divergences and lag are
    written as Parquet, over older ones.
    """
    work = for_workers(functools.partial(task, lag=bool(out)))
    checked = rows.mapInArrow(work, from_arrow_schema(CHECKED))
    checked = checked.persist(StorageLevel.DISK_ONLY) if out else checked
    try:
        found = checked.where("verdict is not null").select("verdict").collect()
        verdicts = [weighed(pickle.loads(bytes(row["verdict"]))) for row in found]  # noqa: S301 - of our own workers
        verdicts += others(verdicts)
        verdicts.sort(key=lambda verdict: verdict.partition)
        if out:
            lag = checked.where("verdict is null").drop("verdict")
            lag.write.mode("overwrite").parquet(f"{out}/lag")
            for name, table in result_tables(verdicts).items():
                frame = rows.sparkSession.createDataFrame(table)
                frame.coalesce(1).write.mode("overwrite").parquet(f"{out}/{name}")
    finally:
        checked.unpersist()
    return verdicts


def check_rows(
    plan: Plan,
    facts: InputFacts,
    placed: Callable[[Iterable[pa.RecordBatch]], Iterable[pa.Table]],
    batches: Iterable[pa.RecordBatch],
    *,
    lag: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Yield the verdicts on share-partitions that come one after another, each in order.

    ``placed`` gives the rows their places. With ``lag`` that after each event comes, too.
    """
    for each in check_sorted(placed(batches), plan, facts, lag=lag):
        if isinstance(each, CheckedPartition):
            judged = {"verdict": pickle.dumps(each.verdict)}
            yield pa.RecordBatch.from_pylist([judged], schema=CHECKED)
        else:
            yield from completed(each, CHECKED).to_batches()


def check_columns(schema: StructType) -> None:
    """Raise InvalidValueError for a column of a trace that is missing or of another type."""
    ours = [field for field in schema.fields if field.name in SCHEMA.names]
    check_readable(to_arrow_schema(StructType(ours)))


def _judged(plan: Plan, source: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the verdicts on share-partitions that come one after another, each in order."""
    checked = check_sorted(placed_rows(source, batches), plan)
    rows = (_result(weighed(c.verdict)) for c in checked if isinstance(c, CheckedPartition))
    for lot in in_lots(rows, ROWS_AT_ONCE):
        yield pa.RecordBatch.from_pylist(lot, schema=RESULTS)


def _lag(plan: Plan, source: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the lag after each event of share-partitions that come one after another."""
    for each in check_sorted(placed_rows(source, batches), plan, lag=True):
        if isinstance(each, pa.Table):
            yield from each.to_batches()


def _result(verdict: PartitionVerdict) -> dict[str, Any]:
    diverging = [divergence_row(each) for each in verdict.divergences]
    return verdict_row(verdict) | {"diverging": diverging}


def placed_rows(source: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield the rows with their places in their share-partitions, from 1."""
    before, done = None, 0
    for batch in batches:
        table = pa.Table.from_batches([batch])
        names, lines = table.column("partition"), np.empty(table.num_rows, np.int64)
        for start, end in runs_of(names):
            name = names[start].as_py()
            done = done if name == before else 0
            lines[start:end] = np.arange(done + 1, done + 1 + end - start)
            before, done = name, done + end - start
        yield with_places(table, source, lines)


def replay_table(session: SparkSession, table: str, plan: Plan, out: str | None = None) -> Replay:
    """Check every share-partition of a table and return the verdicts.

    ``table`` is the name of a table, or the address or path of Parquet files, which has a slash.
    ``out`` is an address under which verdicts, divergences and lag are written as Parquet, over
    older ones.
    Raises NoSuchTraceError for a table that is not there or is none of events, SessionError if
    Spark gives up.
    """
    started = time.monotonic()
    try:
        rows = in_order(_opened(session, table))
    except InvalidValueError as error:
        raise NoSuchTraceError(f"{table}: {error}") from None
    try:
        places = functools.partial(placed_rows, table)
        task = functools.partial(check_rows, plan, InputFacts(), places)
        verdicts = verdicts_of(rows, task, lambda _: (), out)
    except SPARK_ERRORS as error:
        raise SessionError(f"Spark gave up: {_reason(error)}") from error
    seconds = time.monotonic() - started
    return Replay(tuple(verdicts), (), seconds, runner="Spark")


def _opened(session: SparkSession, table: str) -> DataFrame:
    try:
        if "/" in table and ":" not in table and "`" not in table:
            table = f"file:{Path(table).absolute()}"
        frame = session.read.parquet(table) if ":" in table else session.table(table)
        frame.schema  # noqa: B018 - with Spark Connect a missing table shows only here
    except SPARK_ERRORS as error:
        raise NoSuchTraceError(f"{table}: {_reason(error)}") from None
    return frame


def _reason(error: Exception) -> str:
    """Return one line: the first of an error that Spark explains, the cause of another."""
    if isinstance(error, PySparkException) and error.getCondition():
        return str(error).strip().partition("\n")[0][:300]
    return first_line(error)
