"""Share-partitions put together from a pool of distinct histories, column by column.

A history is valid wherever it begins: with other offsets, times, write ids and epochs it follows
the same rules. It ends with an empty window, so that a new leader may begin another behind it.
"""

import itertools
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from model.profile import KAFKA
from model.trace_arrow import SCHEMA, table_from_rows
from model.trace_codec import row_from_event

HISTORIES = 40
"""How many distinct histories one seed has."""

LENGTHS = (250, 500, 1000, 2000)
"""How many events a history has before those that end it: each of these is as likely."""

_MOST_BEFORE = 1_000_000
"""How many offsets of a log are gone, at most, when its share-partition begins."""

_BASES = {
    "offset": (
        *("first", "last", "start_offset", "end_offset", "log_start_offset", "log_end_offset"),
        *("reset_offset", "fetch_offset", "last_stable_offset", "high_watermark"),
    ),
    "time": ("time_ms", "due_ms", "deadline_ms"),
    "write": ("id",),
    "state epoch": ("state_epoch",),
    "leader epoch": ("leader_epoch",),
    "seq": ("seq", "made_after"),
}
"""What a piece has a base of, and the fields that it is added to, wherever they stand."""
_BASE_OF = {name: base for base, names in enumerate(_BASES.values()) for name in names}

Ints = npt.NDArray[np.int64]


@attrs.frozen(eq=False)
class History:
    """Rows of a history, and what it adds to each base for the one behind it."""

    rows: pa.Table
    adds: Sequence[int]


@attrs.frozen(eq=False)
class Pool:
    """Histories by their numbers: all their rows, and the first row and the length of each."""

    rows: pa.Table
    firsts: Mapping[int, int]
    lengths: Mapping[int, int]
    adds: Mapping[int, Sequence[int]]


@attrs.frozen
class Piece:
    """The first rows of a history in a share-partition, with its bases."""

    partition: str
    first: int
    rows: int
    bases: Sequence[int]

    @property
    def seq(self) -> int:
        """The ``seq`` of its first row."""
        return self.bases[-1]


def draw_history(seed: int, number: int, most: int) -> History:
    """Return a history, or its first rows if it has more than ``most``."""
    from replay.synthetic import SyntheticPartition  # noqa: PLC0415 - with it comes Numba

    partition = SyntheticPartition(f"history-{number}", seed, KAFKA)
    events = list(partition.events(min(_length(seed, number), most)))
    if len(events) < most:
        events += partition.closed()
    rows = table_from_rows(map(row_from_event, events[:most]))
    return History(rows.combine_chunks(), (*partition.end, rows.num_rows))


def pool_of(numbers: Sequence[int], histories: Iterable[History]) -> Pool:
    """Return a pool of the histories of these numbers."""
    held = list(histories)
    lengths = [history.rows.num_rows for history in held]
    firsts = itertools.accumulate(lengths[:-1], initial=0)
    return Pool(
        pa.concat_tables(history.rows for history in held).combine_chunks(),
        dict(zip(numbers, firsts, strict=True)),
        dict(zip(numbers, lengths, strict=True)),
        {number: history.adds for number, history in zip(numbers, held, strict=True)},
    )


def _drawn(seed: int, *what: int) -> int:
    return zlib.crc32(repr((seed, what)).encode())


def _length(seed: int, number: int) -> int:
    return LENGTHS[_drawn(seed, number) % len(LENGTHS)]


def _number(seed: int, index: int, nth: int) -> int:
    return _drawn(seed, index, nth) % HISTORIES


def numbers_needed(seed: int, partitions: int, events: int) -> list[int]:
    """Return which histories so many share-partitions of so many events need at most."""
    needed: set[int] = set()
    for index in range(partitions):
        nth, rows = 0, 0
        while rows < events and len(needed) < HISTORIES:
            needed.add(_number(seed, index, nth))
            nth, rows = nth + 1, rows + _length(seed, _number(seed, index, nth))
    return sorted(needed)


def pieces_of(name: str, seed: int, index: int, events: int, pool: Pool) -> Iterator[Piece]:
    """Yield the pieces of the share-partition of this index: histories, one after another."""
    bases: Sequence[int] = (_drawn(seed, index, -1) % _MOST_BEFORE, 0, 0, 0, 0, 0)
    for nth in itertools.count():
        number, left = _number(seed, index, nth), events - bases[-1]
        yield Piece(name, pool.firsts[number], min(left, pool.lengths[number]), bases)
        if left <= pool.lengths[number]:
            return
        bases = [base + added for base, added in zip(bases, pool.adds[number], strict=True)]


def rows_of(pieces: Sequence[Piece], pool: Pool) -> pa.Table:
    """Return the rows of pieces, one after another."""
    counts = np.array([piece.rows for piece in pieces])
    firsts = np.array([piece.first for piece in pieces]) - (np.cumsum(counts) - counts)
    places = np.repeat(firsts, counts) + np.arange(counts.sum())
    rows = pool.rows.take(pa.array(places)).combine_chunks()
    bases = np.repeat(np.array([piece.bases for piece in pieces], np.int64).T, counts, axis=1)
    columns = [_moved(field.name, rows.column(field.name).chunk(0), bases) for field in SCHEMA]
    of_piece = pa.array(np.repeat(np.arange(len(pieces)), counts))
    columns[0] = pa.array([piece.partition for piece in pieces]).take(of_piece)
    return pa.table(columns, schema=SCHEMA)


def _moved(name: str, array: pa.Array, bases: Ints) -> pa.Array:
    """Return a column with each row's base added to what has one, in it or in a part of it.

    What is negative stays: it says that there is nothing, or is malformed.
    """
    if array.null_count == len(array):
        return array
    if pa.types.is_list(array.type):
        lengths = pc.fill_null(array.value_lengths(), 0).to_numpy()
        values = _moved(name, array.values, np.repeat(bases, lengths, axis=1))
        return pa.ListArray.from_arrays(array.offsets, values, array.type, mask=array.is_null())
    if pa.types.is_struct(array.type):
        parts = [_moved(field.name, array.field(i), bases) for i, field in enumerate(array.type)]
        return pa.StructArray.from_arrays(parts, fields=list(array.type), mask=array.is_null())
    if name not in _BASE_OF:
        return array
    moved = pc.add(array, pa.array(bases[_BASE_OF[name]]))
    return pc.if_else(pc.less(array, 0), array, moved)


def repetitive(field: pa.Field, path: str = "") -> Iterator[str]:
    """Yield the paths in Parquet of what stays in a column: few distinct values, time and again."""
    name, kind = f"{path}{field.name}", field.type
    if pa.types.is_list(kind):
        yield from repetitive(kind.value_field.with_name("element"), f"{name}.list.")
    elif pa.types.is_struct(kind):
        for part in kind:
            yield from repetitive(part, f"{name}.")
    elif field.name not in _BASE_OF:
        yield name
