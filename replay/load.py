"""The rows of share-partitions in order, from gathered files or the user's own."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from model.errors import InvalidValueError
from model.trace_arrow import SCHEMA, completed
from replay.facts import InputFacts
from replay.gather import STORED, with_places
from replay.pieces import KEYS, PartitionRows, UnreadError, begun, keys_of, partitions
from replay.survey import opened
from replay.verdict import Problem

MOST_ROWS = 200_000
"""How many rows of a user's file are decoded at a time."""

Key = tuple[int, ...]


@attrs.frozen
class FilePart:
    """Row groups of a gathered file; ``base`` lines of the source come before the first."""

    path: str
    row_groups: tuple[int, ...] = ()
    base: int = 0


@attrs.frozen
class CheckTask:
    """Share-partitions to check: ``events`` has how many rows each of them has.

    Their rows are in the parts: of gathered files, or of one Parquet file of the user, in which
    they are in order. Then ``first_rows`` says where each begins there.
    """

    number: int
    parts: tuple[FilePart, ...]
    events: Mapping[str, int]
    facts: InputFacts = attrs.field(factory=InputFacts)
    first_rows: Mapping[str, int] = attrs.field(factory=dict)


def whole_rows(task: CheckTask) -> Iterator[PartitionRows]:
    """Yield each share-partition of a task in one piece.

    Those that cannot be read have no row and a problem.
    """
    done, most = set(), max(task.events.values(), default=0) + 1
    problem: Problem | None = None
    try:
        for tables in read_sorted(task, most):
            for name, (piece,) in partitions(tables, most):
                facts = task.facts
                rows = begun(piece, facts.carried.get(name), facts.unfinished, facts.pauses)
                yield attrs.evolve(rows, problem=facts.bad.get(name) or rows.problem)
                done.add(name)
    except UnreadError as error:
        problem = error.problem
    for alone in apart(task, done):
        yield from whole_rows(alone)
    if problem and len(task.events) == 1:
        ((name, events),) = task.events.items()
        yield PartitionRows(name, STORED.empty_table(), events, problem)


def apart(task: CheckTask, done: set[str]) -> Iterator[CheckTask]:
    """Yield a task for each of several share-partitions that is not done: damage concerns some."""
    missing = sorted(task.events.keys() - done) if len(task.events) > 1 else []
    yield from (attrs.evolve(task, events={name: task.events[name]}) for name in missing)


def read_sorted(task: CheckTask, most: int) -> Iterator[Iterator[pa.Table]]:
    """Yield the rows of share-partitions one after another, each in order.

    Those of the short ones come first, together, and then those of each that has more than
    ``most``, by itself. The tables raise UnreadError for what cannot be read, which names a
    share-partition that comes alone.
    """
    long = sorted(name for name, events in task.events.items() if events > most)
    short = {name: events for name, events in task.events.items() if events <= most}
    if short:
        yield _readable(attrs.evolve(task, events=short), _gathered)
    for name in long:
        yield _readable(attrs.evolve(task, events={name: task.events[name]}), _in_order)


def _readable(
    task: CheckTask, read: Callable[[CheckTask], Iterator[pa.Table]]
) -> Iterator[pa.Table]:
    try:
        yield from (_in_file if task.first_rows else read)(task)
    except (pa.ArrowException, OSError, InvalidValueError) as error:
        message = f"cannot be read: {' '.join(str(error).split())[:200]}"
        alone = next(iter(task.events)) if len(task.events) == 1 else None
        raise UnreadError(Problem(task.parts[0].path, None, message, alone)) from None


def _in_file(task: CheckTask) -> Iterator[pa.Table]:
    """Yield the rows of a user's file as they are decoded: memory may not hold a row group."""
    path, chosen, found = task.parts[0].path, pa.array(sorted(task.events), pa.string()), 0
    firsts = np.array([task.first_rows[name] for name in task.events])
    ends = firsts + np.array(list(task.events.values()))
    with opened(path) as file:
        sizes = [file.metadata.row_group(g).num_rows for g in range(file.metadata.num_row_groups)]
        starts = np.cumsum([0, *sizes]).tolist()
        # One group at a time: of several, PyArrow 26 keeps what it has read until the last is done.
        for group, (first, end) in enumerate(itertools.pairwise(starts)):
            if not ((firsts < end) & (ends > first)).any():
                continue
            place = first
            for batch in file.iter_batches(MOST_ROWS, [group], SCHEMA.names, use_threads=False):
                rows = np.arange(place + 1, place + 1 + batch.num_rows)
                table = with_places(completed(pa.Table.from_batches([batch])), path, rows)
                wanted = pc.is_in(table.column("partition"), value_set=chosen)
                yield table if pc.all(wanted).as_py() else table.filter(wanted)
                place, found = place + batch.num_rows, found + pc.sum(wanted).as_py()
    if found != sum(task.events.values()):
        raise InvalidValueError("file", path, "a file that does not change while it is read")


def _gathered(task: CheckTask) -> Iterator[pa.Table]:
    """Yield the rows of share-partitions, sorted, as one table."""
    chosen = pa.array(sorted(task.events), pa.string())
    # What is not chosen may be larger than memory: it goes row group by row group.
    groups = (table for part in task.parts for _, table in _groups_of(part))
    tables = [
        table.filter(pc.is_in(table.column("partition"), value_set=chosen)) for table in groups
    ]
    table = pa.concat_tables(tables)
    keys = ["partition", *KEYS]
    if table.column("leader_epoch").null_count == table.num_rows:
        keys = ["partition", "seq"]
    order = pc.sort_indices(table, sort_keys=[(key, "ascending") for key in keys])
    yield table.take(order).combine_chunks()


def _groups_of(
    part: FilePart, columns: Sequence[str] = STORED.names
) -> Iterator[tuple[FilePart, pa.Table]]:
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


def _in_order(task: CheckTask) -> Iterator[pa.Table]:
    """Yield the rows of a share-partition in order, from no more row groups at once than overlap.

    A recorder writes its rows in order, so that hardly any do.
    """
    (name,) = task.events
    read = (group for part in task.parts for group in _groups_of(part, ["partition", *KEYS]))
    bounds = [(*_bounds(rows), part) for part, table in read if (rows := _of(table, name)).num_rows]
    bounds.sort(key=lambda each: each[:2])
    group: list[FilePart] = []
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
    keys = keys_of(rows)
    ordered = keys[np.lexsort(keys.T[::-1])]
    return tuple(ordered[0].tolist()), tuple(ordered[-1].tolist())


def _sorted(parts: Sequence[FilePart], name: str) -> pa.Table:
    read = (table for part in parts for _, table in _groups_of(part))
    table = pa.concat_tables([_of(table, name) for table in read])
    return table.take(pa.array(np.lexsort(keys_of(table).T[::-1]))).combine_chunks()


def _of(table: pa.Table, name: str) -> pa.Table:
    return table.filter(pc.equal(table.column("partition"), name))
