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
from replay.pieces import runs_of
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
class Survey:
    """One Parquet file, with the rows of each of its row groups.

    If it is in order, ``partitions`` has the first row, from 1, and the number of rows of each
    share-partition, as they follow each other; None if it has to be sorted first.
    """

    row_groups: tuple[int, ...] = ()
    partitions: dict[str, tuple[int, int]] | None = None
    problem: Problem | None = None
    generated: bool = False


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
    if "leader_epoch" in file.schema_arrow.names and _has_leaders(file):
        return None
    runs: dict[str, tuple[int, int]] = {}
    row, last = 1, None
    for group in range(file.metadata.num_row_groups):
        table = file.read_row_group(group, columns=["partition", "seq"], use_threads=False)
        names, seq = table.column("partition"), table.column("seq")
        if names.null_count or seq.null_count:
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


def _has_leaders(file: pq.ParquetFile) -> bool:
    # One group at a time: a file may be larger than memory.
    for group in range(file.metadata.num_row_groups):
        column = file.read_row_group(group, columns=["leader_epoch"], use_threads=False).column(0)
        if column.null_count < len(column):
            return True
    return False
