"""A look at a Parquet file: whether it is a trace, and whether it is in order already."""

import contextlib
import functools
from collections.abc import Iterator, Sequence

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from model.errors import InvalidValueError
from model.trace_arrow import check_readable
from replay.child import in_child
from replay.sources import Source
from replay.verdict import Problem

GENERATED = b"sharespec.generated"
"""The key in a file's metadata that marks results as computed by the implementation."""

DEADLY = "it ends the process that reads it: it is damaged"
"""The problem of a file that nobody may open."""

MAX_ROW_GROUP_ROWS = 1 << 24
MAX_ROW_GROUP_VALUES = 1 << 29
MAX_ROW_GROUP_BYTES = 1 << 33
"""The most that one row group may claim, so that no file decides how much memory is used."""


@attrs.frozen
class PartitionRun:
    """The rows of one share-partition, which are next to each other and in order of ``seq``."""

    partition: str
    first_row: int
    rows: int


@attrs.frozen
class Survey:
    """One Parquet file. ``runs`` is None if it has to be sorted first, or if there is a problem.

    ``row_groups`` has the number of rows of each.
    """

    source: Source
    rows: int
    row_groups: tuple[int, ...]
    runs: tuple[PartitionRun, ...] | None
    problem: Problem | None
    generated: bool


@contextlib.contextmanager
def opened(path: str, encoded: Sequence[str] = ()) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file that holds a trace, with the columns ``encoded`` as dictionaries.

    Raises InvalidValueError for one that is damaged, claims absurd sizes or has another schema.
    """
    try:
        file = _opened(path, encoded)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InvalidValueError("file", f"{error}".splitlines()[0], "a Parquet file") from None
    with file:
        check_readable(file.metadata.schema.to_arrow_schema())
        _check_sizes(file.metadata)
        yield file


def _opened(path: str, encoded: Sequence[str]) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path, read_dictionary=list(encoded))
    except KeyError:
        # One of them is missing, or holds other values: the check of the schema names it.
        return pq.ParquetFile(path)


def surveyed(sources: Sequence[Source]) -> Iterator[Survey]:
    """Survey files one after another, in a child that a damaged one may end."""
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
        with opened(source.path, encoded=["partition"]) as file:
            rows = tuple(
                file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)
            )
            if not sum(rows):
                return _unreadable(source, "holds no events")
            generated = GENERATED in (file.metadata.metadata or {})
            return Survey(source, sum(rows), rows, _runs(file), None, generated)
    except InvalidValueError as error:
        return _unreadable(source, str(error))
    except (pa.ArrowException, OSError, ValueError) as error:
        return _unreadable(source, f"cannot be read: {' '.join(str(error).split())[:200]}")


def _unreadable(source: Source, message: str) -> Survey:
    return Survey(source, 0, (), None, Problem(source.path, None, message), generated=False)


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


def _runs(file: pq.ParquetFile) -> tuple[PartitionRun, ...] | None:
    """Return the runs of the file if each share-partition is one run in order, else None.

    Rows of leaderships are put in order elsewhere.
    """
    if "leader_epoch" in file.schema_arrow.names and _has_leaders(file):
        return None
    runs: list[PartitionRun] = []
    row = 0
    for group in range(file.metadata.num_row_groups):
        table = file.read_row_group(group, columns=["partition", "seq"], use_threads=False)
        for batch in table.to_batches():
            more = _runs_of_batch(batch, row, runs[-1] if runs else None)
            if more is None:
                return None
            if runs and more and more[0].first_row == runs[-1].first_row:
                runs.pop()
            runs.extend(more)
            row += batch.num_rows
    names = {run.partition for run in runs}
    return tuple(runs) if len(names) == len(runs) else None


def _has_leaders(file: pq.ParquetFile) -> bool:
    # One group at a time: a file may be larger than memory.
    for group in range(file.metadata.num_row_groups):
        column = file.read_row_group(group, columns=["leader_epoch"], use_threads=False).column(0)
        if column.null_count < len(column):
            return True
    return False


def _runs_of_batch(
    batch: pa.RecordBatch, row: int, before: PartitionRun | None
) -> list[PartitionRun] | None:
    """Return the runs of rows that begin at ``row``; the first may continue ``before``."""
    names, seq = batch.column("partition"), batch.column("seq")
    if names.null_count or seq.null_count or not len(seq):
        return [] if not len(seq) else None
    codes = names.indices.to_numpy()
    starts = np.concatenate(([0], np.flatnonzero(np.diff(codes)) + 1))
    ends = np.append(starts[1:], len(codes))
    dictionary = names.dictionary.to_pylist()
    numbers = seq.to_numpy()
    # In order: each run counts up by one, from 0 or from where the run before stopped.
    first = [int(numbers[i]) for i in starts]
    if not np.array_equal(
        numbers, np.arange(len(numbers)) - np.repeat(starts - first, ends - starts)
    ):
        return None
    runs = []
    for i, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        run = PartitionRun(dictionary[codes[start]], row + start, end - start)
        if i == 0 and before and before.partition == run.partition:
            if first[0] != before.rows:
                return None
            run = PartitionRun(run.partition, before.first_row, before.rows + run.rows)
        elif first[i]:
            return None
        runs.append(run)
    return runs
