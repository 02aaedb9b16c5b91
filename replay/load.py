"""The events of share-partitions, one table each, from gathered files or the user's own."""

from collections.abc import Iterator, Mapping, Sequence

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from model.errors import InvalidValueError
from model.trace_arrow import SCHEMA, completed
from replay.gather import STORED
from replay.sequence import gaps_in, in_sequence
from replay.state_file import Carried
from replay.survey import PartitionRun, opened
from replay.tables import first_bad_row
from replay.together import Part, Together
from replay.verdict import Problem


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
    one file. ``unfinished`` are the files that a recorder did not close, ``carried`` has where an
    earlier replay left share-partitions, ``events`` how many each of the chosen has.
    """

    number: int
    parts: tuple[GatheredPart, ...]
    bad: Mapping[str, Problem]
    conflicts: Mapping[str, Problem]
    chosen: frozenset[str]
    unfinished: frozenset[str] = frozenset()
    carried: Mapping[str, Carried] = attrs.field(factory=dict)
    events: Mapping[str, int] = attrs.field(factory=dict)


@attrs.frozen
class OrderedTask:
    """Share-partitions that are in order in a Parquet file of the user; runs in file order.

    ``carried`` has where an earlier replay left share-partitions.
    """

    number: int
    source: str
    row_groups: tuple[int, ...]
    runs: tuple[PartitionRun, ...]
    carried: Mapping[str, Carried] = attrs.field(factory=dict)


@attrs.frozen
class PartitionRows:
    """What can be checked of a share-partition: its events from ``seq`` 0 up to a problem, if any.

    ``events`` counts all that were read; gaps are none. ``first_row`` is the row in the user's
    file of the table's first row; None for gathered rows, which have columns for where each was
    read.
    ``start`` is where an earlier replay left the share-partition, ``part`` the table that has it
    and others.
    """

    partition: str
    table: pa.Table
    events: int
    problem: Problem | None
    source: str = ""
    first_row: int | None = None
    start: Carried | None = None
    part: Part | None = None

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
        if isinstance(task, BucketTask):
            source = task.parts[0].path
            yield from (unread(name, 0, source, error) for name in sorted(task.chosen - done))
            return
        missed = [run for run in task.runs if run.partition not in done]
        if len(task.runs) == 1:
            yield from (unread(r.partition, r.rows, task.source, error) for r in missed)
            return
        # Damage concerns only the runs where it is: read each of the others alone.
        for run in missed:
            yield from loaded(attrs.evolve(task, runs=(run,)))


def unread(partition: str, events: int, source: str, error: Exception) -> PartitionRows:
    """Return that a share-partition with so many events cannot be read, and why."""
    message = f"cannot be read: {' '.join(str(error).split())[:200]}"
    problem = Problem(source, None, message, partition)
    return PartitionRows(partition, SCHEMA.empty_table(), events, problem)


def _from_bucket(task: BucketTask) -> Iterator[PartitionRows]:
    chosen = pa.array(sorted(task.chosen), pa.string())
    # What is not chosen may be larger than memory: it goes row group by row group.
    groups = (table for part in task.parts for _, table in groups_of(part)) if len(chosen) else ()
    tables = [
        table.filter(pc.is_in(table.column("partition"), value_set=chosen)) for table in groups
    ]
    if not tables:
        return
    table = pa.concat_tables(tables)
    keys = ["partition", "leader_epoch", "instance", "seq"]
    if table.column("leader_epoch").null_count == table.num_rows:
        keys = ["partition", "seq"]
    order = pc.sort_indices(table, sort_keys=[(key, "ascending") for key in keys])
    table = table.take(order).combine_chunks()
    whole = Together(table)
    for name, start, count in _groups(table.column("partition")):
        rows = table.slice(start, count)
        if name in task.conflicts:
            yield PartitionRows(name, rows.slice(0, 0), count, task.conflicts[name])
            continue
        bad, left = task.bad.get(name), task.carried.get(name)
        events = count - gaps_in(rows)
        rows, problem = in_sequence(name, rows, task.unfinished, left)
        # Where leaders follow one another, rows may have been put between or left out.
        part = Part(whole, start, rows) if "leader_epoch" not in keys else None
        loaded_rows = PartitionRows(name, rows, events, bad or problem, start=left, part=part)
        yield loaded_rows if whole.is_sound else without_bad_rows(loaded_rows)


def groups_of(
    part: GatheredPart, columns: Sequence[str] = STORED.names
) -> Iterator[tuple[GatheredPart, pa.Table]]:
    """Yield each row group and these columns of it; lines count from the beginning of a file."""
    with pq.ParquetFile(part.path) as file:
        for group in part.row_groups:
            table = file.read_row_group(group, list(columns), use_threads=False)
            table = table.select(list(columns))
            if part.base and "line" in columns:
                line = pc.add(table.column("line"), part.base)
                place = table.schema.get_field_index("line")
                table = table.set_column(place, STORED.field("line"), line)
            yield attrs.evolve(part, row_groups=(group,)), table


def _groups(column: pa.ChunkedArray) -> Iterator[tuple[str, int, int]]:
    """Yield each value of a sorted column with its first row and how many rows have it."""
    start = 0
    for item in column.value_counts().to_pylist():
        yield item["values"], start, item["counts"]
        start += item["counts"]


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
            whole = Together(held)
            while run is not None and run.first_row + run.rows <= first + held.num_rows:
                rows = held.slice(run.first_row - first, run.rows)
                part, events = Part(whole, run.first_row - first, rows), run.rows - gaps_in(rows)
                loaded_rows = PartitionRows(
                    run.partition, rows, events, None, task.source, run.first_row, part=part
                )
                if start := task.carried.get(run.partition):
                    loaded_rows = _begun_again(loaded_rows, start)
                yield without_bad_rows(loaded_rows) if suspect else loaded_rows
                run = next(runs, None)
            done = held.num_rows if run is None else min(run.first_row - first, held.num_rows)
            held, first = held.slice(done), first + done
    if run is not None:
        raise InvalidValueError("file", task.source, "a file that does not change while it is read")


def _begun_again(rows: PartitionRows, start: Carried) -> PartitionRows:
    """Return rows that begin with ``seq`` 0 although an earlier replay has come further."""
    if start.state is None:
        return attrs.evolve(rows, start=start)
    text = f"seq 0 is of an earlier replay, after which seq {start.state.seq} is next"
    problem = Problem(*rows.place(0), text, rows.partition)
    return attrs.evolve(rows, table=rows.table.slice(0, 0), problem=problem, start=start)


def without_bad_rows(rows: PartitionRows) -> PartitionRows:
    """Return the rows up to the first in which something is missing."""
    bad = first_bad_row(rows.table)
    if bad is None:
        return rows
    problem = Problem(*rows.place(bad.row), bad.message, rows.partition)
    return attrs.evolve(rows, table=rows.table.slice(0, bad.row), problem=problem)
