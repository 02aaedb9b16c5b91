"""The first stage: write traces of any form and order as Parquet, split by share-partition.

A task reads a file, or a part of one, and writes one Parquet file; each of its row groups holds
the share-partitions of one bucket. So each row is moved once, in columns. A Parquet file that is
in order stays where it is. Parquet is looked at first, in a child: some damaged files end PyArrow,
and with it its process.
"""

import contextlib
import faulthandler
import functools
import os
import pickle
import signal
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from model.errors import InvalidValueError
from model.trace_arrow import PLACE, SCHEMA, check_readable, completed, table_from_rows
from replay.pieces import runs_of
from replay.sources import (
    Bad,
    Form,
    Line,
    Source,
    in_lots,
    is_recorded,
    mark_of,
    partition_hint,
    read_lines,
    strict_row,
)
from replay.verdict import Problem, Recording
from report.scratch import whole_file

GENERATED = b"sharespec.generated"
"""The key in a file's metadata that marks results as computed by the implementation."""

DEADLY = "it ends the process that reads it: it is damaged"
"""The problem of a file that nobody may open."""

MAX_ROW_GROUP_ROWS = 1 << 24
MAX_ROW_GROUP_VALUES = 1 << 29
MAX_ROW_GROUP_BYTES = 1 << 33
"""The most that one row group may claim, so that no file decides how much memory is used."""


T_ = TypeVar("T_")

STORED = pa.schema([*SCHEMA, *PLACE])
"""The columns that are stored: an event, and where it was read."""

ROWS_AT_ONCE = 2000
"""How many rows are Python objects at a time."""

HOLD_BYTES = 64 << 20
"""How much is held in memory, in Arrow's form, before it is written."""

MAX_PROBLEMS = 1000
"""How many bad lines of one file are described."""

NO_EVENTS = "holds no events"
"""What is wrong with a file without lines."""


@attrs.frozen
class Survey:
    """One Parquet file, with the rows of each of its row groups.

    If it is in order, ``partitions`` has the first row, from 1, and the number of rows of each
    share-partition, as they follow each other; None if it has to be sorted first.
    """

    row_groups: tuple[int, ...] = ()
    partitions: dict[str, tuple[int, int]] | None = None
    problem: Problem | None = None
    generated: bool = False


@attrs.frozen
class GatherTask:
    """Read a file, or the lines that begin in [start, end), and write ``target``."""

    number: int
    source: Source
    start: int
    end: int | None
    buckets: int
    target: str


@attrs.define
class Gathered:
    """What a task has read so far. Lines count from 1 at the task's own beginning.

    ``problems`` describes lines that cannot be used; ``partitions`` has the first line and the
    number of events of each share-partition, ``row_groups`` the row groups of each bucket.
    ``leaderless`` are the share-partitions of which a row tells no leader epoch; ``recording`` is
    what a recorder says of the file. ``survey`` is that of Parquet.
    """

    task: GatherTask
    lines: int = 0
    problems: list[Problem] = attrs.field(factory=list)
    partitions: dict[str, tuple[int, int]] = attrs.field(factory=dict)
    row_groups: dict[int, list[int]] = attrs.field(factory=dict)
    leaderless: set[str] = attrs.field(factory=set)
    recording: Recording = attrs.field(factory=Recording)
    survey: Survey = attrs.field(factory=Survey)
    _named: set[str | None] = attrs.field(factory=set, init=False, eq=False)

    @property
    def path(self) -> str:
        """Return the file."""
        return self.task.source.path

    @property
    def is_empty(self) -> bool:
        """Return whether nothing was found, not even what is wrong."""
        return not (self.partitions or self.problems or self.recording.headers)

    def accept(self, partition: str, line: int, leader_epoch: object) -> None:
        """Count an event."""
        if leader_epoch is None:
            self.leaderless.add(partition)
        first, events = self.partitions.get(partition, (line, 0))
        self.partitions[partition] = first, events + 1

    def refuse(self, bad: Bad) -> None:
        """Describe a line that cannot be used, if not too many are."""
        # Each share-partition keeps its first problem, however many others there are.
        if len(self.problems) < MAX_PROBLEMS or bad.partition not in self._named:
            self.problems.append(Problem(self.path, bad.number, bad.message, bad.partition))
        self._named.add(bad.partition)


def bucket_of(partition: str, buckets: int) -> int:
    """Return the bucket of a share-partition, the same on every machine."""
    return zlib.crc32(partition.encode()) % buckets


def gather(tasks: Sequence[GatherTask]) -> Iterator[Gathered]:
    """Run the tasks. No content of a file makes one fail: what cannot be used is a Problem.

    Raises OSError where there is no room for what is read.
    """
    surveys = surveyed([task.source for task in tasks if _is_parquet(task)])
    for task in tasks:
        if not _is_parquet(task):
            yield _gather(task)
        elif (found := next(surveys)).problem:
            yield Gathered(task, problems=[found.problem], survey=found)
        elif (runs := found.partitions) is not None:
            rows = sum(found.row_groups)
            yield Gathered(task, rows, partitions=runs, leaderless=set(runs), survey=found)
        else:
            yield attrs.evolve(_gather(task), survey=found)


def _gather(task: GatherTask) -> Gathered:
    read = Gathered(task)
    _write(read)
    if read.is_empty and task.start == 0 and task.end is None:
        read.refuse(Bad(None, NO_EVENTS))
    return read


def tables_of(read: Gathered) -> Iterator[pa.Table]:
    """Yield the events of a task in the order of the file; what holds none is noted in ``read``."""
    try:
        yield from _from_parquet(read) if _is_parquet(read.task) else _from_lines(read)
    except OSError as error:
        read.refuse(Bad(None, f"cannot be read: {error.strerror or error}"))
    except InvalidValueError as error:
        read.refuse(Bad(None, str(error)))


def _is_parquet(task: GatherTask) -> bool:
    return task.source.form is Form.PARQUET


def _from_lines(read: Gathered) -> Iterator[pa.Table]:
    """Yield the events of the lines as tables; bad lines are noted."""
    task, path = read.task, read.path
    compressed = task.source.form is Form.GZIP
    recorded = task.start > 0 and is_recorded(path)
    lines = read_lines(path, compressed=compressed, start=task.start, end=task.end)
    return tables_of_lines(lines, read, recorded=recorded)


def tables_of_lines(
    lines: Iterable[Line | Bad], read: Gathered, *, recorded: bool = False
) -> Iterator[pa.Table]:
    """Yield the events of the lines as tables; bad lines are noted in ``read``.

    ``recorded``: a recorder wrote the file, as a line before these says.
    """
    rows = _rows_of_lines(lines, read, recorded=recorded)
    return (table_from_rows(lot, STORED) for lot in in_lots(rows, ROWS_AT_ONCE))


def _rows_of_lines(
    lines: Iterable[Line | Bad], read: Gathered, *, recorded: bool
) -> Iterator[dict[str, object]]:
    for line in lines:
        if row := _row_of(line, read, recorded=recorded):
            row["source"], row["line"] = read.path, line.number
            read.accept(str(row["partition"]), int(line.number or 0), row.get("leader_epoch"))
            yield row


def _row_of(line: Line | Bad, read: Gathered, *, recorded: bool) -> dict[str, object] | None:
    """Return the row of a line; what is none, or cannot be used, is noted in ``read``.

    The end of a recording that is still written, or whose broker died, may be cut.
    """
    read.lines = line.number or read.lines
    recorded |= read.recording.headers > 0
    if isinstance(line, Bad):
        if not (recorded and line.cut):
            read.refuse(line)
        else:
            read.recording += Recording(cut=1)
        return None
    if not line.content.strip():
        return None
    try:
        return strict_row(line.content)
    except InvalidValueError as error:
        mark = mark_of(line.content)
        if mark is None and recorded and not line.whole:
            mark = Recording(cut=1)
        if mark is None:
            read.refuse(Bad(line.number, str(error), partition_hint(line.content)))
        else:
            read.recording += mark
        return None


def _from_parquet(read: Gathered) -> Iterator[pa.Table]:
    """Yield the rows that name their share-partition and ``seq``; others are noted."""
    with opened(read.path) as file:
        for group in range(file.metadata.num_row_groups):
            try:
                rows = completed(
                    file.read_row_group(group, columns=SCHEMA.names, use_threads=False)
                )
                first, read.lines = read.lines + 1, read.lines + rows.num_rows
                yield placed(rows, first, read)
            except (pa.ArrowException, OSError) as error:
                text = f"row group {group} cannot be read: {' '.join(str(error).split())[:200]}"
                read.refuse(Bad(read.lines + 1, text))
                read.lines += file.metadata.row_group(group).num_rows


def with_places(table: pa.Table, source: str, lines: npt.NDArray[np.int64]) -> pa.Table:
    """Return the rows with where they were read: in a file, and the line or row of each."""
    rows = table.select([name for name in table.column_names if name in SCHEMA.names])
    return completed(rows, STORED, source=source, line=pa.array(lines))


def placed(table: pa.Table, first: int, read: Gathered) -> pa.Table:
    """Return the rows that name their share-partition and ``seq``, from row ``first`` on.

    Others are noted in ``read``.
    """
    rows = np.arange(first, first + table.num_rows)
    table = with_places(table, read.path, rows)
    keep = np.ones(len(rows), dtype=bool)
    columns = (table.column(name).to_pylist() for name in ("partition", "seq", "leader_epoch"))
    for i, (name, seq, epoch) in enumerate(zip(*columns, strict=True)):
        if not name or seq is None:
            keep[i] = False
            field = "seq" if name else "partition"
            read.refuse(Bad(int(rows[i]), f"{field} is missing", name or None))
        else:
            read.accept(name, int(rows[i]), epoch)
    return table.filter(pa.array(keep))


def _write(read: Gathered) -> None:
    """Write what a task reads, a row group for each bucket in each lot that memory holds."""
    groups, task = 0, read.task
    with (
        whole_file(Path(task.target)) as draft,
        pq.ParquetWriter(draft, STORED, compression="lz4") as writer,
    ):
        for lot in gathered(tables_of(read), HOLD_BYTES, lambda table: table.nbytes):
            for bucket, part in _split(lot, task.buckets):
                writer.write_table(part, row_group_size=part.num_rows)
                read.row_groups.setdefault(bucket, []).append(groups)
                groups += 1


def gathered(
    tables: Iterable[pa.Table], most: int, size_of: Callable[[pa.Table], int]
) -> Iterator[pa.Table]:
    """Yield the same rows in larger tables, each as soon as it has at least so much."""
    held: list[pa.Table] = []
    size = 0
    for table in tables:
        held.append(table)
        size += size_of(table)
        if size >= most:
            yield pa.concat_tables(held)
            held, size = [], 0
    if held:
        yield pa.concat_tables(held)


def _split(table: pa.Table, buckets: int) -> Iterator[tuple[int, pa.Table]]:
    """Yield the rows of each bucket."""
    encoded = table.column("partition").combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().chunk(0)
    of_name = np.array([bucket_of(name, buckets) for name in encoded.dictionary.to_pylist()])
    if not len(of_name):
        return
    of_row = of_name[encoded.indices.to_numpy()]
    for bucket in np.unique(of_row).tolist():
        yield bucket, table.filter(pa.array(of_row == bucket))


@contextlib.contextmanager
def opened(path: str) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file that holds a trace.

    Raises InvalidValueError for one that is damaged, claims absurd sizes or has another schema.
    """
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InvalidValueError("file", f"{error}".splitlines()[0], "a Parquet file") from None
    with file:
        check_readable(file.metadata.schema.to_arrow_schema())
        _check_sizes(file.metadata)
        yield file


def surveyed(sources: Sequence[Source]) -> Iterator[Survey]:
    """Yield what each file is, in a child that a damaged one may end."""
    left = list(sources)
    while left:
        done = 0
        for result in in_child(functools.partial(map, survey, left)):
            done += 1
            yield result
        if done < len(left):
            yield _unreadable(left[done], DEADLY)
        left = left[done + 1 :]


def survey(source: Source) -> Survey:
    """Read the columns ``partition`` and ``seq``, and return whether they are in order."""
    try:
        with opened(source.path) as file:
            rows = tuple(
                file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)
            )
            if not sum(rows):
                return _unreadable(source, "holds no events")
            generated = GENERATED in (file.metadata.metadata or {})
            return Survey(rows, _runs(file), None, generated)
    except InvalidValueError as error:
        return _unreadable(source, str(error))
    except (pa.ArrowException, OSError, ValueError) as error:
        return _unreadable(source, f"cannot be read: {' '.join(str(error).split())[:200]}")


def _unreadable(source: Source, message: str) -> Survey:
    return Survey(problem=Problem(source.path, None, message))


def _check_sizes(metadata: pq.FileMetaData) -> None:
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        values = max((group.column(c).num_values for c in range(group.num_columns)), default=0)
        for name, value, limit in (
            ("rows", group.num_rows, MAX_ROW_GROUP_ROWS),
            ("values", values, MAX_ROW_GROUP_VALUES),
            ("bytes", group.total_byte_size, MAX_ROW_GROUP_BYTES),
        ):
            if not 0 <= value <= limit:
                raise InvalidValueError(f"row group {i}, {name}", value, f"at most {limit}")


def _runs(file: pq.ParquetFile) -> dict[str, tuple[int, int]] | None:
    """Return where each share-partition lies if it is one run from ``seq`` 0 on, else None.

    Rows of leaderships are put in order elsewhere.
    """
    read = [
        name for name in ("partition", "seq", "leader_epoch") if name in file.schema_arrow.names
    ]
    runs: dict[str, tuple[int, int]] = {}
    row, last = 1, None
    for group in range(file.metadata.num_row_groups):  # The file may be larger than memory.
        table = file.read_row_group(group, columns=read, use_threads=False)
        names, seq, *epochs = (table.column(name) for name in read)
        is_led = any(column.null_count < len(column) for column in epochs)
        if names.null_count or seq.null_count or is_led:
            return None
        numbers = seq.to_numpy()
        for start, end in runs_of(names):
            name = names[start].as_py()
            first, before = runs.get(name, (row + start, 0))
            in_order = np.arange(before, before + end - start)
            if (before and name != last) or not np.array_equal(numbers[start:end], in_order):
                return None
            runs[name], last = (first, before + end - start), name
        row += table.num_rows
    return runs


def in_child(work: Callable[[], Iterable[T_]]) -> Iterator[T_]:
    """Yield what ``work`` yields in a fork of this process, up to where that dies.

    Raises what it raises. Who ends early ends the child.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Newer versions of Python warn of threads: this child waits for none of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _answer(work, writing)
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as answers:
            while True:
                try:
                    # Written by this process's own fork.
                    result = pickle.load(answers)  # noqa: S301
                except (EOFError, pickle.UnpicklingError):
                    return
                if isinstance(result, BaseException):
                    raise result
                yield result
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _answer(work: Callable[[], Iterable[T_]], writing: int) -> NoReturn:
    """Write what the work yields, and end without anything that the parent would do at its end."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # C++ says there why it aborts.
        faulthandler.disable()
        with os.fdopen(writing, "wb") as answers:
            try:
                for result in work():
                    pickle.dump(result, answers)
                    answers.flush()
            except BaseException as error:  # noqa: BLE001 - the parent raises it
                pickle.dump(error, answers)
    finally:
        os._exit(0)
