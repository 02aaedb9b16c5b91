"""A replay of files at addresses that Spark opens: what moves between nodes, Spark moves.

The files are read once, by Spark, and kept on the disks of the workers. Then the rows of a
share-partition come together through Spark's shuffle, and are checked. No folder is shared.
"""

import functools
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs
import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError  # type: ignore[import-untyped] # not typed
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere with Spark

from model.trace_arrow import SCHEMA
from replay.address import ends_whole, find_addressed, is_generated, make_folder
from replay.distant_rows import (
    CHUNK_BYTES,
    READ,
    line_rows,
    packed_rows,
    summary_of,
    table_rows,
)
from replay.frame import check_rows, spark_type, verdicts_of
from replay.gather import NO_EVENTS, STORED, Gathered
from replay.plan import Plan
from replay.recording import Recording
from replay.run import others
from replay.runner import SessionError
from replay.session import SparkRunner, first_line
from replay.sources import Form, Source
from replay.tasks import Inputs, bucket_count, facts_of, inputs_of, line_bases
from replay.verdict import Problem, Replay, counted

_ERRORS = (PySparkException, Py4JError)
_GLOB = str.maketrans({sign: f"\\{sign}" for sign in "{}[]*?\\"})
"""What Spark would take for a pattern in an address."""


def replay_distant(
    session: SparkSession, addresses: Iterable[str], plan: Plan, out: str | None = None
) -> Replay:
    """Check every share-partition of the files under addresses and return the verdicts.

    ``out`` is an address under which verdicts, divergences and lag are written as Parquet, over
    older ones. Raises NoSuchTraceError for an address that cannot be opened, SessionError if Spark
    gives up.
    """
    started = time.monotonic()
    sources = find_addressed(session, addresses)
    if out:
        make_folder(session, out)
    try:
        read = _read(session, sources.files).persist(StorageLevel.DISK_ONLY)
        try:
            inputs = _inputs(session, sources.files, read)
            tasks = bucket_count(sources.files, SparkRunner(session).parallelism)
            facts = facts_of(inputs, plan=plan)
            facts = attrs.evolve(facts, events={})  # Spark reads all rows, or gives up.
            places = functools.partial(in_files, parts_before(inputs))
            task = functools.partial(check_rows, plan, facts, places)
            rest = functools.partial(others, inputs, plan)
            verdicts = verdicts_of(_in_order(read, tasks), task, rest, out)
        finally:
            read.unpersist()
        parquet = (source for source in sources.files if source.form is Form.PARQUET)
        generated = any(is_generated(session, source) for source in parquet)
    except _ERRORS as error:
        raise SessionError(f"Spark gave up: {first_line(error)}") from error
    recordings = tuple(each for each in inputs.recordings.values() if each != Recording())
    return Replay(
        tuple(verdicts),
        inputs.problems,
        counted(verdicts, list(inputs.problems)),
        time.monotonic() - started,
        sources.passed_over,
        generated,
        recordings=recordings,
        runner=SparkRunner(session).place,
    )


def _read(session: SparkSession, files: Sequence[Source]) -> DataFrame:
    """Return what is read of the files, with the columns ``READ``."""
    frames = []
    for form, read in ((Form.LINES, _lines), (Form.GZIP, _packed), (Form.PARQUET, _tables)):
        paths = [each.path.translate(_GLOB) for each in files if each.form is form]
        if paths:
            frames.append(read(session, paths))
    return functools.reduce(DataFrame.unionAll, frames)


def _lines(session: SparkSession, paths: list[str]) -> DataFrame:
    lines = session.read.option("lineSep", "\n").text(paths)
    start, content = "_metadata.file_block_start as start", "cast(value as binary) as content"
    return lines.selectExpr(_PATH, start, content).mapInArrow(line_rows, _READ)


def _packed(session: SparkSession, paths: list[str]) -> DataFrame:
    files = session.read.format("binaryFile").load(paths)
    numbered = f"explode(sequence(0, length div {CHUNK_BYTES})) as nth"
    chunk = f"substring(content, nth * {CHUNK_BYTES} + 1, {CHUNK_BYTES}) as content"
    chunks = files.selectExpr(_PATH, "content", numbered)
    chunks = chunks.selectExpr("path", "cast(0 as bigint) as start", chunk)
    return chunks.mapInArrow(packed_rows, _READ)


def _tables(session: SparkSession, paths: list[str]) -> DataFrame:
    rows = session.read.schema(spark_type(SCHEMA)).parquet(*paths)
    names = (f"`{name}`" for name in SCHEMA.names)
    rows = rows.selectExpr(*names, _PATH, "_metadata.row_index as nth")
    return rows.mapInArrow(table_rows, _READ)


_PATH, _READ = "_metadata.file_path as path", spark_type(READ)


def _inputs(session: SparkSession, files: Sequence[Source], read: DataFrame) -> Inputs:
    """Return what the files hold, when all have been read."""
    order = {source.path: nth for nth, source in enumerate(files)}
    rows = read.where("summary is not null").select("source", "start", "summary").collect()
    rows.sort(key=lambda row: (order[row["source"]], row["start"]))
    parts = [summary_of(bytes(row["summary"]), nth) for nth, row in enumerate(rows)]
    inputs = inputs_of(parts)
    problems = [*inputs.problems, *_empty(files, parts)]
    cut = [each for each in problems if _is_cut(session, files, inputs, each)]
    recordings = {
        path: recording + Recording(cut=sum(each.source == path for each in cut))
        for path, recording in inputs.recordings.items()
    }
    problems = [each for each in problems if each not in cut]
    return attrs.evolve(inputs, problems=tuple(problems), recordings=recordings)


def _empty(files: Iterable[Source], parts: Iterable[Gathered]) -> Iterator[Problem]:
    """Yield a problem for each file without an event, in which nothing else is wrong."""
    held = Counter[str]()
    for part in parts:
        held[part.task.source.path] += part.bad + part.recording.headers + len(part.partitions)
    yield from (Problem(each.path, None, NO_EVENTS) for each in files if not held[each.path])


def _is_cut(
    session: SparkSession, files: Sequence[Source], inputs: Inputs, problem: Problem
) -> bool:
    """Return whether a bad line is the end of a recording that is still written, or broke off.

    Who reads a part of plain lines does not see that it is.
    """
    recording = inputs.recordings.get(problem.source)
    if problem.line is None or recording is None or not recording.headers:
        return False
    (source,) = (each for each in files if each.path == problem.source)
    parts = (part for part in inputs.gathered if part.task.source.path == problem.source)
    last = sum(part.lines for part in parts)
    is_last = source.form is Form.LINES and problem.line == last
    return is_last and not ends_whole(session, source)


def parts_before(inputs: Inputs) -> dict[tuple[str, int], int]:
    """Return how many lines of a file come before the part that begins at a byte, if some do."""
    bases = line_bases(inputs.gathered)
    placed = ((part.task, bases[part.task.number]) for part in inputs.gathered)
    return {(task.source.path, task.start): base for task, base in placed if base}


def _in_order(read: DataFrame, tasks: int) -> DataFrame:
    """Return the events so that the share-partitions come one after another, each in order.

    The number of tasks is said, as Spark would join small ones, which take long all the same.
    """
    order = ("leader_epoch", "instance", "seq", "source", "start", "line")
    return (
        read.where("summary is null")
        .select(*STORED.names, "start")
        .repartition(tasks, "partition")
        .sortWithinPartitions("partition", *(F.col(name).asc_nulls_last() for name in order))
    )


def in_files(
    bases: Mapping[tuple[str, int], int], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.Table]:
    """Yield rows whose lines count from the beginning of the file, not of the part.

    ``bases`` has how many lines of a file come before the part that begins at a byte.
    """
    return (_in_file(pa.Table.from_batches([batch]), bases) for batch in batches)


def _in_file(table: pa.Table, bases: Mapping[tuple[str, int], int]) -> pa.Table:
    if not bases:
        return table.select(STORED.names).cast(STORED)
    parts = zip(table.column("source").to_pylist(), table.column("start").to_pylist(), strict=True)
    base = pa.array([bases.get(part, 0) for part in parts], pa.int64())
    line = pc.add(table.column("line"), base)
    table = table.set_column(table.schema.get_field_index("line"), "line", line)
    return table.select(STORED.names).cast(STORED)
