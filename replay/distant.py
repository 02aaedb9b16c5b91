"""A replay of files at addresses that Spark opens: what moves between nodes, Spark moves.

The files are read once, by Spark, and kept on the disks of the workers. Then the rows of a
share-partition come together through Spark's shuffle, and are checked. No folder is shared.
"""

import functools
import gzip
import io
import itertools
import pickle
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import attrs
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere with Spark
from pyspark.sql.pandas.types import from_arrow_schema

from model.trace_arrow import SCHEMA, completed
from model.trace_json import MAX_LINE_BYTES
from replay.frame import check_rows, verdicts_of
from replay.gather import (
    GENERATED,
    NO_EVENTS,
    STORED,
    Gathered,
    GatherTask,
    placed,
    tables_of_lines,
)
from replay.pieces import runs_of
from replay.plan import Plan
from replay.processes import SessionError
from replay.run import others
from replay.session import SPARK_ERRORS, SparkRunner, first_line, refusal_of
from replay.sources import (
    SUFFIXES,
    Bad,
    BinaryFile,
    Form,
    Line,
    NoSuchTraceError,
    Source,
    Sources,
    lines_of,
    local_path,
    too_long,
)
from replay.tasks import Inputs, bucket_count, facts_of, inputs_of, line_bases
from replay.verdict import Problem, Recording, Replay

_GLOB = str.maketrans({sign: f"\\{sign}" for sign in "{}[]*?\\"})
"""What Spark would take for a pattern in an address."""

T_ = TypeVar("T_")

READ = pa.schema([*STORED, ("start", pa.int64()), ("summary", pa.binary())])
"""The columns: an event and its place, the byte where its part of the file begins, or a summary.

Lines count from the beginning of the part.
"""

_GZIP = b"\x1f\x8b"

CHUNK_BYTES = 1 << 14
"""How much of a compressed file a row has: Spark hands over up to 10,000 rows at a time."""

_PORTS = {"hdfs": 8020}
"""The ports of servers that an address may leave out, by scheme."""

_FORMS = {".gz": Form.GZIP, ".parquet": Form.PARQUET}


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
    except SPARK_ERRORS as error:
        raise SessionError(f"Spark gave up: {first_line(error)}") from error
    recordings = tuple(each for each in inputs.recordings.values() if each != Recording())
    return Replay(
        tuple(verdicts),
        inputs.problems,
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
    rows = session.read.schema(from_arrow_schema(SCHEMA)).parquet(*paths)
    names = (f"`{name}`" for name in SCHEMA.names)
    rows = rows.selectExpr(*names, _PATH, "_metadata.row_index as nth")
    return rows.mapInArrow(table_rows, _READ)


_PATH, _READ = "_metadata.file_path as path", from_arrow_schema(READ)


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
    held = {part.path for part in parts if not part.is_empty}
    yield from (Problem(each.path, None, NO_EVENTS) for each in files if each.path not in held)


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
    bases = line_bases((part.task, part.lines) for part in inputs.gathered)
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
    for table in (pa.Table.from_batches([batch]) for batch in batches):
        if not bases:
            yield completed(table, STORED)
            continue
        parts = (table.column(name).to_pylist() for name in ("source", "start"))
        base = pa.array([bases.get(part, 0) for part in zip(*parts, strict=True)], pa.int64())
        line = pc.add(table.column("line"), base)
        yield completed(table.drop(["line"]), STORED, line=line)


def shown(path: str) -> str:
    """Return a path as Spark tells it of a row, an escaped address, as a result names it."""
    return local_path(unquote(path))


def find_addressed(session: SparkSession, addresses: Iterable[str]) -> Sources:
    """Return the files under addresses, each once; their names say what form they have.

    Raises NoSuchTraceError for what cannot be opened and for folders that hold no trace.
    """
    files: dict[str, Source] = {}
    passed_over: list[str] = []
    addresses = list(addresses)
    for address in addresses:
        for name, size, named in _opened(address, lambda a: list(_within(session, a))):
            if named and not name.endswith(SUFFIXES):
                passed_over.append(name)
            else:
                form = _FORMS.get(PurePosixPath(name).suffix, Form.LINES)
                files.setdefault(name, Source(name, form, size))
    if not files:
        raise NoSuchTraceError(
            f"there is no trace in {', '.join(addresses)}; "
            f"a folder is searched for {', '.join(SUFFIXES)}"
        )
    ordered = sorted(files.values(), key=lambda source: source.path)
    return Sources(tuple(ordered), (), tuple(sorted(passed_over)))


def make_folder(session: SparkSession, address: str) -> None:
    """Make a folder, which shows that Spark can write there. Raises NoSuchTraceError."""

    def make(where: str) -> None:
        system, path = _system(session, where)
        system.mkdirs(path)

    _opened(address, make)


def ends_whole(session: SparkSession, source: Source) -> bool:
    """Return whether the last byte of a file of plain lines is a line feed."""
    system, path = _system(session, source.path)
    stream = system.open(path)
    try:
        stream.seek(source.size - 1)
        return bool(stream.read() == ord("\n"))
    finally:
        stream.close()


def is_generated(session: SparkSession, source: Source) -> bool:
    """Return whether a Parquet file says that the implementation computed its results."""
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001 - there is no other way to Hadoop
    _, path = _system(session, source.path)
    footer = jvm.org.apache.parquet.hadoop.ParquetFileReader.readFooter(_configured(session), path)
    named = footer.getFileMetaData().getKeyValueMetaData()
    return bool(named.containsKey(GENERATED.decode()))


def _opened(address: str, use: Callable[[str], T_]) -> T_:
    """Use an address; raise NoSuchTraceError, in one line, if it cannot be opened."""
    try:
        _check_answers(address)
        return use(address)
    except (*SPARK_ERRORS, OSError, ValueError) as error:
        reason = " ".join(first_line(error).split())
        raise NoSuchTraceError(f"{address} cannot be opened: {reason}") from None


def _check_answers(address: str) -> None:
    """Raise OSError if the server of an address accepts no connection.

    Hadoop tries for minutes. A name that is none of a host may be one of its configuration.
    """
    place = urlsplit(address)
    port = place.port or _PORTS.get(place.scheme)
    if not (place.hostname and port):
        return
    try:
        socket.getaddrinfo(place.hostname, port)
    except OSError:
        return
    if refusal := refusal_of(place.netloc, port):
        raise OSError(refusal)


def _configured(session: SparkSession) -> Any:  # noqa: ANN401 - an object of Java
    return session.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - as below


def _system(session: SparkSession, address: str) -> tuple[Any, Any]:
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001 - there is no other way to Hadoop
    path = jvm.org.apache.hadoop.fs.Path(address)
    return path.getFileSystem(_configured(session)), path


def _within(session: SparkSession, address: str) -> Iterator[tuple[str, int, bool]]:
    """Yield name and size of the files of a folder, hidden ones aside; or the file.

    The last says whether a name decides if the file is read, as in folders.
    """
    system, path = _system(session, address)
    status = system.getFileStatus(path)
    if not status.isDirectory():
        yield _name(status), status.getLen(), False
        return
    top = _name(status)
    each = system.listFiles(path, True)  # noqa: FBT003 - Java's
    while each.hasNext():
        status = each.next()
        name = _name(status)
        parts = name.removeprefix(top).strip("/").split("/")
        if not any(part.startswith((".", "_")) for part in parts):
            yield name, status.getLen(), True


def _name(status: Any) -> str:  # noqa: ANN401 - an object of Java
    return local_path(status.getPath().toString())


def line_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the events of plain lines, which come with file and beginning of the part."""
    for (path, start), lines in itertools.groupby(_values(batches), key=lambda each: each[:2]):
        numbered = (_line(n, content) for n, (*_, content) in enumerate(lines, 1))
        yield from _events(_begun(path, Form.LINES, start), numbered)


def packed_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the events of compressed files, which come in chunks, with the file of each.

    One that is not compressed is read as it is, as everywhere.
    """
    for (path, start), chunks in itertools.groupby(_values(batches), key=lambda each: each[:2]):
        content, head = (chunk for *_, chunk in chunks), b""
        while len(head) < len(_GZIP) and (more := next(content, b"")):
            head += more
        raw: io.RawIOBase = _Chunks(itertools.chain([head], content))
        file: BinaryFile = io.BufferedReader(raw)
        if head.startswith(_GZIP):
            file = gzip.GzipFile(fileobj=file)
        yield from _events(_begun(path, Form.GZIP, start), lines_of(file))


def table_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of Parquet, which come with file and number of each row, from 0."""
    for batch in batches:
        table = pa.Table.from_batches([batch])
        for first, end in runs_of(table.column("path")):
            rows = table.slice(first, end - first)
            read = _begun(rows.column("path")[0].as_py(), Form.PARQUET)
            nth = rows.column("nth")[0].as_py()
            yield from completed(placed(rows, nth + 1, read), READ, start=0).to_batches()
            yield _summary(read)


def summary_of(row: bytes, number: int) -> Gathered:
    """Return what a row says of the part of a file that was read, as the task of this number."""
    read: Gathered = pickle.loads(row)  # noqa: S301 - written by our own workers
    return attrs.evolve(read, task=attrs.evolve(read.task, number=number))


class _Chunks(io.RawIOBase):
    """A file whose bytes come in chunks."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override] # as Python calls it
        while not self._rest:
            try:
                self._rest = next(self._chunks)
            except StopIteration:
                return 0
        part, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


def _values(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, int, bytes]]:
    """Yield file, beginning of the part, and content of each row."""
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in ("path", "start", "content"))
        yield from zip(*columns, strict=True)


def _line(number: int, content: bytes) -> Line | Bad:
    if len(content) > MAX_LINE_BYTES:
        return too_long(number, content, len(content))
    return Line(number, content)


def _begun(path: str, form: Form, start: int = 0) -> Gathered:
    return Gathered(GatherTask(0, Source(shown(path), form, 0), start, None, 1, ""))


def _events(read: Gathered, lines: Iterable[Line | Bad]) -> Iterator[pa.RecordBatch]:
    for table in tables_of_lines(lines, read):
        yield from completed(table, READ, start=read.task.start).to_batches()
    yield _summary(read)


def _summary(read: Gathered) -> pa.RecordBatch:
    row = {"source": read.path, "start": read.task.start, "summary": pickle.dumps(read)}
    return pa.RecordBatch.from_pylist([row], schema=READ)
