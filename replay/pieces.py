"""A long share-partition in pieces, one after another, so that no worker holds it whole."""

import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from model.errors import InvalidValueError
from model.trace_arrow import SCHEMA, completed
from replay.load import (
    BucketTask,
    GatheredPart,
    OrderedTask,
    PartitionRows,
    groups_of,
    unread,
    without_bad_rows,
)
from replay.sequence import gaps_in, in_sequence
from replay.state_file import Carried
from replay.survey import PartitionRun, opened
from replay.verdict import Problem

T_ = TypeVar("T_")
KEYS = ("leader_epoch", "instance", "seq")
"""What orders the rows of a share-partition; a null is behind every number."""

_BEHIND = np.iinfo(np.int64).max
MOST_ROWS = 200_000
"""How many rows of a row group are decoded at a time."""

Key = tuple[int, ...]


@attrs.frozen
class Pieces:
    """A share-partition whose rows come in pieces, all of one before all of the next.

    ``rows`` yields what a piece holds, as it was read; ``begun`` puts it behind where the piece
    before has led. ``events`` counts all rows, if that is known before they are read. ``bad`` is a
    line of it that could not be read; ``unfinished`` are files of which the end may be missing.
    """

    partition: str
    rows: Callable[[], Iterable[PartitionRows]]
    events: int | None = None
    bad: Problem | None = None
    unfinished: frozenset[str] = frozenset()


def with_last(items: Iterable[T_]) -> Iterator[tuple[T_, bool]]:
    """Yield each item, and whether it is the last."""
    before: list[T_] = []
    for item in items:
        if before:
            yield before.pop(), False
        before.append(item)
    yield from ((item, True) for item in before)


def begun(
    piece: PartitionRows, start: Carried | None, unfinished: frozenset[str] = frozenset()
) -> PartitionRows:
    """Return the rows of a piece that follow where the one before it has led, up to a problem."""
    piece = attrs.evolve(piece, events=piece.events - gaps_in(piece.table), start=start)
    if piece.problem or piece.first_row is not None:
        return piece
    table, problem = in_sequence(piece.partition, piece.table, unfinished, start)
    rows = attrs.evolve(piece, table=table, problem=problem)
    if piece.part is None:
        return without_bad_rows(rows)
    # Where leaders follow one another, rows may have been put between or left out.
    is_cut_at_most = table.column("leader_epoch").null_count == table.num_rows
    part = attrs.evolve(piece.part, table=table) if is_cut_at_most else None
    rows = attrs.evolve(rows, part=part)
    return rows if piece.part.whole.is_sound else without_bad_rows(rows)


def joined(first: PartitionRows, second: PartitionRows) -> PartitionRows:
    """Return two pieces as one."""
    table = pa.concat_tables([first.table, second.table]).combine_chunks()
    return attrs.evolve(
        first, table=table, events=first.events + second.events, problem=second.problem
    )


def long_ones(
    task: BucketTask | OrderedTask, most: int | None, others: frozenset[str] = frozenset()
) -> tuple[BucketTask | OrderedTask, list[Pieces]]:
    """Return a task without its long share-partitions, and those, in pieces of about ``most``.

    Long are those of more events than that, and ``others``. None: no piece has an end.
    """
    size = sys.maxsize if most is None else most
    if isinstance(task, OrderedTask):
        long = [run for run in task.runs if run.rows > size or run.partition in others]
        rest = attrs.evolve(task, runs=tuple(run for run in task.runs if run not in long))
        return rest, [_of_file(task, run, size) for run in long]
    names = [name for name in task.chosen if task.events[name] > size or name in others]
    names = sorted(frozenset(names) - task.conflicts.keys())
    left = attrs.evolve(task, chosen=task.chosen - frozenset(names))
    return left, [_of_bucket(task, name, size) for name in names]


def _of_file(task: OrderedTask, run: PartitionRun, most: int) -> Pieces:
    def read() -> Iterator[PartitionRows]:
        place = run.first_row
        for table in collected(_tables(task, run, most), most):
            rows = PartitionRows(run.partition, table, table.num_rows, None, task.source, place)
            yield without_bad_rows(rows)
            place += table.num_rows

    rows = functools.partial(_readable, name=run.partition, events=run.rows, source=task.source)
    return Pieces(run.partition, lambda: rows(read()), run.rows)


def _readable(
    pieces: Iterator[PartitionRows], name: str, events: int, source: str
) -> Iterator[PartitionRows]:
    """Yield the pieces, and what cannot be read as one without rows and with a problem."""
    done = 0
    try:
        for piece in pieces:
            yield piece
            done += piece.events
    except (pa.ArrowException, OSError, InvalidValueError) as error:
        yield unread(name, events - done, source, error)
        return
    if done < events:
        allowed = "a file that does not change while it is read"
        yield unread(name, events - done, source, InvalidValueError("file", source, allowed))


def _tables(task: OrderedTask, run: PartitionRun, most: int) -> Iterator[pa.Table]:
    """Yield the rows of a run as they are decoded: a row group may be larger than memory."""
    end = run.first_row + run.rows
    with opened(task.source) as file:
        sizes = [file.metadata.row_group(g).num_rows for g in range(file.metadata.num_row_groups)]
        starts = np.cumsum([0, *sizes]).tolist()
        groups = [g for g in range(len(sizes)) if starts[g] < end and starts[g + 1] > run.first_row]
        place = starts[groups[0]] if groups else end
        for batch in _batches(file, groups, most):
            first, last = max(place, run.first_row), min(place + batch.num_rows, end)
            if first < last:
                table = completed(pa.Table.from_batches([batch]))
                yield table.slice(first - place, last - first)
            place += batch.num_rows


def _batches(file: pq.ParquetFile, groups: Sequence[int], most: int) -> Iterator[pa.RecordBatch]:
    """Yield the row groups in batches, each group by itself.

    Of several, PyArrow 26 keeps what it has read of each until the last one is done.
    """
    for group in groups:
        yield from file.iter_batches(min(most, MOST_ROWS), [group], SCHEMA.names, use_threads=False)


def _of_bucket(task: BucketTask, name: str, most: int) -> Pieces:
    def read() -> Iterator[PartitionRows]:
        for table in collected(_in_order(task, name), most):
            yield PartitionRows(name, table, table.num_rows, None)

    events = task.events[name]
    rows = functools.partial(_readable, name=name, events=events, source=task.parts[0].path)
    return Pieces(name, lambda: rows(read()), events, task.bad.get(name), task.unfinished)


def _in_order(task: BucketTask, name: str) -> Iterator[pa.Table]:
    """Yield the rows of a share-partition in order, from no more row groups at once than overlap.

    A recorder writes its rows in order, so that hardly any do.
    """
    read = (group for part in task.parts for group in groups_of(part, ["partition", *KEYS]))
    bounds = [(*_bounds(rows), part) for part, table in read if (rows := _of(table, name)).num_rows]
    bounds.sort(key=lambda each: each[:2])
    group: list[GatheredPart] = []
    reached: Key | None = None
    for low, high, part in bounds:
        if group and reached is not None and low > reached:
            yield _sorted(group, name)
            group = []
        group.append(part)
        reached = max(high, reached or high)
    if group:
        yield _sorted(group, name)


def _bounds(rows: pa.Table) -> tuple[Key, Key]:
    """Return the first and the last key."""
    keys = _keys(rows)
    ordered = keys[np.lexsort(keys.T[::-1])]
    return tuple(ordered[0].tolist()), tuple(ordered[-1].tolist())


def _keys(rows: pa.Table) -> npt.NDArray[np.int64]:
    """Return the keys of rows (rows, 3); without a leader epoch the instance is none, either."""
    columns = (pc.fill_null(rows.column(name), _BEHIND).to_numpy() for name in KEYS)
    keys = np.stack([np.asarray(column, np.int64) for column in columns], axis=1)
    keys[keys[:, 0] == _BEHIND, 1] = _BEHIND
    return keys


def _sorted(parts: Sequence[GatheredPart], name: str) -> pa.Table:
    read = (table for part in parts for _, table in groups_of(part))
    table = pa.concat_tables([_of(table, name) for table in read])
    return table.take(pa.array(np.lexsort(_keys(table).T[::-1]))).combine_chunks()


def _of(table: pa.Table, name: str) -> pa.Table:
    return table.filter(pc.equal(table.column("partition"), name))


def collected(tables: Iterable[pa.Table], most: int) -> Iterator[pa.Table]:
    """Yield the same rows in tables of at least ``most``: many small ones cost more than they do.

    Rows with one key stay together, so that who reads them sees that they are two.
    """
    held: list[pa.Table] = []
    size = 0
    for table in tables:
        held.append(table)
        size += table.num_rows
        if size < most:
            continue
        rows = pa.concat_tables(held).combine_chunks()
        keys = _keys(rows)
        apart = np.flatnonzero((keys != keys[-1]).any(axis=1))
        cut = int(apart[-1]) + 1 if len(apart) else 0
        if cut:
            yield rows.slice(0, cut)
        held, size = [rows.slice(cut)], rows.num_rows - cut
    if held and size:
        yield pa.concat_tables(held).combine_chunks()
