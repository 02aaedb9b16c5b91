"""Check a stream of Spark batch by batch: a divergence is one alarm, however often it restarts.

Spark fixes which events belong to a batch before it begins, and gives one that was cut off again,
with the same events and the same number. What was checked is told in the format of Prometheus, too.
"""

import functools
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere with Spark
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.query import StreamingQuery

from judge.finding import Finding
from model.errors import InvalidValueError
from replay.frame import check_columns
from replay.judged import (
    ARRIVED,
    JUDGED,
    Before,
    Counts,
    Judged,
    Patience,
    Waiting,
    judge_batches,
    judged_of,
)
from replay.plan import Plan, is_sampled
from replay.session import first_line
from replay.state_file import StateError
from replay.stream_file import (
    SPARK,
    Left,
    Summary,
    file_name,
    read_stream,
    spark_id,
    write_alarms,
    write_stream,
)
from replay.stream_source import completed_rows
from replay.verdict import Problem
from report.scratch import whole_file

TASKS_PER_CORE = 2
"""In how many tasks a batch is checked, about."""

MAX_PROBLEMS = 1000
"""How many problems of a batch are described; all are counted."""


@attrs.frozen
class Batch:
    """A batch that was checked, its divergences, and what could not be read or is missing.

    ``again``: it was done before, and its divergences were told then. ``left`` is what the stream
    has left.
    """

    summary: Summary
    left: Left
    alarms: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()
    again: bool = False


Each = Callable[[Batch], None]
"""Is told each batch: when its alarms are written, and before it is done."""

Judge = Callable[[Left], "tuple[list[Judged], int | None]"]
"""Judges a batch, and returns also when the first of its events came, in ms."""


@attrs.frozen
class StreamPlace:
    """How a stream is checked, where its alarms go, if anywhere, and who is told each batch."""

    plan: Plan
    out: Path | None = None
    each: Each = lambda _: None

    @property
    def states(self) -> Path:
        """Return the folder of the states."""
        return Path(self.plan.state_folder or "").absolute()


def check_stream(  # noqa: PLR0913 - one argument for each option
    frame: DataFrame,
    plan: Plan,
    out: str | Path | None = None,
    *,
    each: Each | None = None,
    trigger: Mapping[str, Any] | None = None,
    patience: Patience | None = None,
    source: str = "the stream",
) -> StreamingQuery:
    """Start to check the events of a streaming DataFrame and return the query.

    ``frame`` has the columns of a trace, as ``check`` takes them. ``plan.state_folder`` is a folder
    of the driver that keeps where each share-partition was left, and which batch that was, so that
    a stream goes on where it was stopped or killed. ``out`` gets the divergences, a file of JSON
    lines for each batch that has some; ``each`` is called with every ``Batch``. ``trigger`` is as
    ``DataStreamWriter.trigger`` takes it; without one a batch begins when the one before is done.
    Wait for the query, or stop it, as for any other.
    Raises InvalidValueError for a static DataFrame, for a column that is missing or of another
    type, and for a plan without a folder, StateError for states that cannot be used.
    """
    if not plan.state_folder:
        raise InvalidValueError("plan.state_folder", None, "a folder for the states")
    if not frame.isStreaming:
        raise InvalidValueError("frame", "a static DataFrame", "one of readStream; or use check")
    check_columns(frame.schema)
    place = StreamPlace(plan, Path(out) if out else None)
    place = attrs.evolve(place, each=each) if each else place
    left = read_stream(place.states, plan.rules)
    events = frame
    if frame.columns != ARRIVED.names:
        rows = functools.partial(completed_rows, source)
        events = frame.mapInArrow(rows, from_arrow_schema(ARRIVED))

    def batch(batch_frame: DataFrame, number: int) -> None:
        nonlocal left
        judge = functools.partial(_judged, batch_frame, plan, patience or Patience())
        left = run_batch(number, spark_id(place.states), left, judge, place)

    writer = events.writeStream.foreachBatch(batch)
    writer = writer.option("checkpointLocation", f"file:{place.states / SPARK}")
    return (writer.trigger(**trigger) if trigger else writer).start()


def reason_of(error: BaseException) -> str:
    """Return the line of an error of a stream that has the cause, in Python or in Java."""
    named = re.compile(r"^(?:[a-z_]+\.)*(?:[A-Z]\w*Error|OSError): (.+)$")
    lines = [line.strip() for line in str(error).splitlines()]
    causes = [match[1] for line in lines if (match := named.match(line))]
    return causes[-1][:300] if causes else first_line(error)


def run_batch(number: int, stream: str, left: Left, judge: Judge, place: StreamPlace) -> Left:
    """Check a batch and leave what follows from it; do nothing if it was done before.

    Its alarms are written first, under a name that is the same in every attempt, then its states.
    Raises StateError if the states are not those of the batch before.
    """
    if is_done(number, stream, left, place.states):
        place.each(Batch(left.last, left, again=True))
        return left
    started = time.monotonic()
    judged, came_ms = judge(left)
    batch = _batch(number, stream, left, judged, place.plan.sample)
    waited = None if came_ms is None else max(0.0, time.time() - came_ms / 1000)
    batch = _timed(batch, time.monotonic() - started, waited)
    if place.out:
        name = file_name(stream, number)
        write_alarms(place.out, name, number, batch.alarms, batch.problems)
    place.each(batch)
    return write_stream(place.states, place.plan.rules, batch.left)


def is_done(number: int, stream: str, left: Left, folder: Path) -> bool:
    """Return whether the states are of this batch already.

    Raises StateError where batches lie between, or they are of another stream.
    """
    if left.stream == stream and number >= left.last.batch:
        return number == left.last.batch
    if number == 0 and left.stream != stream:
        return False
    text = "are of another stream" if left.stream != stream else f"are of batch {left.last.batch}"
    raise StateError(f"the states in {folder} {text}, and this is batch {number} of {SPARK}/")


def _batch(number: int, stream: str, left: Left, judged: list[Judged], sample: float) -> Batch:
    alarms = tuple(alarm for each in judged for alarm in each.alarms)
    problems = [problem for each in judged for problem in each.problems]
    counts = sum((each.counts for each in judged), Counts())
    held = [each.held for each in judged if each.held.num_rows]
    table = pa.concat_tables(held).combine_chunks() if held else ARRIVED.empty_table()
    done = {each.partition for each in judged}
    waiting = {name: each for name, each in left.waiting.items() if name not in done}
    waiting |= {each.partition: each.waiting for each in judged if each.waiting != Waiting()}
    parts = len(done - {""})
    summary = Summary(number, counts, parts, len(alarms), len(problems), table.num_rows)
    carried = {**left.carried, **{each.partition: each.left for each in judged if each.left}}
    total, count = left.total + counts, left.alarms + len(alarms)
    seen = dict(left.seen)
    for each in judged:
        if is_sampled(each.partition, sample):
            seen[each.partition] = seen.get(each.partition, Counts()) + each.counts
    after = Left(stream, carried, waiting, table, summary, total, count, "", seen)
    return Batch(summary, after, alarms, tuple(problems[:MAX_PROBLEMS]))


def _timed(batch: Batch, seconds: float, lag: float | None) -> Batch:
    summary = attrs.evolve(batch.summary, seconds=seconds, lag_seconds=lag)
    return attrs.evolve(batch, summary=summary, left=attrs.evolve(batch.left, last=summary))


def _judged(
    frame: DataFrame, plan: Plan, patience: Patience, left: Left
) -> tuple[list[Judged], int | None]:
    """Judge a batch on the workers, each share-partition with what waited of it."""
    session = frame.sparkSession
    if left.held.num_rows:
        frame = frame.unionByName(session.createDataFrame(left.held))
    frame = frame.persist()
    try:
        found = frame.groupBy("partition").agg(F.min("arrived_ms").alias("came")).collect()
        before = {
            name: Before(left.carried.get(name), left.waiting.get(name, Waiting()))
            for name in (row["partition"] for row in found)
            if name is not None
        }
        tasks = max(1, min(len(found), TASKS_PER_CORE * session.sparkContext.defaultParallelism))
        rows = frame.repartition(tasks, "partition").sortWithinPartitions("partition")
        task = functools.partial(judge_batches, plan, patience, before)
        judged = rows.mapInArrow(task, from_arrow_schema(JUDGED)).collect()
    finally:
        frame.unpersist()
    came = [row["came"] for row in found if row["came"] is not None]
    ordered = sorted((judged_of(row.asDict()) for row in judged), key=lambda each: each.partition)
    return ordered, min(came, default=None)


_COUNTED = ("checked", "late", "twice", "passed", "unreadable")


def metrics_text(batch: Batch, now: float) -> str:
    """Return the metrics after a batch that ended at ``now``, in seconds since 1970."""
    last, left = batch.summary, batch.left
    values: dict[str, float | None] = {
        **{f"events_{name}_total": getattr(left.total, name) for name in _COUNTED},
        "gaps_total": left.total.gaps,
        "divergences_total": left.alarms,
        "partitions": len(left.carried),
        "partitions_diverged": sum(each.divergence is not None for each in left.carried.values()),
        "partitions_unknown": len(left.unknown),
        "waiting_events": last.waiting,
        "batch": last.batch,
        "batch_events_per_second": round(last.counts.checked / max(last.seconds, 1e-9), 1),
        "lag_seconds": None if last.lag_seconds is None else round(last.lag_seconds, 3),
        "last_batch_timestamp_seconds": round(now, 3),
    }
    kinds = {name: "counter" if name.endswith("_total") else "gauge" for name in values}
    return "".join(
        f"# TYPE sharespec_watch_{name} {kinds[name]}\nsharespec_watch_{name} {value}\n"
        for name, value in values.items()
        if value is not None
    )


def write_metrics(path: Path, batch: Batch, now: float) -> None:
    """Write the metrics, whole or not at all."""
    with whole_file(path) as draft:
        draft.write_text(metrics_text(batch, now), encoding="ascii")
