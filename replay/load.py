"""The events of share-partitions, one table each, from gathered files or the user's own."""

from collections.abc import Iterator, Mapping

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from model.errors import InvalidValueError
from model.trace_arrow import SCHEMA, completed
from replay.gather import STORED
from replay.survey import PartitionRun, opened
from replay.tables import first_bad_row
from replay.verdict import Problem

BEGINS_LATE = "its first event is not initialize, so what came before is not known"


@attrs.frozen
class GatheredPart:
    """Row groups of a gathered file; ``base`` lines of the source come before the first."""

    path: str
    row_groups: tuple[int, ...]
    base: int


@attrs.frozen
class BucketTask:
    """Share-partitions to sort and check.

    ``bad`` has those with a line that could not be read; ``conflicts`` those that are in more than
    one file.
    """

    number: int
    parts: tuple[GatheredPart, ...]
    bad: Mapping[str, Problem]
    conflicts: Mapping[str, Problem]
    chosen: frozenset[str]


@attrs.frozen
class OrderedTask:
    """Share-partitions that are in order in a Parquet file of the user; runs in file order."""

    number: int
    source: str
    row_groups: tuple[int, ...]
    runs: tuple[PartitionRun, ...]


@attrs.frozen
class PartitionRows:
    """What can be checked of a share-partition: its events from ``seq`` 0 up to a problem, if any.

    ``events`` counts all that were read. ``first_row`` is the row in the user's file of the
    table's first row; None for gathered rows, which have columns for where each was read.
    """

    partition: str
    table: pa.Table
    events: int
    problem: Problem | None
    source: str = ""
    first_row: int | None = None

    def place(self, row: int) -> tuple[str, int]:
        """Return the file, and the line or row counted from 1, of a row of the table."""
        if self.first_row is not None:
            return self.source, self.first_row + row + 1
        return (
            self.table.column("source")[row].as_py(),
            self.table.column("line")[row].as_py(),
        )


def load(task: BucketTask | OrderedTask) -> Iterator[PartitionRows]:
    """Yield the share-partitions of a task. Raises OSError for a file that has gone."""
    return _from_bucket(task) if isinstance(task, BucketTask) else _from_file(task)


def loaded(task: BucketTask | OrderedTask) -> Iterator[PartitionRows]:
    """Yield the share-partitions of a task; those that cannot be read with no row and a problem."""
    done = set()
    try:
        for rows in load(task):
            yield rows
            done.add(rows.partition)
    except (pa.ArrowException, OSError, InvalidValueError) as error:
        message = f"cannot be read: {' '.join(str(error).split())[:200]}"
        if isinstance(task, BucketTask):
            source = task.parts[0].path
            yield from (_unread(name, 0, source, message) for name in sorted(task.chosen - done))
            return
        missed = [run for run in task.runs if run.partition not in done]
        if len(task.runs) == 1:
            yield from (_unread(r.partition, r.rows, task.source, message) for r in missed)
            return
        # Damage concerns only the runs where it is: read each of the others alone.
        for run in missed:
            yield from loaded(attrs.evolve(task, runs=(run,)))


def _unread(partition: str, events: int, source: str, message: str) -> PartitionRows:
    problem = Problem(source, None, message, partition)
    return PartitionRows(partition, SCHEMA.empty_table(), events, problem)


def _from_bucket(task: BucketTask) -> Iterator[PartitionRows]:
    tables = [_read_part(part) for part in task.parts]
    if not tables:
        return
    table = pa.concat_tables(tables)
    mask = pc.is_in(table.column("partition"), value_set=pa.array(sorted(task.chosen), pa.string()))
    table = table.filter(mask)
    order = pc.sort_indices(table, sort_keys=[("partition", "ascending"), ("seq", "ascending")])
    table = table.take(order).combine_chunks()
    suspect = first_bad_row(table) is not None
    for name, start, count in _groups(table.column("partition")):
        rows = table.slice(start, count)
        if name in task.conflicts:
            yield PartitionRows(name, rows.slice(0, 0), count, task.conflicts[name])
            continue
        problem, usable = _sequence(name, rows)
        bad = task.bad.get(name)
        loaded_rows = PartitionRows(name, rows.slice(0, usable), count, bad or problem)
        yield _without_bad_rows(loaded_rows) if suspect else loaded_rows


def _read_part(part: GatheredPart) -> pa.Table:
    with pq.ParquetFile(part.path) as file:
        table = file.read_row_groups(list(part.row_groups), use_threads=False).select(STORED.names)
    if part.base:
        line = pc.add(table.column("line"), part.base)
        table = table.set_column(table.schema.get_field_index("line"), STORED.field("line"), line)
    return table


def _groups(column: pa.ChunkedArray) -> Iterator[tuple[str, int, int]]:
    """Yield each value of a sorted column with its first row and how many rows have it."""
    start = 0
    for item in column.value_counts().to_pylist():
        yield item["values"], start, item["counts"]
        start += item["counts"]


def _sequence(name: str, rows: pa.Table) -> tuple[Problem | None, int]:
    """Return what is wrong with ``seq``, and how many rows before it are right."""
    seq: npt.NDArray[np.int64] = rows.column("seq").to_numpy()
    wrong = np.flatnonzero(seq != np.arange(len(seq)))
    if not len(wrong):
        return None, len(seq)
    first = int(wrong[0])
    source, line = (rows.column(field)[first].as_py() for field in ("source", "line"))
    if first and seq[first] == seq[first - 1]:
        other = rows.column("line")[first - 1].as_py()
        text = f"seq {seq[first]} occurs twice; the other event is in line {other}"
        # Nothing says which of the two is right, so neither is used.
        return Problem(source, line, text, name), first - 1
    if seq[first] < 0:
        return Problem(source, line, f"seq is {seq[first]}; allowed: 0 or more", name), first
    text = f"seq {first} is missing: the next is {seq[first]}"
    return Problem(source, line, text, name), first


def _from_file(task: OrderedTask) -> Iterator[PartitionRows]:
    """Read row groups as they are needed; keep no more than the runs in them."""
    runs = iter(task.runs)
    run = next(runs, None)
    with opened(task.source) as file:
        sizes = [file.metadata.row_group(g).num_rows for g in range(file.metadata.num_row_groups)]
        starts = np.cumsum([0, *sizes]).tolist()
        held, first, suspect = SCHEMA.empty_table(), 0, False
        for group in task.row_groups:
            if run is None or starts[group + 1] <= run.first_row:
                continue
            if first + held.num_rows != starts[group]:
                held, first, suspect = SCHEMA.empty_table(), starts[group], False
            read = file.read_row_group(group, columns=SCHEMA.names, use_threads=False)
            more = completed(read)
            # Check a whole row group at once: checking each small share-partition costs more.
            suspect |= first_bad_row(more) is not None
            held = pa.concat_tables([held, more]) if held.num_rows else more
            while run is not None and run.first_row + run.rows <= first + held.num_rows:
                rows = held.slice(run.first_row - first, run.rows)
                loaded_rows = PartitionRows(
                    run.partition, rows, run.rows, None, task.source, run.first_row
                )
                yield _without_bad_rows(loaded_rows) if suspect else loaded_rows
                run = next(runs, None)
            done = held.num_rows if run is None else min(run.first_row - first, held.num_rows)
            held, first = held.slice(done), first + done
    if run is not None:
        raise InvalidValueError("file", task.source, "a file that does not change while it is read")


def _without_bad_rows(rows: PartitionRows) -> PartitionRows:
    """Return the rows up to the first in which something is missing."""
    bad = first_bad_row(rows.table)
    if bad is None:
        return rows
    problem = Problem(*rows.place(bad.row), bad.message, rows.partition)
    return attrs.evolve(rows, table=rows.table.slice(0, bad.row), problem=problem)
